package import FoundationEssentials
internal import JSON
internal import SystemSupport

/// Combines the settings: defaults, then the file, then the environment, then the command line.
package struct SettingsLoader {
    package var settings = Settings()
    /// All errors, each with its location.
    package private(set) var problems: [String] = []
    /// Warnings about settings without effect, one sentence each. The settings can be used nevertheless.
    package private(set) var warnings: [String] = []
    /// The names of the settings that were set explicitly.
    package private(set) var given: Set<String> = []

    package init() {}

    /// Loads a JSON5 file. Blocks while it reads.
    package mutating func load(file path: String) {
        guard let data = FileManager.default.contents(atPath: path) else {
            problems.append(
                "\(path): the configuration cannot be read: \(UnreadableFile.reason(path)); `ocelli help config` prints one"
            )
            return
        }
        load(json5: data, from: path)
    }

    /// Loads JSON5 text; `origin` is its location in messages.
    package mutating func load(json5 data: Data, from origin: String) {
        let tree: JSONTree
        do throws(JSONTextError) {
            tree = try JSONValue.read(data)
        } catch {
            problems.append("\(origin): is not valid JSON5: \(error.reason)")
            return
        }
        guard case .object(let members) = tree.value else {
            problems.append("\(origin): expected an object { ... }")
            return
        }
        if let repeated = tree.repeatedName {
            problems.append("\(origin): \(repeated): remove one of the two")
        }
        for key in members.keys.sorted() {
            guard let setting = SettingsTable.setting(named: key) else {
                problems.append("\(origin): \(Self.unknown(key, other: key, \.name))")
                continue
            }
            guard let member = members[key] else { continue }
            if let value = Self.value(of: member, kind: setting.kind) {
                if member.isNumber { checkUnit(setting, value, origin: "\(origin): \(key)") }
                take(setting, value)
            } else {
                problems.append(
                    "\(origin): \(key): expected \(setting.kind.expectation), found \(Self.text(of: member))")
            }
        }
    }

    /// The variable with the time between SIGTERM and SIGKILL. It is not a setting, but a property of the environment.
    package static let graceVariable = "OCELLI_GRACE"

    /// Loads the `OCELLI_*` variables.
    package mutating func load(environment: [String: String]) {
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("OCELLI_") {
            guard let setting = SettingsTable.all.first(where: { $0.variable == name }) else {
                // OCELLI_CONFIG is the path of the configuration file, OCELLI_GRACE the time for a drain. Images,
                // charts and harnesses set variables of their own with the prefix; any other name is reported, because
                // a misspelled variable would be ignored silently.
                if name != "OCELLI_CONFIG", name != Self.graceVariable, !Self.isServiceLink(name, text) {
                    let other = String(name.dropFirst("OCELLI_".count))
                    warnings.append("environment: \(Self.unknown(name, other: other, \.variable)); it is ignored")
                }
                continue
            }
            set(setting, text: text, origin: "environment: \(name)")
        }
    }

    /// Uses the port in Vertex AI's variable, if that dialect is enabled and `listen` was not set. Call it last.
    package mutating func takeVertexPort(_ environment: [String: String]) {
        guard settings.dialects.contains(.vertex), let text = environment["AIP_HTTP_PORT"], !text.isEmpty else {
            return
        }
        guard let port = UInt16(text), port > 0 else {
            problems.append("environment: AIP_HTTP_PORT: expected a port from 1 to 65535, found \"\(text.prefix(60))\"")
            return
        }
        guard !given.contains("listen") else {
            if !settings.listen.contains(where: { $0.hasSuffix(":\(port)") }) {
                warnings.append(
                    "environment: AIP_HTTP_PORT is \(port), but listen is set to other addresses, which count")
            }
            return
        }
        settings.listen = [":\(port)"]
        settings.listensByVertex = true
    }

    /// True if a variable was set by Kubernetes (or Docker links) for a service named `ocelli` or `ocelli-anything`:
    /// `OCELLI_SERVICE_HOST`, `OCELLI_SERVICE_PORT_HTTP`, `OCELLI_PORT=tcp://...`, `OCELLI_PORT_8080_TCP_ADDR`. Every
    /// process of a pod gets them; they are not settings.
    private static func isServiceLink(_ name: String, _ text: String) -> Bool {
        if name.hasSuffix("_SERVICE_HOST") || name.hasSuffix("_SERVICE_PORT") || name.contains("_SERVICE_PORT_") {
            return true
        }
        if name.hasSuffix("_PORT"), text.contains("://") { return true }
        guard let range = name.firstRange(of: "_PORT_") else { return false }
        let parts = name[range.upperBound...].split(separator: "_")
        return parts.count >= 2 && UInt16(parts[0]) != nil && ["TCP", "UDP", "SCTP"].contains(parts[1])
    }

    /// Sets one setting from the text of a flag or a variable. The flag of a list may be repeated.
    package mutating func set(_ setting: Setting, text: String, origin: String, appending: Bool = false) {
        guard let value = setting.kind.value(of: text) else {
            problems.append("\(origin): expected \(setting.kind.expectation), found \"\(text)\"")
            return
        }
        if Double(text) != nil { checkUnit(setting, value, origin: origin) }
        if appending, case .strings(let more) = value, case .strings(let old) = setting.get(settings) {
            take(setting, .strings(old + more))
        } else {
            take(setting, value)
        }
    }

    private mutating func take(_ setting: Setting, _ value: SettingValue) {
        setting.set(&settings, value)
        given.insert(setting.name)
    }

    /// Warns about a number without a unit that is hardly meant as bytes or seconds.
    private mutating func checkUnit(_ setting: Setting, _ value: SettingValue, origin: String) {
        guard let reading = setting.unlikelyReading(of: value) else { return }
        warnings.append("\(origin): \(reading)")
    }

    /// - Parameters:
    ///   - other: the name without its prefix.
    ///   - spelling: the spelling of settings in that place.
    private static func unknown(_ name: String, other: String, _ spelling: (Setting) -> String) -> String {
        let hint =
            ForeignSettingNames.setting(for: other).map { " (did you mean \"\(spelling($0))\"?)" }
            ?? Spelling.hint(for: name, among: SettingsTable.all.map(spelling))
        return "\"\(name)\" is not a setting\(hint)"
    }

    private static func value(of json: JSONValue, kind: SettingKind) -> SettingValue? {
        switch (kind, json) {
        case (.bool, .bool(let flag)): .bool(flag)
        case (.integer(let range), .integer(let number)), (.automaticInteger(let range), .integer(let number)),
            (.bytes(let range), .integer(let number)), (.automaticBytes(let range), .integer(let number)):
            range.contains(number) ? .integer(number) : nil
        case (.duration(let range), .integer(let number)), (.automaticDuration(let range), .integer(let number)),
            (.number(let range), .integer(let number)):
            range.contains(Double(number)) ? .number(Double(number)) : nil
        case (.duration(let range), .number(let number)), (.automaticDuration(let range), .number(let number)),
            (.number(let range), .number(let number)):
            range.contains(number) ? .number(number) : nil
        case (.strings, .string(let text)), (.addresses, .string(let text)): .strings([text])
        case (.strings, .array(let elements)), (.addresses, .array(let elements)):
            elements.allSatisfy { if case .string = $0 { true } else { false } }
                ? .strings(elements.compactMap { if case .string(let text) = $0 { text } else { nil } }) : nil
        case (.choices, .array(let elements)):
            kind.choices(elements.map { if case .string(let text) = $0 { text } else { "" } })
        case (.bool, _), (.integer, _), (.number, _): nil
        case (_, .string(let text)): kind.value(of: text)
        default: nil
        }
    }

    private static func text(of json: JSONValue) -> String {
        switch json {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .integer(let number): "\(number)"
        case .number(let number): "\(number)"
        case .string(let text): "\"\(text)\""
        case .array: "a list"
        case .object: "an object"
        }
    }
}

extension JSONValue {
    /// True for a number, or text that is only a number.
    fileprivate var isNumber: Bool {
        switch self {
        case .integer, .number: true
        case .string(let text): Double(text) != nil
        default: false
        }
    }
}

extension Setting {
    /// A time of at least this many seconds hardly ever has no unit on purpose, if the default is far shorter.
    private static let manySeconds = 1000.0, farLonger = 100.0

    /// A sentence about a value that was given without a unit, if another unit is more likely meant; nil otherwise.
    fileprivate func unlikelyReading(of value: SettingValue) -> String? {
        switch (kind, value, get(Settings())) {
        case (.bytes, .integer(let count), _), (.automaticBytes, .integer(let count), _):
            return Units.unlikelyReading(bytes: count)
        case (.duration, .number(let time), .number(let usual)):
            guard time >= Self.manySeconds, usual > 0, time >= Self.farLonger * usual else { return nil }
            let number = time == time.rounded() ? "\(Int(time))" : "\(time)"
            return
                "\(number) has no unit and means seconds (\(Units.duration(time))): write \(number)ms, or \(number)s if that is meant"
        default: return nil
        }
    }
}

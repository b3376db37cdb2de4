/// A row of the table of settings: its name, its description, and the field that has its value.
///
/// A name has three spellings: `max_body` in the configuration file, `--max-body` on the command line and
/// `OCELLI_MAX_BODY` in the environment.
package struct Setting: Sendable {
    /// The name in the configuration file.
    package let name: String
    /// The type of the value.
    package let kind: SettingKind
    /// The effect, in one sentence.
    package let summary: String
    /// Returns the value in `Settings`.
    package let get: @Sendable (Settings) -> SettingValue
    /// Stores a value of the right type in `Settings`.
    package let set: @Sendable (inout Settings, SettingValue) -> Void
    /// True if changes need a restart: sockets, and the objects that belong to them, are created once. A reload
    /// (SIGHUP) keeps the value.
    package private(set) var needsRestart = false

    /// The setting, marked as needing a restart.
    var needingRestart: Setting {
        var setting = self
        setting.needsRestart = true
        return setting
    }

    package var flag: String { "--" + name.split(separator: "_").joined(separator: "-") }
    package var variable: String { "OCELLI_" + name.uppercased() }

    /// The value in the syntax of the configuration file.
    package func text(in settings: Settings) -> String {
        switch get(settings) {
        case .automatic: "\"auto\""
        case .integer(let value):
            switch kind {
            case .bytes, .automaticBytes: "\"\(Units.bytes(value))\""
            default: "\(value)"
            }
        case .number(let value):
            switch kind {
            case .duration, .automaticDuration: "\"\(Units.duration(value))\""
            default: "\(value)"
            }
        case .bool(let value): value ? "true" : "false"
        case .string(let value): "\"\(value)\""
        case .strings(let values): "[" + values.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
        }
    }
}

extension Setting {
    typealias Path<Value> = WritableKeyPath<Settings, Value> & Sendable

    static func integer(_ name: String, _ path: any Path<Int>, _ range: ClosedRange<Int>, _ summary: String) -> Setting
    {
        Setting(name: name, kind: .integer(range), summary: summary, get: { .integer($0[keyPath: path]) }) {
            if case .integer(let value) = $1 { $0[keyPath: path] = value }
        }
    }

    static func automatic(_ name: String, _ path: any Path<Int?>, _ range: ClosedRange<Int>, _ summary: String)
        -> Setting
    {
        Setting(
            name: name, kind: .automaticInteger(range), summary: summary,
            get: { $0[keyPath: path].map { .integer($0) } ?? .automatic }
        ) {
            if case .integer(let value) = $1 { $0[keyPath: path] = value } else { $0[keyPath: path] = nil }
        }
    }

    static func automaticBytes(
        _ name: String, _ path: any Path<Int?>, _ range: ClosedRange<Int>, _ summary: String
    ) -> Setting {
        let base = automatic(name, path, range, summary)
        return Setting(name: name, kind: .automaticBytes(range), summary: summary, get: base.get, set: base.set)
    }

    static func bytes(_ name: String, _ path: any Path<Int>, _ range: ClosedRange<Int>, _ summary: String) -> Setting {
        Setting(name: name, kind: .bytes(range), summary: summary, get: { .integer($0[keyPath: path]) }) {
            if case .integer(let value) = $1 { $0[keyPath: path] = value }
        }
    }

    static func duration(_ name: String, _ path: any Path<Double>, _ range: ClosedRange<Double>, _ summary: String)
        -> Setting
    {
        Setting(name: name, kind: .duration(range), summary: summary, get: { .number($0[keyPath: path]) }) {
            if case .number(let value) = $1 { $0[keyPath: path] = value }
        }
    }

    static func number(_ name: String, _ path: any Path<Double>, _ range: ClosedRange<Double>, _ summary: String)
        -> Setting
    {
        let base = duration(name, path, range, summary)
        return Setting(name: name, kind: .number(range), summary: summary, get: base.get, set: base.set)
    }

    static func automaticDuration(
        _ name: String, _ path: any Path<Double?>, _ range: ClosedRange<Double>, _ summary: String
    ) -> Setting {
        Setting(
            name: name, kind: .automaticDuration(range), summary: summary,
            get: { $0[keyPath: path].map { .number($0) } ?? .automatic }
        ) {
            if case .number(let value) = $1 { $0[keyPath: path] = value } else { $0[keyPath: path] = nil }
        }
    }

    static func bool(_ name: String, _ path: any Path<Bool>, _ summary: String) -> Setting {
        Setting(name: name, kind: .bool, summary: summary, get: { .bool($0[keyPath: path]) }) {
            if case .bool(let value) = $1 { $0[keyPath: path] = value }
        }
    }

    static func string(_ name: String, _ path: any Path<String>, _ summary: String) -> Setting {
        Setting(name: name, kind: .string, summary: summary, get: { .string($0[keyPath: path]) }) {
            if case .string(let value) = $1 { $0[keyPath: path] = value }
        }
    }

    /// A setting with one case of an enumeration, by raw value.
    /// - Parameter choices: the cases in the order of messages and documents.
    static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, _ path: any Path<Choice>, of choices: Choice.AllCases = Choice.allCases, _ summary: String
    ) -> Setting {
        Setting(
            name: name, kind: .choice(choices.map(\.rawValue)), summary: summary,
            get: { .string($0[keyPath: path].rawValue) }
        ) {
            if case .string(let text) = $1, let value = Choice(rawValue: text) { $0[keyPath: path] = value }
        }
    }

    /// A setting with several cases of an enumeration, by raw value.
    static func choices<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, _ path: any Path<[Choice]>, atLeast minimum: Int = 1, _ summary: String
    ) -> Setting {
        Setting(
            name: name, kind: .choices(Choice.allCases.map(\.rawValue), atLeast: minimum), summary: summary,
            get: { .strings($0[keyPath: path].map(\.rawValue)) }
        ) {
            if case .strings(let names) = $1 { $0[keyPath: path] = names.compactMap(Choice.init(rawValue:)) }
        }
    }

    /// A setting with addresses to listen on.
    static func addresses(_ name: String, _ path: any Path<[String]>, _ summary: String) -> Setting {
        let base = strings(name, path, summary)
        return Setting(name: name, kind: .addresses, summary: summary, get: base.get, set: base.set)
    }

    static func strings(_ name: String, _ path: any Path<[String]>, _ summary: String) -> Setting {
        Setting(name: name, kind: .strings, summary: summary, get: { .strings($0[keyPath: path]) }) {
            if case .strings(let values) = $1 { $0[keyPath: path] = values }
        }
    }
}

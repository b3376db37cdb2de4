import Foundation
import Settings
import TestSupport
import Testing

/// A daemon that is started with some settings, and for each of them what shows that it does something.
struct SettingsCase: Sendable, CustomTestStringConvertible {
    /// Looks for a setting's effect.
    /// - Returns: what was found instead of it; nil if the setting does what it should.
    typealias Check = @Sendable (Running) throws -> String?

    /// A daemon under test.
    struct Running {
        let daemon: Daemon
        let folder: URL
        /// Characters of the log that were there before the settings.
        var logStart = 0
        var url: String { daemon.url }
        /// The lines that were logged under the settings.
        var log: String { String(daemon.log.dropFirst(logStart)) }

        func metric(_ sample: String) throws -> Double {
            MetricsTests.value(sample, in: try Curl.run(url + "/metrics").text) ?? 0
        }

        /// `/v1/models/digits`
        func model() throws -> [String: Any] { try Curl.run(url + "/v1/models/digits").json }
    }

    let title: String
    /// The value that is checked; `{}` in a value stands for a folder of the case's own.
    let settings: [String: String]
    /// Other settings that the checks need.
    var also: [String: String] = [:]
    /// Fills the folder.
    var prepare: @Sendable (URL) throws -> Void = { _ in }
    /// By setting.
    let checks: KeyValuePairs<String, Check>

    var testDescription: String { title }

    /// Starts the daemon and makes the checks.
    /// - Parameter omitted: a setting that is left at its default, to see that its check notices; then no other is
    ///   made.
    /// - Returns: what each check found.
    func run(omitting omitted: String? = nil) throws -> [(setting: String, finding: String?)] {
        try inFolder { folder in
            let given = settings.merging(also) { first, _ in first }.filter { $0.key != omitted }
            let running = Running(daemon: try Daemon(Self.flags(given, folder)), folder: folder)
            defer { running.daemon.stop() }
            return check(running) { omitted == nil || $0 == omitted }
        }
    }

    /// The settings that a reload takes.
    var reloadable: [String] { checks.map(\.key).filter { SettingsTable.setting(named: $0)?.needsRestart == false } }

    /// The same by a reload: the daemon is started with what only a restart changes, and takes the rest from its file
    /// on SIGHUP.
    func runByReload() throws -> [(setting: String, finding: String?)] {
        try inFolder { folder in
            let given = settings.merging(also) { first, _ in first }
            let isLater = { (name: String) in SettingsTable.setting(named: name)?.needsRestart == false }
            let file = folder.appendingPathComponent("ocelli.json5")
            try "{}".write(to: file, atomically: true, encoding: .utf8)
            let daemon = try Daemon(["--config", file.path] + Self.flags(given.filter { !isLater($0.key) }, folder))
            defer { daemon.stop() }
            let members = given.filter { isLater($0.key) }.map { name, value in
                "\(name): \(Self.literal(name, value.replacingOccurrences(of: "{}", with: folder.path)))"
            }
            try "{ \(members.joined(separator: ", ")) }".write(to: file, atomically: true, encoding: .utf8)
            daemon.signal(SIGHUP)
            // Not logged at the level of errors: nothing else is waited for.
            guard daemon.waitForLog("reload: done") else { return reloadable.map { ($0, "no reload: \(daemon.log)") } }
            let log = daemon.log
            let end = log.range(of: "reload: done").flatMap { log[$0.upperBound...].firstIndex(of: "\n") }
            let start = end.map { log.distance(from: log.startIndex, to: $0) + 1 } ?? log.count
            return check(Running(daemon: daemon, folder: folder, logStart: start), isLater)
        }
    }

    /// A value as the configuration file has it.
    private static func literal(_ name: String, _ value: String) -> String {
        switch SettingsTable.setting(named: name)?.kind {
        case .integer, .automaticInteger, .bool: value
        case .strings: "[\"\(value)\"]"
        case .choices: "[\(value.split(separator: ",").map { "\"\($0)\"" }.joined(separator: ", "))]"
        default: "\"\(value)\""
        }
    }

    private static func flags(_ given: [String: String], _ folder: URL) -> [String] {
        given.sorted { $0.key < $1.key }.map { name, value in
            "--" + name.replacingOccurrences(of: "_", with: "-") + "="
                + value.replacingOccurrences(of: "{}", with: folder.path)
        }
    }

    private func inFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-case-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try prepare(folder)
        return try body(folder)
    }

    private func check(
        _ running: Running, _ isMeant: (String) -> Bool
    ) -> [(setting: String, finding: String?)] {
        checks.filter { isMeant($0.key) }.map { name, check in
            do {
                return (name, try check(running))
            } catch {
                return (name, "\(error)")
            }
        }
    }
}

/// The first of some findings: what is wrong, or nil.
func unless(_ holds: Bool, _ finding: @autoclosure () -> String) -> String? { holds ? nil : finding() }

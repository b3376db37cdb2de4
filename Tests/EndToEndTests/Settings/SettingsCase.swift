import Foundation
import Settings
import TestSupport
import Testing

/// A daemon that is started with some settings, and for each of them a check of its effect.
struct SettingsCase: Sendable, CustomTestStringConvertible {
    /// Checks a setting's effect.
    /// - Returns: the finding if it differs from the expected effect; nil if the setting works.
    typealias Check = @Sendable (Running) throws -> String?

    /// A daemon under test.
    struct Running {
        let daemon: Daemon
        let folder: URL
        /// The length of the log, in characters, before the settings took effect.
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
    /// The checked values; `{}` in a value stands for the case's own folder.
    let settings: [String: String]
    /// Other settings that the checks need.
    var also: [String: String] = [:]
    /// Fills the folder.
    var prepare: @Sendable (URL) throws -> Void = { _ in }
    /// The checks by setting.
    let checks: KeyValuePairs<String, Check>

    var testDescription: String { title }

    /// Starts the daemon and runs the checks.
    /// - Parameter omitted: a setting to leave at its default, to test that its check fails; no other check runs then.
    /// - Returns: the finding of each check.
    func run(omitting omitted: String? = nil) throws -> [(setting: String, finding: String?)] {
        try inFolder { folder in
            let given = settings.merging(also) { first, _ in first }.filter { $0.key != omitted }
            let running = Running(daemon: try Daemon(Self.flags(given, folder)), folder: folder)
            defer { running.daemon.stop() }
            return check(running) { omitted == nil || $0 == omitted }
        }
    }

    /// The settings that take effect by a reload.
    var reloadable: [String] { checks.map(\.key).filter { SettingsTable.setting(named: $0)?.needsRestart == false } }

    /// Runs the checks after a reload: the daemon is started with the settings that need a restart, and reads the
    /// others from its file on SIGHUP.
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
            // It is not logged at the level of errors; the setting of the level is not checked here.
            guard daemon.waitForLog("reload: done") else { return reloadable.map { ($0, "no reload: \(daemon.log)") } }
            let log = daemon.log
            let end = log.range(of: "reload: done").flatMap { log[$0.upperBound...].firstIndex(of: "\n") }
            let start = end.map { log.distance(from: log.startIndex, to: $0) + 1 } ?? log.count
            return check(Running(daemon: daemon, folder: folder, logStart: start), isLater)
        }
    }

    /// A value in the syntax of the configuration file.
    private static func literal(_ name: String, _ value: String) -> String {
        switch SettingsTable.setting(named: name)?.kind {
        case .integer, .automaticInteger, .bool, .number: value
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

/// Nil if a condition holds, otherwise a finding.
func unless(_ holds: Bool, _ finding: @autoclosure () -> String) -> String? { holds ? nil : finding() }

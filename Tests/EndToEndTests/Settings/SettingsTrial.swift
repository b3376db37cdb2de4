import Foundation
import Settings
import TestSupport
import Testing

/// A daemon that is started with some settings, and for each of them what shows that it does something.
struct SettingsTrial: Sendable, CustomTestStringConvertible {
    /// Looks for a setting's effect.
    /// - Returns: what was found instead of it; nil where the setting does what it should.
    typealias Check = @Sendable (Running) throws -> String?

    /// A daemon under trial.
    struct Running {
        let daemon: Daemon
        let folder: URL
        var url: String { daemon.url }

        func metric(_ sample: String) throws -> Double {
            MetricsTests.value(sample, in: try Curl.run(url + "/metrics").text) ?? 0
        }

        /// `/v1/models/digits`
        func model() throws -> [String: Any] { try Curl.run(url + "/v1/models/digits").json }
    }

    let title: String
    /// What the checks are of; `{}` in a value stands for a folder of the trial's own.
    let settings: [String: String]
    /// What else the checks need.
    var also: [String: String] = [:]
    /// Fills the folder.
    var prepare: @Sendable (URL) throws -> Void = { _ in }
    /// By setting.
    let checks: KeyValuePairs<String, Check>

    var testDescription: String { title }

    /// Starts the daemon and makes the checks.
    /// - Parameter omitted: a setting that is left at its default, to see that its check notices; then no other is made.
    /// - Returns: what each check found.
    func run(omitting omitted: String? = nil) throws -> [(setting: String, finding: String?)] {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-trial-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try prepare(folder)
        let given = settings.merging(also) { first, _ in first }.filter { $0.key != omitted }
        let arguments = given.sorted { $0.key < $1.key }.map { name, value in
            "--" + name.replacingOccurrences(of: "_", with: "-") + "="
                + value.replacingOccurrences(of: "{}", with: folder.path)
        }
        let running = Running(daemon: try Daemon(arguments), folder: folder)
        defer { running.daemon.stop() }
        return checks.filter { omitted == nil || $0.key == omitted }.map { name, check in
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

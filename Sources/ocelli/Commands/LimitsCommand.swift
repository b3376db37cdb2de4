internal import FoundationEssentials
internal import InferenceService
internal import Settings

/// `ocelli limits`: prints the limits that the daemon would use on this machine.
enum LimitsCommand: Command {
    static let name = "limits"
    static let runsModels = false
    static let summary = "Print the limits on this machine, with the reason for each."
    static let usage = ["[--json] [--config FILE] [SETTINGS]"]
    static let about = """
        Prints the threads, instances, queue and memory limits that the daemon would use with these settings, on this
        machine and in this control group, with the reason for each. Settings are those of `ocelli help serve`.
        """

    static var flags: [Flag<Bool>] {
        [.json(\.self, "Print one JSON object: each limit with its value, memory in bytes, and its reason.")]
    }

    static let initial = false

    static func run(_ isJSON: Bool, settings: SettingsFlags) async throws -> Int32 {
        let report = LimitsReport(try settings.resolve(), environment: ProcessInfo.processInfo.environment)
        Terminal.print(isJSON ? report.json : report.text)
        return 0
    }
}

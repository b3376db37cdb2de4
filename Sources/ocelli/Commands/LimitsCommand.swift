internal import FoundationEssentials
internal import InferenceService
internal import Settings

/// `ocelli limits`: prints the limits that the daemon would use on this machine.
enum LimitsCommand: Command {
    static let name = "limits"
    static let runsModels = false
    static let summary = "Print the limits on this machine, with the reason for each."
    static let usage = ["[--config FILE] [SETTINGS]"]
    static let about = """
        Prints the threads, instances, queue and memory limits that the daemon would use with these settings, on this
        machine and in this control group, with the reason for each. Settings are those of `ocelli help serve`.
        """

    static func run(_ request: Void, settings: SettingsFlags) async throws -> Int32 {
        Terminal.print(LimitsReport(try settings.resolve(), environment: ProcessInfo.processInfo.environment).text)
        return 0
    }
}

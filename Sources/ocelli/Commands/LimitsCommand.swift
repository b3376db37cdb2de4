internal import FoundationEssentials
internal import InferenceService
internal import Settings

/// `ocelli limits`: the numbers that the daemon would work with here.
enum LimitsCommand: Command {
    static let name = "limits"
    static let summary = "Print the limits that apply here, and the reason for each."
    static let help = """
        Usage: ocelli limits [--config FILE] [SETTINGS]

        Prints threads, instances, queue and memory limits as the daemon would set them with these settings on this
        machine, in this control group, each with the reason for it. Settings are those of `ocelli help serve`.
        """

    static let flags = SettingsFlags.names

    static func run(_ arguments: [String]) async throws -> Int32 {
        let settings = try SettingsFlags.only(arguments, command: name)
        Terminal.print(LimitsReport(settings, environment: ProcessInfo.processInfo.environment).text)
        return 0
    }
}

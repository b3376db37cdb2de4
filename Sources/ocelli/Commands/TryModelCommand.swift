internal import InferenceService

/// `ocelli try-model`: what the daemon starts to try a model in a process of its own. Not for people.
enum TryModelCommand: Command {
    static let name = TrialRun.command
    static let summary = "Load a model once, for the daemon."
    static let help = """
        Usage: ocelli try-model PATH BYTES [SETTINGS]

        Loads a model once within a limit of memory (0: none) and tells the daemon, which started it, how that went. For
        people there is `ocelli check`.
        """

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard arguments.count >= 2, let memory = UInt64(arguments[1]) else {
            throw UsageError("try-model needs a path and a number of bytes")
        }
        let settings = try SettingsFlags.only(Array(arguments.dropFirst(2)), command: name)
        Terminal.print(try await TrialRun.run(arguments[0], memory: memory, settings: settings))
        return 0
    }
}

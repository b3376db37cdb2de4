internal import InferenceService

/// `ocelli try-model`: what the daemon starts to try a model in a separate process. Not for people.
enum TryModelCommand: Command {
    static let name = TrialRun.command
    static let summary = "Load a model once, for the daemon."
    static let help = """
        Usage: ocelli try-model PATH PARENT SECONDS BYTES [--look=HEIGHTxWIDTH] [SETTINGS]

        Internal: the daemon (process id PARENT) starts this to load a model once within limits of time and memory (0: none).
        With --look it runs the model on noise and reports what its outputs are like, for `ocelli init`. To check a model,
        use `ocelli check`.
        """

    static let flags = SettingsFlags.names

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard arguments.count >= 4, let parent = Int32(arguments[1]), let seconds = UInt32(arguments[2]),
            let memory = UInt64(arguments[3])
        else {
            throw UsageError("try-model needs a path, a process id, and numbers of seconds and bytes")
        }
        var rest = Array(arguments.dropFirst(4))
        let look = rest.first.flatMap(TrialRun.look)
        if look != nil { rest.removeFirst() }
        let settings = try SettingsFlags.only(rest, command: name)
        let line = try await TrialRun.run(
            arguments[0], parent: parent, seconds: seconds, memory: memory, look: look, settings: settings)
        Terminal.print(line)
        return 0
    }
}

internal import InferenceService

/// `ocelli try-model`: the load check that the daemon starts for a model in a separate process. Not for users.
enum TryModelCommand: Command {
    static let name = LoadCheckProgram.command
    static let summary = "Load a model once, for the daemon."
    static let usage = ["PATH PARENT SECONDS BYTES [--probe=HEIGHTxWIDTH] [SETTINGS]"]
    static let about = """
        Internal: the daemon (process id PARENT) starts this to load a model once within limits of time and memory (0: none).
        With --probe it runs the model on noise and reports what its outputs are like, for `ocelli init`. To check a model,
        use `ocelli check`.
        """

    struct Request {
        /// PATH, PARENT, SECONDS and BYTES. The path may look like a flag.
        var words: [String] = []
        /// The height and width of a run on noise; nil for none.
        var probe: (height: Int, width: Int)?
    }

    static var flags: [Flag<Request>] {
        [
            Flag("--probe", "HEIGHTxWIDTH", "Run on noise of this size.") { request, flag, text in
                request.probe = LoadCheckProgram.probe(flag + "=" + text)
            }
        ]
    }

    static var initial: Request { Request() }

    static func run(_ arguments: [String]) async throws -> Int32 {
        var (request, settings) = try read(Array(arguments.dropFirst(4)))
        request.words = Array(arguments.prefix(4))
        return try await run(request, settings: settings)
    }

    static func run(_ request: Request, settings: SettingsFlags) async throws -> Int32 {
        let words = request.words
        guard words.count == 4, let parent = Int32(words[1]), let seconds = UInt32(words[2]),
            let memory = UInt64(words[3])
        else {
            throw UsageError("try-model needs a path, a process id, and numbers of seconds and bytes")
        }
        let line = try await LoadCheckProgram.run(
            words[0], parent: parent, seconds: seconds, memory: memory, probe: request.probe,
            settings: try settings.resolve())
        Terminal.print(line)
        return 0
    }
}

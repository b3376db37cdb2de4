internal import FoundationEssentials
internal import InferenceService
internal import LoadGenerator
internal import Tools

/// `ocelli bench`: measures this machine.
enum BenchCommand: Command {
    static let name = "bench"
    static let runsModels = false
    static let summary = "Measure what this machine can do: engine, decoding, both, and through a socket."
    static let usage = ["[MODEL] [PICTURE...] [--seconds S] [--concurrency N] [--json] [SETTINGS]"]
    static let about = """
        Measures this machine, in turn and in one process: the engine alone, decoding alone, both together as in the daemon,
        and the same through a socket (POST /v1/classify on loopback, or /v1/detect, /v1/segment, ... for models of these
        tasks). Reports how close the last is to the one before it, and how much processor time Ocelli adds.

        MODEL is a bundle, a model file, a folder of numbered versions, or with --model a name. Default: the model that
        comes with Ocelli. Pictures are sent in turn. Default: a drawn digit.

          ocelli bench
          ocelli bench ./models/mobilenet cat_720p.jpg --seconds 20
        """

    static var flags: [Flag<LocalBenchmarkRequest>] {
        [
            .text("--model", "MODEL", \.model, "The model, by its path, or its name in the folders of --models."),
            .duration(
                "--seconds", "S", \.seconds, in: LocalBenchmarkRequest.secondsBounds,
                "How long to measure each of the four. Default: 8s."),
            .number(
                "--concurrency", "N", \.concurrency, in: LocalBenchmarkRequest.concurrencyBounds,
                "Parallel requests and connections. Default: 8."),
            .json(\.isJSON, "Print the report as one JSON object."),
        ]
    }

    static let notes = """
        With a URL it is `ocelli load URL`. The settings of `ocelli help serve` about running models apply.
        """
    static var initial: LocalBenchmarkRequest { LocalBenchmarkRequest() }

    static func take(word: String, into request: inout LocalBenchmarkRequest) throws {
        if LocalBenchmarkRequest.isModel(word) {
            guard request.model == nil else { throw UsageError("\"\(word)\": one model at a time") }
            request.model = word
        } else {
            request.pictures.append(word)
        }
    }

    /// A command line with a URL starts a load test.
    static func run(_ arguments: [String]) async throws -> Int32 {
        if arguments.contains(where: LoadCommand.isURL) { return try await LoadCommand.run(arguments) }
        let (request, settings) = try read(arguments)
        return try await run(request, settings: settings)
    }

    static func run(_ request: LocalBenchmarkRequest, settings: SettingsFlags) async throws -> Int32 {
        Terminal.print(
            try await LocalBenchmark.run(
                request, settings: try settings.resolve(),
                start: {
                    let server = try LoopbackServer($0, $1)
                    return BenchmarkServer(address: server.address) { await server.stop() }
                },
                progress: { Terminal.progress($0) }))
        return 0
    }
}

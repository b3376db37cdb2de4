internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli report`: measures a model on this machine.
enum ReportCommand: Command {
    static let name = "report"
    static let runsModels = false
    static let readsSignals = true
    static let summary = "Measure a model: load, latency, throughput, memory, layers."

    static let usage = ["MODEL [--json] [--seconds S] [--in-flight N] [--layers N] [SETTINGS]"]
    static let about = """
        Measures a model on this machine: loading it with and without the cache of compiled models, the first prediction and
        the percentiles of the others, predictions per second with 1 to N in flight, the memory of a prediction, and the
        time of each layer. Measures the model alone, without decoding. Warns if the machine was too busy for reliable
        figures.

        MODEL is a bundle, a model file, a folder of numbered versions, or the name of a model in the folders of --models.

          ocelli report ./models/mobilenet
          ocelli report squeezenet --models ./models --json > report.json
        """

    static var flags: [Flag<ReportMaker.Request>] {
        [
            .json(\.isJSON, "Print the report as one JSON object, with times in milliseconds."),
            .duration(
                "--seconds", "S", \.seconds, in: 0.01...3600,
                "How long each measurement takes, such as 500ms or 10s. Default: 2s."),
            .number(
                "--in-flight", "N", \.inFlight, in: 1...64,
                "The maximum number of predictions in flight. Default: the model's slots."),
            .number("--layers", "N", \.layers, in: 0...10_000, "How many of the slowest layers to list. Default: 10."),
        ]
    }

    static let notes = """
        The settings of `ocelli help serve` about running models (device, hint, precision, threads, streams, instances)
        apply.
        """
    static var initial: ReportMaker.Request { ReportMaker.Request() }

    static func take(word: String, into request: inout ReportMaker.Request) throws {
        try take(word, into: &request, as: [\.model], maximum: "`ocelli report` measures one model at a time")
    }

    static func run(_ request: ReportMaker.Request, settings: SettingsFlags) async throws -> Int32 {
        guard !request.model.isEmpty else { throw UsageError("no model given; `ocelli help report` shows how") }
        let text = try await ReportMaker.run(
            request, settings: try settings.resolve(), progress: { Terminal.progress($0) })
        Terminal.print(text)
        return 0
    }
}

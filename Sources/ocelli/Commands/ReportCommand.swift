internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli report`: what a model costs here.
enum ReportCommand: Command {
    static let name = "report"
    static let summary = "Measure a model: load, latency, throughput, memory, layers."

    static var help: String {
        """
        Usage: ocelli report MODEL [--json] [--seconds S] [--in-flight N] [--layers N] [SETTINGS]

        Measures a model on this machine: loading it with and without the cache of compiled models, the first prediction and
        the percentiles of the others, predictions per second with 1 to N in flight, the memory of a prediction, and the
        time of each layer. Measures the model alone, without decoding. Warns if the machine was too busy for reliable
        figures.

        MODEL is a bundle's folder, a model file, or the name of a model in the folders of --models.

          ocelli report ./models/mobilenet
          ocelli report squeezenet --models ./models --json > report.json

          --json            Print the report as one JSON object, with times in milliseconds.
          --seconds S       How long each measurement takes, such as 500ms or 10s. Default: 2s.
          --in-flight N     The maximum number of predictions in flight. Default: the model's slots.
          --layers N        How many of the slowest layers to list. Default: 10.

        The settings of `ocelli help serve` about running models (device, hint, precision, threads, streams, instances)
        apply.
        """
    }

    static let flags = ["--json", "--seconds", "--in-flight", "--layers"] + SettingsFlags.names

    static func run(_ arguments: [String]) async throws -> Int32 {
        var reader = ArgumentReader(arguments, command: name, known: flags)
        var settings = SettingsFlags()
        var request = ReportMaker.Request()
        func number(_ flag: String, _ text: String, _ range: ClosedRange<Int>) throws -> Int {
            guard let number = Int(text), range.contains(number) else {
                throw UsageError(
                    "\(flag): expected a whole number from \(range.lowerBound) to \(range.upperBound), found \"\(text)\""
                )
            }
            return number
        }
        while let argument = reader.next() {
            switch argument {
            case .word(let word):
                guard request.model.isEmpty else {
                    throw UsageError("\"\(word)\" is not expected here: `ocelli report` measures one model at a time")
                }
                request.model = word
            case .flag("--json", nil): request.isJSON = true
            case .flag("--seconds", let value):
                let text = try reader.value(of: "--seconds", value)
                guard let seconds = Units.parseDuration(text), (0.01...3600).contains(seconds) else {
                    throw UsageError("--seconds: expected a time from 10ms to 1h, found \"\(text)\"")
                }
                request.seconds = seconds
            case .flag("--in-flight", let value):
                request.inFlight = try number("--in-flight", try reader.value(of: "--in-flight", value), 1...64)
            case .flag("--layers", let value):
                request.layers = try number("--layers", try reader.value(of: "--layers", value), 0...10_000)
            case .flag(let flag, let value):
                guard try settings.take(flag, value: value, from: &reader) else { throw reader.unknown(flag) }
            }
        }
        guard !request.model.isEmpty else { throw UsageError("no model given; `ocelli help report` shows how") }
        let text = try await ReportMaker.run(
            request, settings: try settings.resolve(), progress: { Terminal.progress($0) })
        Terminal.print(text)
        return 0
    }
}

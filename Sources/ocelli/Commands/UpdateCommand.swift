internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli update`: trains an updatable Core ML file on examples.
enum UpdateCommand: Command {
    static let name = "update"
    static let summary = "Train an updatable Core ML file on examples of your own."
    static let usage = [
        """
        FILE DATA -o FILE2 [--epochs N] [--learning-rate NUMBER] [--mini-batch N] [--seed N]
                            [--json] [--force] [SETTINGS]
        """
    ]
    static let about = """
        Trains the layers that a Core ML network marks as updatable, or adds examples to a nearest neighbours classifier,
        and writes the result as another file, which is served like the first. FILE (.mlmodel) is never changed.

        DATA has one example a line: {"inputs": {"image": "bolt.jpg"}, "label": "bolt"}. Pictures are files, relative to
        DATA; numbers are written as in /predict. Networks that learn numbers take "target" instead of "label". "-" reads
        standard input.

          ocelli update Drawings.mlmodel examples.jsonl -o Drawings2.mlmodel --epochs 20
        """

    static var flags: [Flag<ModelUpdate.Request>] {
        [
            .text("-o --output", "FILE2", \.output, "The file to write."),
            .number(
                "--epochs", "N", \.epochs, in: 1...1000,
                "The number of epochs, 1 to 1000. Default: the file's."),
            Flag("--learning-rate", "NUMBER", "The step of the optimizer. Default: the file's.") {
                request, flag, text in
                guard let rate = Double(text), rate > 0, rate.isFinite else {
                    throw UsageError("\(flag): expected a number above 0, found \"\(text)\"")
                }
                request.learningRate = rate
            },
            .number(
                "--mini-batch", "N", \.miniBatch, in: 1...(.max), "Examples in a step. Default: the file's."),
            .number("--seed", "N", \.seed, in: 0...(.max), "For the order of examples. Default: the file's."),
            .json(\.isJSON, "Print the losses as one JSON object."),
            .toggle("--force", \.overwrites, "Replace FILE2."),
        ]
    }

    static var initial: ModelUpdate.Request { ModelUpdate.Request() }

    static func take(word: String, into request: inout ModelUpdate.Request) throws {
        try take(word, into: &request, as: [\.file, \.data], maximum: "one FILE and one DATA at a time")
    }

    static func run(_ request: ModelUpdate.Request, settings: SettingsFlags) async throws -> Int32 {
        guard !request.file.isEmpty, !request.data.isEmpty, !request.output.isEmpty else {
            throw UsageError("expected FILE, DATA and -o FILE2; `ocelli help update` shows the usage")
        }
        Terminal.print(
            try await ModelUpdate.run(request, settings: settings.resolve(), progress: Terminal.progress))
        return 0
    }
}

internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli train`: trains a TensorIO bundle.
enum TrainCommand: Command {
    static let name = "train"
    static let summary = "Train a TensorIO bundle with TensorFlow."
    static let usage = [
        """
        BUNDLE BATCH.jsonl --epochs N -o BUNDLE2 [--python PROGRAM] [--timeout TIME] [--memory MIB]
                           [--json] [--force] [SETTINGS]
        """
    ]
    static let about = """
        Runs the training operations (train.ops) of a bundle with modes: ["train"] on a batch, once for each epoch, prints
        the outputs (the loss), and writes a bundle with the trained variables. BUNDLE is never changed.

        A line of BATCH.jsonl is one item, {"image": "cat.jpg", "labels": 0}. Pictures are files, relative to BATCH.jsonl,
        or {"b64": "..."}, and are prepared as the bundle describes. A graph is a program: it runs in a process of its own,
        within the limits below and, where the kernel allows it, without a network. Train only what you would run.

        The command needs Python with TensorFlow:
          python3 -m venv ~/.local/share/ocelli/tensorflow
          ~/.local/share/ocelli/tensorflow/bin/pip install tensorflow-cpu

          ocelli train cats-vs-dogs-train.tiobundle batch.jsonl --epochs 20 -o trained.tiobundle
        """

    static var flags: [Flag<BundleTraining.Request>] {
        [
            .number("--epochs", "N", \.epochs, in: 1...100_000, "The number of epochs."),
            .text("-o --output", "BUNDLE2", \.output, "The folder to write."),
            .text("--python", "PROGRAM", \.python, "The Python to use."),
            .duration(
                "--timeout", "TIME", \.timeout, in: 1...604_800, "The time that training may take. Default: 1h."),
            .number(
                "--memory", "MIB", \.memory, in: 256...1_048_576, "The memory that the process may take. Default: 8192."
            ),
            .json(\.isJSON, "Print the outputs of each epoch as one JSON object."),
            .toggle("--force", \.overwrites, "Replace BUNDLE2."),
        ]
    }

    static var initial: BundleTraining.Request { BundleTraining.Request() }

    static func take(word: String, into request: inout BundleTraining.Request) throws {
        try take(word, into: &request, as: [\.bundle, \.batch], maximum: "one BUNDLE and one batch at a time")
    }

    static func run(_ request: BundleTraining.Request, settings: SettingsFlags) async throws -> Int32 {
        guard !request.bundle.isEmpty, !request.batch.isEmpty, !request.output.isEmpty, request.epochs != nil else {
            throw UsageError(
                "expected BUNDLE, BATCH.jsonl, --epochs and -o BUNDLE2; `ocelli help train` shows the usage")
        }
        Terminal.print(
            try await BundleTraining.run(request, settings: settings.resolve(), progress: Terminal.progress))
        return 0
    }
}

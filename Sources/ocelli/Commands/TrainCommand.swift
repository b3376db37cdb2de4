internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli train`: trains a TensorIO bundle.
enum TrainCommand: Command {
    static let name = "train"
    static let summary = "Train a TensorIO bundle with TensorFlow."
    static let usage = [
        """
        BUNDLE BATCH.jsonl --epochs N -o BUNDLE2 [--batch-size N] [--shuffle] [--seed N]
                           [--python PROGRAM] [--timeout TIME] [--memory MIB] [--json] [--force] [SETTINGS]
        """
    ]
    static let about = """
        Runs the training operations (train.ops) of a bundle with modes: ["train"] on a batch, once for each epoch, prints
        the outputs (the loss), and writes a bundle with the trained variables. BUNDLE is never changed.

        With --batch-size, an epoch takes all items in batches of N, the last one of what is left, and runs the operations
        on each; the printed numbers are means over the epoch's items. With --shuffle, each epoch takes them in another
        order, always the same for a --seed.

        A line of BATCH.jsonl is one item, {"image": "cat.jpg", "labels": 0}. Pictures are files, relative to BATCH.jsonl,
        or {"b64": "..."}, and are prepared as the bundle describes. A graph is a program: it runs in a process of its own,
        within the limits below and, where the kernel allows it, without a network. Train only what you would run.

        The command needs Python with TensorFlow:
          python3 -m venv ~/.local/share/ocelli/tensorflow
          ~/.local/share/ocelli/tensorflow/bin/pip install tensorflow-cpu

          ocelli train cats-vs-dogs-train.tiobundle batch.jsonl --epochs 20 -o trained.tiobundle
          ocelli train cats-vs-dogs-train.tiobundle all.jsonl --epochs 5 --batch-size 32 --shuffle -o trained.tiobundle
        """

    static var flags: [Flag<BundleTraining.Request>] {
        [
            .number("--epochs", "N", \.epochs, in: 1...100_000, "The number of epochs."),
            .text("-o --output", "BUNDLE2", \.output, "The folder to write."),
            .number(
                "--batch-size", "N", \.batchSize, in: 1...(.max), "The number of items of a batch. Default: all items."),
            .toggle("--shuffle", \.shuffles, "Take the items of each epoch in another order."),
            .number("--seed", "N", \.seed, in: 0...(.max), "With --shuffle: determines the orders. Default: 0."),
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
        guard request.seed == nil || request.shuffles else { throw UsageError("--seed is for --shuffle") }
        Terminal.print(
            try await BundleTraining.run(request, settings: settings.resolve(), progress: Terminal.progress))
        return 0
    }
}

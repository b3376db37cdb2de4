internal import InferenceService
internal import Settings
internal import SystemSupport
internal import Tools

/// `ocelli quantize`: makes a bundle that computes with integers.
enum QuantizeCommand: Command {
    static let name = "quantize"
    static let readsSignals = true
    static let summary = "Quantize a model to 8-bit integers, and compare it with the original."
    static let usage = [
        """
        MODEL --pictures DIR -o BUNDLE [--at-least SHARE] [--count N] [--python PROGRAM]
                               [--json] [--force] [SETTINGS]
        """
    ]
    static let about = """
        Turns the weights and activations of a float model into 8-bit integers, which most processors compute two to four
        times as fast, and writes a bundle that is served like the original. The pictures should be like those that the
        model will see: they show the range of each layer's values. Half of them (three quarters without --at-least) are
        used for calibration, the rest to compare the answers. If DIR has a folder for each class, accuracy is compared
        too. Both models are timed in turn, and the report says if the result is not faster.

        MODEL is a bundle, a model file, a downloaded folder, or a folder of numbered versions. The command needs Python with NNCF:
          python3 -m venv ~/.local/share/ocelli/nncf
          ~/.local/share/ocelli/nncf/bin/pip install nncf openvino

          ocelli quantize models/squeezenet --pictures photos -o models/squeezenet-int8 --at-least 0.98
        """

    static var flags: [Flag<Quantization.Request>] {
        [
            .text(
                "--pictures", "DIR", \.pictures,
                "Pictures of all formats, in DIR and the folders below it; at least 8."),
            .text("-o --output", "BUNDLE", \.output, "The folder to write."),
            .share(
                "--at-least", "SHARE", \.atLeast,
                """
                0 to 1: this share of the answers must stay the same (of the top labels; for models without labels, \
                the cosine of the outputs). The layers that change the answers most are kept in float, one by one, \
                until it does. If unused pictures still disagree, nothing is written and the exit status is 1.
                """),
            .number(
                "--count", "N", \.maximum, in: 8...100_000, "The maximum number of pictures to use. Default: 400."),
            .text("--python", "PROGRAM", \.python, "The Python to use."),
            .json(\.isJSON, "Print the report as one JSON object."),
            .toggle("--force", \.overwrites, "Replace BUNDLE."),
        ]
    }

    static var initial: Quantization.Request { Quantization.Request() }

    static func take(word: String, into request: inout Quantization.Request) throws {
        try take(word, into: &request, as: [\.model], maximum: "one model at a time")
    }

    static func run(_ request: Quantization.Request, settings: SettingsFlags) async throws -> Int32 {
        guard !request.model.isEmpty else {
            throw UsageError("no model given; `ocelli help quantize` shows how")
        }
        guard !request.pictures.isEmpty, !request.output.isEmpty else {
            throw UsageError("--pictures DIR and -o BUNDLE are needed; `ocelli help quantize` shows how")
        }
        let (text, isWritten) = try await Quantization.run(
            request, settings: settings.resolve(), complain: Terminal.complain, progress: Terminal.progress)
        Terminal.print(text)
        guard isWritten else { return 1 }
        if !request.isJSON {
            Terminal.print(
                "wrote \(request.output); it is served like any other bundle: ocelli check \(ShellWord.quoted(request.output))"
            )
        }
        return 0
    }
}

internal import InferenceService
internal import Settings
internal import Tools

/// `ocelli quantize`: a bundle that computes with whole numbers.
enum QuantizeCommand: Command {
    static let name = "quantize"
    static let summary = "Quantize a model to 8-bit integers, and compare it with the original."
    static let help = """
        Usage: ocelli quantize MODEL --pictures DIR -o BUNDLE [--at-least SHARE] [--count N] [--python PROGRAM]
                               [--json] [--force] [SETTINGS]

        Turns the weights and activations of a float model into 8-bit integers, which most processors compute two to four
        times as fast, and writes a bundle that is served like the original. The pictures should be like those that the
        model will see: they show the range of each layer's values. Half of them (three quarters without --at-least) are
        used for calibration, the rest to compare the answers. If DIR has a folder for each class, accuracy is compared
        too.

        MODEL is a bundle, a model file, or a downloaded folder. Only this command needs Python, with NNCF:
          python3 -m venv ~/.local/share/ocelli/nncf
          ~/.local/share/ocelli/nncf/bin/pip install nncf openvino

          ocelli quantize models/squeezenet --pictures photos -o models/squeezenet-int8 --at-least 0.98

          --pictures DIR      JPEG, PNG and WebP files, in DIR and the folders below it; at least 8.
          -o, --output BUNDLE The folder to write.
          --at-least SHARE    0 to 1: this share of the answers must stay the same (of the top labels; for models without
                              labels, the cosine of the outputs). The layers that change the answers most are kept in
                              float, one by one, until it does. If unused pictures still disagree, nothing is written
                              and the exit status is 1.
          --count N           The maximum number of pictures to use. Default: 400.
          --python PROGRAM    The Python to use.
          --json              Print the report as one JSON object.
          --force             Replace BUNDLE.
        """

    static let flags =
        ["--pictures", "-o", "--output", "--at-least", "--count", "--python", "--json", "--force"] + SettingsFlags.names

    static func run(_ arguments: [String]) async throws -> Int32 {
        var reader = ArgumentReader(arguments, command: name, known: flags)
        var settings = SettingsFlags()
        var request = Quantization.Request()
        while let argument = reader.next() {
            switch argument {
            case .word(let word) where request.model.isEmpty: request.model = word
            case .word(let word): throw UsageError("\"\(word)\" is not expected here: one model at a time")
            case .flag("--pictures", let value): request.pictures = try reader.value(of: "--pictures", value)
            case .flag("-o", let value), .flag("--output", let value):
                request.output = try reader.value(of: "--output", value)
            case .flag("--python", let value): request.python = try reader.value(of: "--python", value)
            case .flag("--at-least", let value):
                let text = try reader.value(of: "--at-least", value)
                guard let share = Double(text), (0...1).contains(share) else {
                    throw UsageError("--at-least: expected a number from 0 to 1, found \"\(text)\"")
                }
                request.atLeast = share
            case .flag("--count", let value):
                let text = try reader.value(of: "--count", value)
                guard let count = Int(text), (8...100_000).contains(count) else {
                    throw UsageError("--count: expected a whole number from 8 to 100000, found \"\(text)\"")
                }
                request.most = count
            case .flag("--json", nil): request.isJSON = true
            case .flag("--force", nil): request.overwrites = true
            case .flag(let flag, let value):
                guard try settings.take(flag, value: value, from: &reader) else { throw reader.unknown(flag) }
            }
        }
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
                "wrote \(request.output); it is served like any other bundle: ocelli check \(request.output)")
        }
        return 0
    }
}

internal import InferenceService
internal import Tools

/// `ocelli init`: a first model.json.
enum InitCommand: Command {
    static let name = "init"
    static let summary = "Write a first model.json for a model file."
    static let help = """
        Usage: ocelli init MODELFILE [--stdout] [--force]

        Reads a model file (.onnx, .tflite, .xml, .pdmodel, .pb, or a TensorFlow SavedModel's folder) and writes
        model.json beside it: names, types and shapes are the file's; what only the model's maker knows (how pictures are
        normalized, the order of colours, labels) is guessed and marked with "$decide". Look at each, then run
        `ocelli check FOLDER`.

          --stdout   Print it instead.
          --force    Overwrite a model.json that is there.
        """

    static let flags = ["--stdout", "--force"]

    static func run(_ arguments: [String]) async throws -> Int32 {
        var reader = ArgumentReader(arguments, command: name, known: flags)
        var file: String?
        var prints = false, overwrites = false
        while let argument = reader.next() {
            switch argument {
            case .word(let word) where file == nil: file = word
            case .word(let word): throw UsageError("\"\(word)\" is not expected here: one model file at a time")
            case .flag("--stdout", nil): prints = true
            case .flag("--force", nil): overwrites = true
            case .flag(let flag, _): throw reader.unknown(flag)
            }
        }
        guard let file else { throw UsageError("no model file is given; `ocelli help init` shows how") }
        let draft = try BundleDraft(modelFile: file)
        if prints {
            Terminal.print(String(draft.json.dropLast()))
            return 0
        }
        let path = try draft.write(overwriting: overwrites)
        Terminal.print("wrote \(path); to be decided there:")
        for decision in draft.decisions { Terminal.print("  \(decision)") }
        Terminal.print("then: ocelli check \(draft.folder)")
        return 0
    }
}

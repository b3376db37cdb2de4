internal import InferenceService
internal import Settings
internal import SystemSupport
internal import Tools

/// `ocelli init`: writes a first model.json.
enum InitCommand: Command {
    static let name = "init"
    static let summary = "Write a first model.json for a model file."
    struct Request {
        var file: String?
        var prints = false, overwrites = false
    }

    static let usage = ["MODELFILE|FOLDER [--stdout] [--force]"]
    static let about = """
        Reads a model file (.onnx, .tflite, .xml, .pdmodel, .pb, or a TensorFlow SavedModel's folder) or a downloaded
        folder, and writes model.json next to it. Names, types and shapes are those of the file. Preprocessing and labels
        are read from the files that come with the model (preprocessor_config.json, config.json, metadata.yaml, label
        files) and from its own metadata; a comment on each line names the source. Values without a source are guesses,
        marked with "$decide": check each, then run `ocelli check FOLDER`. If the file does not show whether its output
        is probabilities or logits, the command runs the model a few times on noise, in a separate process with the limits
        `load_trial_timeout` and `load_trial_memory`, and decides by the values.

        A Core ML file (.mlmodel, .mlpackage) does not need model.json. For one in a folder of its own, this command writes
        a model.json that changes nothing: possible changes are in it as comments.
        """

    static var flags: [Flag<Request>] {
        [
            .toggle("--stdout", \.prints, "Print model.json instead of writing it."),
            .toggle("--force", \.overwrites, "Overwrite an existing model.json."),
        ]
    }

    static let takesSettings = false
    static var initial: Request { Request() }

    static func take(word: String, into request: inout Request) throws {
        guard request.file == nil else { throw UsageError("\"\(word)\" is not expected here: expected one model file") }
        request.file = word
    }

    static func run(_ request: Request, settings: SettingsFlags) async throws -> Int32 {
        guard let given = request.file else { throw UsageError("no model file given; `ocelli help init` shows how") }
        let file = ModelAtPath.resolved(given, note: Terminal.complain)
        if CoreMLOverlay.reads(file) {
            let overlay = try CoreMLOverlay(modelFile: file)
            if request.prints {
                Terminal.print(String(overlay.json.dropLast()))
            } else {
                let path = try overlay.write(overwriting: request.overwrites)
                Terminal.print("wrote \(path), which changes nothing yet: edit it")
                Terminal.print("then: ocelli check \(ShellWord.quoted(overlay.folder))")
            }
            return 0
        }
        // Ignore invalid settings, which the daemon reports. Here they only limit a run.
        let run = OutputProbeProcess(settings: (try? SettingsFlags().resolve(warn: { _ in })) ?? Settings())
        let draft = try BundleDraft(modelFile: file, probe: run.probe)
        if request.prints {
            Terminal.print(String(draft.json.dropLast()))
            for remark in draft.remarks { Terminal.complain("noticed: \(remark)") }
            return 0
        }
        let path = try draft.write(overwriting: request.overwrites)
        Terminal.print(
            "wrote \(path)" + (draft.decisions.isEmpty ? "; nothing left to decide" : "; decide there:"))
        for decision in draft.decisions { Terminal.print("  \(decision)") }
        if !draft.remarks.isEmpty { Terminal.print("noticed:") }
        for remark in draft.remarks { Terminal.print("  \(remark)") }
        if let trial = draft.trial { Terminal.print(trial) }
        Terminal.print("then: ocelli check \(ShellWord.quoted(draft.folder))")
        return 0
    }
}

internal import FileFormats
internal import FoundationEssentials
internal import Inference
internal import JSON
internal import ModelFacts
package import ServicePlanning
internal import SystemSupport

/// Writes a first `model.json` from the model file and the files next to it, with the source of each line as a comment.
/// Values that only the model's author knows are marked with `$decide`, which Ocelli treats as a remark.
package struct BundleDraft {
    /// The text of model.json.
    package let json: String
    /// The open decisions, each with its place.
    package let decisions: [String]
    /// Remarks on the sources: contradictions, and files that could not be read.
    package let remarks: [String]
    /// The folder for the file.
    package let folder: String
    /// A sentence with the command that tries the draft on a picture; nil if nothing about pictures is open.
    package let trial: String?
    /// Labels from other sources, which are written to a file of their own.
    private let labels: (file: String, bytes: [UInt8])?
    /// The name of the given file or SavedModel folder; nil for a downloaded folder, which is already a bundle.
    private let loose: String?

    /// Reads the model file, or a downloaded folder. Blocks.
    /// - Parameter probe: runs a model if its file does not distinguish probabilities from logits, with pictures of the
    ///   given height and width; nil to run none.
    package init(
        modelFile: String, probe: ((_ path: String, _ height: Int, _ width: Int) -> ProbeOutcome)? = nil
    ) throws {
        let path = FilePath.absolute(modelFile)
        try Self.checkIsModel(path, as: modelFile)
        var facts: BundleDerivation
        do throws(InferenceError) {
            facts = try BundleDerivation(path: path)
        } catch {
            throw CommandError("\(modelFile): \(error.message)")
        }
        var failure: [String] = []
        if facts.needsProbe, let probe {
            let size = facts.pictureSize ?? (224, 224)
            switch probe(facts.modelPath, size.height, size.width) {
            case .seen(let values): facts.take(values)
            case .impossible(let reason):
                failure = ["activation: the file does not specify it, and a run on noise failed: \(reason)"]
            }
        }
        folder = facts.folder
        let isChoice = ModelBundle.isDownloadedFolder(path) || BundleLayout.adviceOnSeveral(in: facts.folder) != nil
        loose = isChoice ? nil : FilePath.name(of: path)
        let last = FilePath.name(of: facts.file) ?? facts.file
        // The name of the model's own folder is more specific than `model.onnx`.
        let name = ModelBundle.servedName(of: folder == "/" ? last : folder)
        var notes: [String] = []
        let others = isChoice ? [] : Self.otherModels(in: folder, than: last)
        if !others.isEmpty {
            notes.append(
                "the folder: it also holds \(others.joined(separator: ", ")), but with model.json it is one bundle; "
                    + "move \(last) into its own folder")
        }
        var labels: (file: String, bytes: [UInt8])?
        if let names = facts.labels, facts.labelFile == nil {
            let (ending, bytes) = LabelFile.written(names)
            let taken = FileManager.default.fileExists(atPath: folder + "/labels" + ending)
            labels = ((taken ? "labels-of-\(name)" : "labels") + ending, bytes)
        }
        self.labels = labels
        let writer = LayerDraft(facts: facts, labelFile: facts.labelFile ?? labels?.file)
        let inputs = facts.outline.inputs.enumerated().map { writer.input($1, $0, &notes) }
        let outputs =
            facts.observedOutput.map { [writer.observation($0, &notes)] }
            ?? facts.outline.outputs.enumerated().map { writer.output($1, $0, &notes) }
        json = Self.text(facts, name: name, inputs: inputs, outputs: outputs)
        let open = [("details", facts.details), ("author", facts.author), ("license", facts.license)].filter {
            $0.1 == nil
        }
        decisions =
            (open.isEmpty ? [] : ["\(open.map(\.0).joined(separator: ", ")): describe the model and its origin"])
            + notes
        remarks = facts.provenance.remarks + failure
        trial = Self.trial(facts, folder: folder, decisions: notes)
    }

    private static func trial(_ facts: BundleDerivation, folder: String, decisions: [String]) -> String? {
        let folder = ShellWord.quoted(folder)
        let isOpen = ["inputs[0].", "outputs["].contains { start in decisions.contains { $0.hasPrefix(start) } }
        switch facts.observedTask {
        case .embed?: return isOpen ? "to see the numbers: ocelli embed --model \(folder) PICTURE" : nil
        case .read?: return isOpen ? "to see the text: ocelli read --model \(folder) PICTURE" : nil
        case let task?:
            return isOpen ? "to see the results: ocelli \(task.rawValue) --model \(folder) --draw DIR PICTURE" : nil
        case nil: break
        }
        let ofPictures = ["inputs[0].format:", "inputs[0].normalize:", "inputs[0].crop_and_scale:"]
        // `--try` needs an output with a number for each class.
        guard decisions.contains(where: { decision in ofPictures.contains { decision.hasPrefix($0) } }),
            facts.outline.inputs.count == 1,
            facts.outline.outputs.contains(where: { port in
                let extents = port.shape.dimensions.filter { $0 != 1 && $0 != Shape.dynamic }
                return extents.count == 1 && extents[0] > 1
            })
        else { return nil }
        return "to compare common kinds of preprocessing: ocelli classify --try \(folder) PICTURE"
    }

    private static func text(_ facts: BundleDerivation, name: String, inputs: [String], outputs: [String]) -> String {
        let isQuantized = (facts.outline.inputs + facts.outline.outputs).allSatisfy {
            $0.elementType == .uint8 || $0.elementType == .int8
        }
        return """
            {
              "name": \(JSONText.quoted(facts.name ?? name)),
              "details": \(JSONText.quoted(facts.details ?? "")),
              "id": \(JSONText.quoted(name)),
              "version": "1",
              "author": \(JSONText.quoted(facts.author ?? "")),
              "license": \(JSONText.quoted(facts.license ?? "")),
              "model": {
                "file": \(JSONText.quoted(facts.file)),
                "backend": \(JSONText.quoted(ModelFormat(path: facts.file).rawValue)),
                "quantized": \(isQuantized),
                "modes": ["predict"]
              },
              "inputs": [
            \(inputs.joined(separator: ",\n"))
              ],
              "outputs": [
            \(outputs.joined(separator: ",\n"))
              ]
            }

            """
    }

    /// Refuses files whose names are not those of model files, before the engine's readers report it in their terms.
    private static func checkIsModel(_ path: String, as name: String) throws {
        var isFolder = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw CommandError("\(name) does not exist")
        }
        if isFolder {
            guard !FileManager.default.fileExists(atPath: path + "/saved_model.pb"),
                !ModelBundle.isDownloadedFolder(path)
            else {
                return
            }
            let files = otherModels(in: path, than: "")
            let hint =
                files.isEmpty
                ? "" : ": name the model file in it, \(files.map { path + "/" + $0 }.joined(separator: ", "))"
            throw CommandError("\(name) is a folder, not a TensorFlow SavedModel\(hint)")
        }
        guard ModelBundle.isModelFile(path) else {
            throw CommandError(
                "\(name) is not a supported model file"
                    + (ForeignFile.advice(for: path).map { " (\($0))" } ?? "")
                    + ": expected \(ModelBundle.fileExtensions.joined(separator: ", ")), or a SavedModel's folder")
        }
    }

    /// The other model files of the folder, which would no longer be served by themselves.
    private static func otherModels(in folder: String, than file: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        // These are parts of a SavedModel.
        let parts = ["saved_model.pb", "fingerprint.pb", "keras_metadata.pb"]
        return names.sorted().filter { name in
            name != file && !parts.contains(name) && ModelBundle.isModelFile(name)
        }
    }

    /// Refuses a folder of models: with a model.json, the whole folder would be one bundle.
    /// - Parameters:
    ///   - file: the name of the model file, package or SavedModel folder.
    ///   - isNamedAfterIt: whether the folder must have the model's name, so that the model keeps it; files called
    ///     "model" have none.
    static func checkFolder(_ folder: String, holding file: String, isNamedAfterIt: Bool = false) throws {
        let bundles = bundles(in: folder).filter { $0 != file }
        let others = (otherModels(in: folder, than: file) + bundles).sorted()
        let name = ModelBundle.servedName(of: file), last = FilePath.name(of: folder)
        let isOthers = isNamedAfterIt && last.map(ModelBundle.servedName) != name && name != "model"
        guard !others.isEmpty || last == "models" || isOthers else { return }
        let own = folder + "/" + name, from = folder + "/" + file
        // The file may have no extension, like a SavedModel folder.
        let target = name == file ? own + ".d" : own
        let what =
            others.isEmpty
            ? isOthers && last != "models" ? "is not called \(name)" : "is a folder of models"
            : "also holds \(others.prefix(5).joined(separator: ", "))\(others.count > 5 ? ", ..." : "")"
        throw CommandError(
            "\(folder) \(what): a model.json would make all of it one bundle. Move \(file) into its own folder: "
                + "mkdir \(ShellWord.quoted(target)) && mv \(ShellWord.quoted(from)) \(ShellWord.quoted(target + "/")) && ocelli init "
                + "\(ShellWord.quoted("\(target)/\(file)")) (or --stdout, which only prints)"
        )
    }

    /// The bundles in a folder.
    private static func bundles(in folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { name in
            ModelBundle.isModelFolder(name)
                || ["model.json", "saved_model.pb"].contains {
                    FileManager.default.fileExists(atPath: "\(folder)/\(name)/\($0)")
                }
        }
    }

    /// Writes model.json into the folder, and the labels if no file has them.
    /// - Throws: if a model.json exists and must not be overwritten.
    package func write(overwriting: Bool) throws -> String {
        if let loose { try Self.checkFolder(folder, holding: loose) }
        try Self.checkIsNew(folder + "/model.json", overwriting: overwriting)
        if let labels {
            try OutputFile.write(labels.bytes, to: folder + "/" + labels.file)
        }
        return try Self.write(json, into: folder, overwriting: overwriting)
    }

    private static func checkIsNew(_ path: String, overwriting: Bool) throws {
        guard !overwriting, FileManager.default.fileExists(atPath: path) else { return }
        throw CommandError("\(path) already exists: use --force to overwrite it, or --stdout to print")
    }

    /// Writes the text of model.json into a folder.
    /// - Returns: the path.
    /// - Throws: if a model.json exists and must not be overwritten.
    static func write(_ json: String, into folder: String, overwriting: Bool) throws -> String {
        let path = folder + "/model.json"
        try checkIsNew(path, overwriting: overwriting)
        try OutputFile.write(Array(json.utf8), to: path)
        return path
    }
}

/// Functions for JSON text.
enum DraftText {
    static func list(_ shape: [Int]) -> String { "[" + shape.map(String.init).joined(separator: ", ") + "]" }
}

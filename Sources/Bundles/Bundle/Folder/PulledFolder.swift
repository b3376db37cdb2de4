internal import EngineAPI
internal import JSON

/// The record that `ocelli pull` leaves in a folder. It names the model file, which keeps its path in the
/// repository: `onnx/model_int8.onnx`, `coreml/Net.mlpackage`.
package enum PulledFolder {
    package static let record = ".ocelli-pull.json"
    private static let largest = 16 << 20

    /// The path of the model in the folder; nil if the record does not name an existing file. Blocks.
    static func model(in folder: String, files: FolderReader) -> String? {
        guard case .success(let text) = BundleFile.read(folder + "/" + record, maximum: largest),
            let tree = try? JSONTree.read([UInt8](text), .json), case .object(let members) = tree.value,
            case .string(let model)? = members["model"],
            // Not a path that leads out of the folder: another program may have written the record.
            !model.isEmpty,
            !model.split(separator: "/", omittingEmptySubsequences: false).contains(where: {
                ["", ".", ".."].contains($0)
            }),
            let kind = try? files.kind(folder + "/" + model), kind != .missing
        else { return nil }
        // A folder is a Core ML package or a SavedModel.
        if kind == .folder, ModelBundle.isModelFolder(model) { return model }
        let file = kind == .folder ? model + "/saved_model.pb" : model
        return ModelBundle.isModelFile(file) && (try? files.kind(folder + "/" + file)) == .file ? model : nil
    }
}

extension BundleLayout {
    /// The files of a folder that are read with a model file without a model.json: configurations, metadata, labels.
    /// - Parameters:
    ///   - names: the names in the folder, and `1_Pooling/config.json` if there is one.
    ///   - model: the name of the model file.
    package static func filesRead(among names: [String], besideModel model: String) -> [String] {
        let files = Set(names)
        let metadata = files.contains("metadata.yaml") ? "metadata.yaml" : ModelBundle.servedName(of: model) + ".yaml"
        let known =
            ["config.json", "environment.json", poolingFile, metadata] + [processors.first(where: files.contains) ?? ""]
        return known.filter(files.contains) + labelFiles(names)
    }

    /// True if a file of this name describes the models of its folder.
    package static func describes(_ name: String) -> Bool { sources.contains(name) || labelFiles([name]) == [name] }
}

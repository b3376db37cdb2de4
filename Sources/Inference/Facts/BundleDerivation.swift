internal import FoundationEssentials
internal import JSON
internal import ModelFacts

/// The metadata of a model file and the files next to it, for `ocelli init`: the file's tensors, and each value with its
/// source.
package struct BundleDerivation: Sendable {
    /// The inputs and outputs of the model file.
    package let outline: ModelOutline
    /// The folder that model.json belongs in, and the model file's path in it.
    package let folder: String, file: String
    /// Each value with its source, and the missing ones.
    package let provenance: ModelProvenance
    /// The labels, where they are known, and the file beside the model that they are in, if it is one a bundle may name.
    package let labels: [String]?, labelFile: String?
    /// What the sources say of the model as a whole.
    package let name: String?, details: String?, author: String?, license: String?
    /// The output that the labels are for.
    package let labelledOutput: Int?
    /// The name of the entry for outputs that are boxes, with masks and points; nil if no source says that they are.
    package let observedOutput: String?

    /// Reads a model file, or a folder as it was downloaded. Blocks.
    /// - Throws: an engine error that says why the model file cannot be read.
    package init(path: String) throws(InferenceError) {
        let (folder, file) = Self.place(of: path)
        self.folder = folder
        self.file = file
        let isFolder = (try? FolderReader.disk.kind(folder + "/" + file)) == .folder
        let model = file == "saved_model.pb" ? folder : folder + "/" + file
        outline = try ModelOutline(path: model)
        // A SavedModel's neighbours are in its own folder, or around it.
        let facts = GatheredFacts(
            model: model, folder: isFolder ? model : folder, layout: BundleLayout(around: isFolder ? model : folder))
        let last = file.split(separator: "/").last.map(String.init) ?? "saved_model.pb"
        let result = FactPlanner(
            facts: facts, inputs: outline.inputs, outputs: outline.outputs, file: last, name: ""
        ).plan()
        provenance = result.provenance
        labels = result.labels
        labelledOutput = result.labelledOutput
        observedOutput = result.observed
        // The form of the other files is not that of a bundle's labels: a name a line.
        let isPlain = result.labelFile.map { file in
            (try? BundleFile.read(folder + "/" + file, most: BundleFile.largestLabels).get())
                .flatMap { String(validating: $0, as: UTF8.self) }
                .map { $0.split(whereSeparator: \.isNewline).map(String.init) == result.labels } ?? false
        }
        labelFile = isPlain == true ? result.labelFile?.split(separator: "/").last.map(String.init) : nil
        name = facts.sheet.name?.value
        details = facts.sheet.details?.value
        author = facts.sheet.author?.value
        license = facts.sheet.license?.value
    }

    /// The bundle's folder, and the model file in it: `onnx/model.onnx` where the configuration lies a folder higher.
    private static func place(of path: String) -> (folder: String, file: String) {
        if (try? FolderReader.disk.kind(path)) == .folder, let layout = BundleLayout(folder: path) {
            if !layout.model.isEmpty { return (path, layout.model) }
            // A SavedModel with files beside it is a bundle; one alone is a model file, and its bundle lies around it.
            if layout.config || layout.preprocessor != nil || layout.metadata { return (path, "saved_model.pb") }
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let file = parts.last ?? path
        let parent = parts.dropLast().joined(separator: "/")
        let folder = parts.count == 1 ? "." : parent.isEmpty ? "/" : parent
        if parts.count > 2, parts[parts.count - 2] == "onnx" {
            let above = parts.dropLast(2).joined(separator: "/")
            if FileManager.default.fileExists(atPath: above + "/config.json") { return (above, "onnx/" + file) }
        }
        return (folder, file)
    }
}

package import EngineAPI
internal import ModelFacts

/// The contents of a folder without model.json, by file names: a model file and the files that ship with it.
package struct BundleLayout: Sendable {
    /// The path of the model file relative to the folder; "" for a SavedModel, which is the folder itself.
    let model: String
    /// True if the folder has config.json, metadata.yaml and environment.json: each is read for facts.
    let config: Bool, metadata: Bool, environment: Bool
    /// True if the folder of ``poolingFile`` (sentence-transformers) exists.
    let pooling: Bool
    /// The file that describes the preprocessing of pictures; transformers 5 writes one for pictures and text together.
    let preprocessor: String?
    /// Files of labels, the most likely first.
    let labelFiles: [String]

    /// The files of which one must be present to make a folder with a model file a bundle.
    private static let sources = ["config.json", "metadata.yaml", "environment.json"] + processors
    private static let processors = ["preprocessor_config.json", "processor_config.json"]

    private static let poolingFolder = "1_Pooling"
    static let poolingFile = poolingFolder + "/config.json"

    /// The file names that exporters use for models, in order of preference.
    private static let usual = ["model.onnx", "onnx/model.onnx", "openvino_model.xml", "model.xml", "model.tflite"]

    /// Nil if the folder is not a bundle: it has no model file, or several and not both a file of `sources` and a model
    /// file with a usual name.
    /// - Parameter hasONNXFolderModel: whether the folder contains `onnx/model.onnx`.
    init?(names: [String], hasONNXFolderModel: Bool) {
        let files = Set(names)
        let models = names.filter { ModelBundle.isModelFile($0) && $0 != "saved_model.pb" }.sorted()
        let describes = Self.sources.contains(where: files.contains)
        if files.contains("saved_model.pb") {
            model = ""
        } else if models.count == 1 {
            model = models[0]
        } else if describes,
            let name = Self.usual.first(where: { $0 == "onnx/model.onnx" ? hasONNXFolderModel : files.contains($0) })
        {
            model = name
        } else {
            return nil
        }
        (config, metadata, environment, preprocessor) = Self.found(files)
        pooling = files.contains(Self.poolingFolder)
        labelFiles = Self.labelFiles(names)
    }

    /// Finds the files around a model file that model.json names, whether or not the folder would be a bundle. Blocks.
    init(around folder: String, files: FolderReader = .disk) {
        let names = (try? files.names(folder)) ?? []
        let assets = names.contains("assets") ? (try? files.names(folder + "/assets")) ?? [] : []
        model = ""
        (config, metadata, environment, preprocessor) = Self.found(Set(names))
        pooling = names.contains(Self.poolingFolder)
        labelFiles = Self.labelFiles(names) + Self.labelFiles(assets).map { "assets/" + $0 }
    }

    private static func found(
        _ names: Set<String>
    ) -> (config: Bool, metadata: Bool, environment: Bool, preprocessor: String?) {
        (
            names.contains(sources[0]), names.contains(sources[1]), names.contains(sources[2]),
            processors.first(where: names.contains)
        )
    }

    private static func labelFiles(_ names: [String]) -> [String] {
        names.compactMap { name in LabelFile.rank(name).map { (name, $0) } }
            .sorted { ($0.1, $0.0) < ($1.1, $1.0) }.map(\.0)
    }

    /// Reads a folder; nil if it is not a bundle or cannot be read. Blocks.
    init?(folder: String, files: FolderReader = .disk) {
        guard let names = try? files.names(folder) else { return nil }
        self.init(names: names, folder: folder, files: files)
    }

    /// The layout of a folder; its file names were already read. Blocks.
    package init?(names: [String], folder: String, files: FolderReader) {
        let hasONNX = names.contains("onnx") && (try? files.kind(folder + "/onnx/model.onnx")) == .file
        self.init(names: names, hasONNXFolderModel: hasONNX)
    }

    /// True if a model folder with these names is itself a bundle, as it was downloaded.
    package static func isBundle(names: [String], folder: String, files: FolderReader) -> Bool {
        sources.contains(where: names.contains) && BundleLayout(names: names, folder: folder, files: files) != nil
    }
}

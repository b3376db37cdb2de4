package import EngineAPI
internal import FileFormats
internal import ModelFacts
internal import SystemSupport

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
    /// The choice among several model files, as text to follow the model's path; nil if there was no choice.
    private(set) var choice: String?

    /// The files of which one must be present to make a folder with a model file a bundle.
    static let sources = ["config.json", "metadata.yaml", "environment.json"] + processors
    static let processors = ["preprocessor_config.json", "processor_config.json"]

    private static let poolingFolder = "1_Pooling"
    static let poolingFile = poolingFolder + "/config.json"

    /// The file names that exporters use for models, in order of preference.
    private static let usual = ["model.onnx", "onnx/model.onnx", "openvino_model.xml", "model.xml", "model.tflite"]
    /// The folders in which model hubs keep exports; the files that describe them are one level higher.
    package static let exportFolders = ["onnx", "openvino"]

    /// The result of looking for the model among the files of a folder.
    private enum Search {
        /// The model file, and the choice of it as a sentence without a subject, if there were others.
        case found(String, choice: String?)
        /// Several that the rule does not tell apart.
        case several([String])
        case none
    }

    private static func search(_ names: [String], exports: @autoclosure () -> [String]) -> Search {
        let files = Set(names)
        if files.contains("saved_model.pb") { return .found("", choice: nil) }
        let models = names.sorted().compactMap { ModelCandidate(file: $0) }
        if models.count == 1 { return .found(models[0].path, choice: nil) }
        let all = models + exports().compactMap { ModelCandidate(file: $0) }
        // Without a description, each of several files is a model of its own.
        guard sources.contains(where: files.contains), !all.isEmpty else { return .none }
        let fitting = ModelCandidate.usual(among: ModelCandidate.forPictures(among: all)).map(\.path)
        guard let model = fitting.count == 1 ? fitting[0] : usual.first(where: fitting.contains) else {
            return .several(fitting)
        }
        let others = all.filter { $0.path != model }
        guard !others.isEmpty else { return .found(model, choice: nil) }
        let list = others.prefix(4).map { $0.path + ($0.isForText ? " (for text)" : "") }.joined(separator: ", ")
        let rest = others.count > 4 ? " and \(others.count - 4) more" : ""
        return .found(model, choice: "is the model of this folder by its name; not served: \(list)\(rest)")
    }

    /// The paths of the models in the folders of exports.
    private static func exports(_ names: [String], in folder: String, files: FolderReader) -> [String] {
        exportFolders.filter(names.contains).flatMap { export -> [String] in
            let inside = (try? files.names(folder + "/" + export)) ?? []
            return inside.sorted().filter { ModelBundle.isModelFile($0) && $0 != "saved_model.pb" }
                .map { export + "/" + $0 }
                .filter { (try? files.kind(folder + "/" + $0)) == .file }
        }
    }

    /// A sentence on a folder that has several models of which none stands out, with a remedy; nil for other folders.
    /// Reads the folder: blocks.
    package static func adviceOnSeveral(in folder: String, files: FolderReader = .disk) -> String? {
        guard let names = try? files.names(folder),
            case .several(let models) = search(names, exports: exports(names, in: folder, files: files))
        else { return nil }
        let list = models.prefix(5).joined(separator: ", ") + (models.count > 5 ? ", ..." : "")
        return "of the models \(list) none stands out by its name: "
            + "`ocelli init \(ShellWord.quoted(folder + "/" + models[0]))` writes a model.json for one of them"
    }

    /// A folder with a known model.
    private init(model: String, names: [String]) {
        self.model = model
        (config, metadata, environment, preprocessor) = Self.found(Set(names))
        pooling = names.contains(Self.poolingFolder)
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

    static func labelFiles(_ names: [String]) -> [String] {
        names.compactMap { name in LabelFile.rank(name).map { (name, $0) } }
            .sorted { ($0.1, $0.0) < ($1.1, $1.0) }.map(\.0)
    }

    /// Reads a folder; nil if it is not a bundle or cannot be read. Blocks.
    init?(folder: String, files: FolderReader = .disk) {
        guard let names = try? files.names(folder) else { return nil }
        self.init(names: names, folder: folder, files: files)
    }

    /// The layout of a folder; its file names were already read. Nil if the folder is not a bundle: it has no model
    /// file, or several and not both a file of ``sources`` and one that stands out by its name. Blocks.
    package init?(names: [String], folder: String, files: FolderReader) {
        if names.contains(PulledFolder.record), let model = PulledFolder.model(in: folder, files: files) {
            self.init(model: model, names: names)
            return
        }
        guard
            case .found(let model, let choice) = Self.search(
                names, exports: Self.exports(names, in: folder, files: files))
        else { return nil }
        self.init(model: model, names: names)
        self.choice = choice
    }

    /// True if a model folder with these names is itself a bundle, as it was downloaded.
    package static func isBundle(names: [String], folder: String, files: FolderReader) -> Bool {
        if ReaderFolder(folder, files: files).isWhole(names) { return true }
        if WordsFolder(folder, files: files).isRecognized(names) { return true }
        return sources.contains(where: names.contains)
            && BundleLayout(names: names, folder: folder, files: files) != nil
    }
}

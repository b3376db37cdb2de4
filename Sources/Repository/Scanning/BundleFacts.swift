internal import Bundles
internal import CoreMLImport
internal import EngineAPI
internal import EngineImporters
internal import Inference
internal import ModelFacts

/// The data of a bundle that is not loaded: when to load it, and its version.
struct BundleFacts: Sendable {
    /// `runtime.load`.
    private(set) var load: LoadPolicy?
    /// `runtime.idle_unload_seconds`; zero keeps the model.
    private(set) var idleUnload: Duration?
    private(set) var version = "1"
    /// True if the bundle describes one picture in and labels out.
    private(set) var classifiesPictures = false
    /// The tasks that it performs on pictures, in addition to classification.
    private(set) var tasks: [ObservationTask] = []
    /// True if it embeds texts, and if it classifies by labels of a request.
    private(set) var embedsTexts = false, takesLabels = false
    /// The names of the models that a pipeline runs; empty for a model.
    private(set) var pipelineModels: Set<String> = []
    /// The labels of a bundle that has no model yet; nil for others.
    private(set) var placeholder: [String]?
    /// True if only loading the model shows whether it takes a picture and what its outputs mean: it has no model.json.
    private(set) var isUndetermined = false
    /// True if model.json has an undecided entry: requests without a model name do not get such a model.
    private(set) var isUndecided = false
    /// The state of the files; nil if the bundle could not be read.
    private var stamp: BundleStamp?
    /// The total size of its files in bytes; nil if they could not be read.
    var bytes: Int? { stamp?.bytes }

    /// The maximum time for reading the files; after it, a model counts as unreadable.
    static let patience = Duration.seconds(5)
    /// The problem reported for such a model.
    static let silence = "has files that could not be read within 5 s: check the disk and the mount"

    /// Calls ``init(path:links:)`` within ``patience``: a file system that hangs must not delay other models. Blocks.
    static func read(_ path: String, links: LinkPolicy) -> BundleFacts {
        LoaderThread.wait(within: patience, on: path) { BundleFacts(path: path, links: links) } ?? BundleFacts()
    }

    /// True if the files, in the state that was read, have passed the load check before.
    func isKnown(to check: LoadCheck?, at path: String) -> Bool {
        guard let stamp, let check else { return false }
        return check.knows(path, stamp: stamp)
    }

    /// The facts of a bundle that cannot be read: the defaults.
    init() {}

    /// Reads the bundle at a path. A bundle that cannot be read has default facts: loading it reports the error.
    /// Blocks.
    init(path: String, links: LinkPolicy) {
        do throws(InferenceError) {
            let bundle = try ModelBundle(path: path, links: links, allowsPlaceholder: true)
            stamp = bundle.stamp
            if CoreMLFile.isCoreML(bundle.source.path) {
                classifiesPictures = CoreMLFile.description(ofFileAt: bundle.source.path)?.classifiesPictures ?? false
            }
            if bundle.reader != nil { tasks = [.read] }
            if let words = bundle.words { adopt(words) }
            guard let manifest = bundle.manifest else {
                // Whether the labels fit the output is known only when the model is loaded.
                if let facts = bundle.facts {
                    isUndetermined = facts.sheet.framing != nil
                    classifiesPictures = isUndetermined && (facts.sheet.labels != nil || !facts.labelFiles.isEmpty)
                }
                return
            }
            if let labels = manifest.placeholder {
                placeholder = labels
                version = manifest.version
                // Nothing waits for it.
                load = .lazy
                return
            }
            load = manifest.runtime.load
            idleUnload = manifest.runtime.idleUnloadSeconds.map { .seconds($0) }
            version = manifest.version
            classifiesPictures = classifiesPictures || manifest.classifiesPictures
            if bundle.reader == nil, bundle.words == nil { tasks = manifest.observations.map(\.task) }
            if let pipeline = manifest.pipeline {
                pipelineModels = pipeline.models
                tasks = [.detect]
            }
            isUndecided = !manifest.undecided.isEmpty
        } catch {
            return
        }
    }

    /// A file with both sides states its scale only when it runs.
    private mutating func adopt(_ words: WordsDescription) {
        embedsTexts = true
        takesLabels = words.takesPictures && (words.isWhole || words.zeroShot.scale != nil)
        classifiesPictures = takesLabels && words.zeroShot.labels != nil
        tasks = words.takesPictures ? [.embed] : []
    }

    /// Replaces the declared facts by those of the loaded model.
    mutating func adopt(_ model: Model) {
        classifiesPictures = model.isImageClassifier
        tasks = model.tasks
        (embedsTexts, takesLabels) = (model.embedsTexts, model.takesLabels)
        isUndecided = !model.loadReport.undecided.isEmpty
        isUndetermined = false
    }

    /// Reads the facts again if the files have changed. A bundle that can no longer be read keeps its facts, as it
    /// keeps its place. Blocks.
    func reread(_ path: String, links: LinkPolicy) -> BundleFacts {
        let before = self
        return LoaderThread.wait(within: Self.patience, on: path) {
            if let stamp = before.stamp, stamp.isCurrent { return before }
            let now = BundleFacts(path: path, links: links)
            return now.stamp == nil ? before : now
        } ?? self
    }
}

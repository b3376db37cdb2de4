/// Runs models. OpenVINO is one implementation; tests have another one, which they control.
public protocol Engine: AnyObject, Sendable {
    /// The name and version, for the log and the report.
    var version: String { get }

    /// A text that tells this build of the engine from others of its version; empty where the version does. Blocks: may
    /// read the library.
    var build: String { get }

    /// The devices that models can be compiled for. Blocks for as long as the engine needs to look.
    func availableDevices() throws(EngineError) -> [ComputeDevice]

    /// Reads a model file. Blocks for as long as that takes.
    func read(_ source: ModelSource) throws(EngineError) -> any ModelFile

    /// True if the answers of several streams are compared with those of one when a model is loaded. False where all
    /// streams run the same compiled graph.
    var comparesStreams: Bool { get }

    /// The reason why a model's scores may be wrong on a device of this machine, and what to do; nil where nothing is
    /// known. Blocks: may read the file.
    func advice(on source: ModelSource, device: String) -> String?
}

extension Engine {
    /// Reads a model file, and tells which engine does so, where there are several. Blocks.
    func opened(_ source: ModelSource) throws(EngineError) -> OpenedModel {
        if let choosing = self as? ChoosingEngine { return try choosing.open(source) }
        return OpenedModel(file: try read(source), engine: self)
    }

    /// The version says it.
    public var build: String { "" }

    /// Streams may differ.
    public var comparesStreams: Bool { true }

    /// Nothing is known.
    public func advice(on source: ModelSource, device: String) -> String? { nil }
}

/// Runs models. OpenVINO is one implementation; tests use a fake one, which they control.
public protocol Engine: AnyObject, Sendable {
    /// The name and version, for the log and the report.
    var version: String { get }

    /// A text that distinguishes this build of the engine from others of its version; empty if the version is enough.
    /// Blocks: may read the library.
    var build: String { get }

    /// The devices that models can be compiled for. Blocks while the engine searches for them.
    func availableDevices() throws(EngineError) -> [ComputeDevice]

    /// Reads a model file. Blocks during that time.
    func read(_ source: ModelSource) throws(EngineError) -> any ModelFile

    /// Reads a model file, and tells which engine reads it, for an engine that chooses between others. Blocks.
    func open(_ source: ModelSource) throws(EngineError) -> OpenedModel

    /// True if the answers of several streams are compared with those of one when a model is loaded. False if all
    /// streams run the same compiled graph.
    var comparesStreams: Bool { get }

    /// The reason a model's scores may be wrong on a device of this machine, and the remedy; nil if no problem is
    /// known. Blocks: may read the file.
    func advice(on source: ModelSource, device: String) -> String?
}

extension Engine {
    /// This engine reads it.
    public func open(_ source: ModelSource) throws(EngineError) -> OpenedModel {
        OpenedModel(file: try read(source), engine: self)
    }

    /// The default: the version identifies the build.
    public var build: String { "" }

    /// The default: streams may differ.
    public var comparesStreams: Bool { true }

    /// The default: no problem is known.
    public func advice(on source: ModelSource, device: String) -> String? { nil }
}

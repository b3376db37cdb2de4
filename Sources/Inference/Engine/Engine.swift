/// Runs models. OpenVINO is one implementation; tests have another one, which they control.
public protocol Engine: AnyObject, Sendable {
    /// The name and version, for the log and the report.
    var version: String { get }

    /// The devices that models can be compiled for. Blocks for as long as the engine needs to look.
    func availableDevices() throws(EngineError) -> [ComputeDevice]

    /// Reads a model file. Blocks for as long as that takes.
    func read(_ source: ModelSource) throws(EngineError) -> any ModelFile
}

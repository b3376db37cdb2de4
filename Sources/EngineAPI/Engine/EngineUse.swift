/// The engine that runs a model, and the reason.
public struct EngineUse: Sendable, Hashable, Codable {
    /// `openvino` or `onnxruntime`.
    public let name: String
    /// The name and version for display.
    public let version: String
    /// The reason it is not the first choice, or that the choice has changed; nil if it always was the first choice.
    public let reason: String?
    /// The shapes of the inputs at which its answers were compared with those of the other engine; empty if they were
    /// not compared.
    public package(set) var comparedAt: [String] = []
    /// The reason the answers of both engines cannot be compared; nil if they were, or if nobody has tried.
    public package(set) var incomparable: String?

    package init(_ engine: EnginePreference, version: String, reason: String?) {
        name = engine.rawValue
        self.version = version
        self.reason = reason
    }
}

/// The engine that runs a model, and the reason.
public struct EngineUse: Sendable, Hashable, Codable {
    /// `openvino`, `onnxruntime` or `litert`.
    public let name: String
    /// The name and version for display.
    public let version: String
    /// The reason it is not the first choice, or that the choice has changed; nil if it always was the first choice.
    public let reason: String?

    package init(_ engine: EnginePreference, version: String, reason: String?) {
        name = engine.rawValue
        self.version = version
        self.reason = reason
    }
}

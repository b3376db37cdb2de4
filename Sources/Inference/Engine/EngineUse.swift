/// The engine that is wanted for a model.
public enum EnginePreference: String, Sendable, CaseIterable, Codable {
    /// OpenVINO, unless it cannot read the file or computes it wrongly.
    case auto
    case openvino
    case onnxruntime
}

/// The engine that runs a model, and why.
public struct EngineUse: Sendable, Hashable, Codable {
    /// `openvino` or `onnxruntime`.
    public let name: String
    /// The name and version for people.
    public let version: String
    /// The reason it is not the first choice, or no longer is the other one; nil if it always was the first choice.
    public let reason: String?

    init(_ engine: EnginePreference, version: String, reason: String?) {
        name = engine.rawValue
        self.version = version
        self.reason = reason
    }
}

/// A model file that an engine was found for.
package struct OpenedModel: Sendable {
    package let file: any ModelFile
    /// The engine that read it, for reading it again.
    package let engine: any Engine
    /// Nil if there is no choice.
    package var use: EngineUse?
    /// Present as long as it is not settled that the engine computes the file rightly.
    package var question: EngineQuestion?
}

/// The question which of two engines runs a file.
package struct EngineQuestion: Sendable {
    /// The engine that the answers are compared with, and that runs the file if the first one does not.
    package let other: any Engine
    /// Keeps the answer. The argument is what the first engine does wrong, as the end of a sentence; nil if nothing.
    package let settle: @Sendable (String?) -> Void
}

/// A model file that an engine was found for.
public struct OpenedModel: Sendable {
    package let file: any ModelFile
    /// The engine that read it, for reading it again.
    package let engine: any Engine
    /// Nil if only one engine is possible.
    package var use: EngineUse?
    /// The open question whether the engine computes the file correctly; nil if that is decided.
    package var question: EngineQuestion?

    /// A model file that `engine` has read.
    package init(
        file: any ModelFile, engine: any Engine, use: EngineUse? = nil, question: EngineQuestion? = nil
    ) {
        self.file = file
        self.engine = engine
        self.use = use
        self.question = question
    }
}

/// The question of which of two engines runs a file.
package struct EngineQuestion: Sendable {
    /// The engine that the answers are compared with, and that runs the file if the first one does not.
    package let other: any Engine
    private let keep: @Sendable (EngineFinding) -> Void

    /// A question that is not settled; `keep` stores the decision.
    package init(other: any Engine, keep: @escaping @Sendable (EngineFinding) -> Void) {
        self.other = other
        self.keep = keep
    }

    /// Decides the question.
    /// - Parameters:
    ///   - fault: the error of the first engine, as the end of a sentence; nil if it has none.
    ///   - shapes: the shapes of the inputs at which the engines were compared.
    ///   - incomparable: the reason they cannot be compared.
    package func decide(_ fault: String?, at shapes: [String] = [], incomparable: String? = nil) {
        keep(EngineFinding(fault: fault, shapes: shapes, incomparable: incomparable))
    }
}

/// The result of comparing two engines, or of trying to.
package struct EngineFinding: Sendable {
    /// The error of the first engine, as the end of a sentence; nil if it has none.
    package let fault: String?
    /// The shapes of the inputs at which the engines were compared.
    package let shapes: [String]
    /// The reason they cannot be compared; nil if they were.
    package let incomparable: String?
}

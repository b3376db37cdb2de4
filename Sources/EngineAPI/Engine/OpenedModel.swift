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
    /// Stores the decision. The argument is the error of the first engine, as the end of a sentence; nil if it has
    /// none.
    package let decide: @Sendable (String?) -> Void

    /// A question that is not settled.
    package init(other: any Engine, decide: @escaping @Sendable (String?) -> Void) {
        self.other = other
        self.decide = decide
    }
}

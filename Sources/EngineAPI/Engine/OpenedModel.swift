/// A model file that an engine was found for.
public struct OpenedModel: Sendable {
    package let file: any ModelFile
    /// The engine that read it, for reading it again.
    package let engine: any Engine
    /// Nil for engines that do not say.
    package var use: EngineUse?
    /// The open question whether the engine computes the file correctly; nil if that is decided.
    package var question: EngineQuestion?
    /// The decision; it does not count while the question is open.
    package var confirmation: Confirmation
    /// The runtime of the file's own format, which runs inputs that the engine refuses although they are valid; nil if
    /// it runs the file already, or is not installed.
    package var alternative: (any Engine)?

    /// A model file that `engine` has read.
    package init(
        file: any ModelFile, engine: any Engine, use: EngineUse? = nil, question: EngineQuestion? = nil,
        confirmation: Confirmation = Confirmation(unconfirmed: "its engine has no second one"),
        alternative: (any Engine)? = nil
    ) {
        self.file = file
        self.engine = engine
        self.use = use
        self.question = question
        self.confirmation = confirmation
        self.alternative = alternative
    }
}

/// The question whether the first engine runs a file, or the runtime of the file's own format, its referee.
package struct EngineQuestion: Sendable {
    package let referee: EngineReferee
    private let keep: @Sendable (EngineFinding) -> Void

    /// A question that is not settled; `keep` stores the decision.
    package init(_ referee: EngineReferee, keep: @escaping @Sendable (EngineFinding) -> Void) {
        self.referee = referee
        self.keep = keep
    }

    /// Decides the question.
    package func decide(_ finding: EngineFinding) { keep(finding) }
}

/// The result of comparing an engine with the referee.
package struct EngineFinding: Sendable {
    /// The error of the first engine, as the end of a sentence: the referee then runs the file. Nil if the first engine
    /// runs it.
    package let fault: String?
    package let confirmation: Confirmation

    /// The first engine runs the file.
    package init(_ confirmation: Confirmation) {
        fault = nil
        self.confirmation = confirmation
    }

    /// The referee runs the file.
    package init(fault: String, _ confirmation: Confirmation) {
        self.fault = fault
        self.confirmation = confirmation
    }
}

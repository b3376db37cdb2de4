package import FlowControl
package import HTTPServer
package import Inference
package import ServiceCore
package import WireFormats

/// A task on the inputs of a request, such as classifying pictures. `PredictionRunner` does the rest: it reads bodies
/// by the task's ``TaskInputs``, and writes answers by its ``TaskAnswers``.
package protocol PredictionTask: TaskAnswers {
    associatedtype Query: TaskQuery
    associatedtype Inputs: TaskInputs

    /// True if taught models can do the task.
    static var answersTaughtModels: Bool { get }
    /// True if the task answers by the stages of a pipeline, too, so that it needs their taught models.
    static var runsStages: Bool { get }
    /// The model for a request that names none.
    static func unnamed(_ query: Query) -> UnnamedModel

    /// Creates the task of a request. Refuses a model that cannot do it, and a query that the model cannot answer.
    init(_ run: ModelRequest, _ query: Query, of request: HTTPRequest, live: LiveSettings) throws(ServiceError)

    /// The task with everything that it needs before its first item, and which takes time; called once, without a slot.
    func prepared() async throws(InferenceError) -> Self

    var inputs: Inputs { get }

    /// Predicts for some items, several of them in one inference. Returns as many results, in the same order.
    func predict(_ items: [Inputs.Item], in slot: Slot) async -> [Result<Output, InferenceError>]

    /// The item as a question to another version of the model, to compare its answer with an output; nil if they cannot
    /// be compared.
    func shadow(of item: Inputs.Item, _ output: Output) -> ShadowWork?

    /// The report of an item for the watchers of answers; nil without watchers.
    func report(of item: Inputs.Item, _ output: Output) -> AnswerReport?

    /// The input of a later model of a pipeline, if `explain` asks for it; nil to show the input of the request's
    /// model.
    func explanation(of image: EncodedImage, in slot: Slot) async throws(InferenceError) -> PreprocessedImage?
}

extension PredictionTask {
    package static var runsStages: Bool { true }

    package func report(of item: Inputs.Item, _ output: Output) -> AnswerReport? { nil }

    package func prepared() async throws(InferenceError) -> Self { self }

    package func explanation(of image: EncodedImage, in slot: Slot) async throws(InferenceError) -> PreprocessedImage? {
        nil
    }
}

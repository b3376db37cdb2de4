/// A request for a prediction when its head has arrived: the model that it names, and the work that answers it.
///
/// It is not generic: the work is a closure of the module of its runner, where the compiler specializes it.
package struct PredictionCall: Sendable {
    package let call: Call
    /// The model that the request names, empty if it names none, and its version; nil for the serving one.
    let name: String
    let version: String?
    let unnamed: UnnamedModel
    /// True if taught models can answer.
    let answersTaughtModels: Bool
    /// True if the stages of a pipeline run, so that their taught models are needed.
    let runsStages: Bool
    /// True if the route reads parameters of the query.
    let readsQuery: Bool
    package let answer: ModelChoice.Work

    // Wide: a record, in the order of its fields.
    package init(
        _ call: Call, name: String, version: String?, unnamed: UnnamedModel = .refused,
        answersTaughtModels: Bool = false, runsStages: Bool = true, readsQuery: Bool = false,
        answer: @escaping ModelChoice.Work
    ) {
        self.call = call
        self.name = name
        self.version = version
        self.unnamed = unnamed
        self.answersTaughtModels = answersTaughtModels
        self.runsStages = runsStages
        self.readsQuery = readsQuery
        self.answer = answer
    }
}

package import Inference

/// One picture that a model's own run has answered, for the watchers of answers. There is no report of an error, of an
/// answer shared with another request, of a golden, or of the other version in a comparison.
package struct AnswerReport: Sendable {
    /// The name under which the model is served; for a taught model, its own name.
    package let model: String
    /// The version that answered.
    package let version: String
    /// The number of the client, by its token or address.
    package let client: UInt64
    /// True unless the request has `Cache-Control: no-store`.
    package let mayKeep: Bool
    /// The picture, which holds the request's body.
    package let image: EncodedImage
    /// The results of the picture.
    package let outcome: Outcome
    /// The model that ran; for a taught model, its embedder.
    package var ran: Model?

    /// The results of a picture, by the kind of task.
    package enum Outcome: Sendable {
        case classes(ClassificationResult)
        case observations(ObservationResult)
    }
}

/// Takes reports of answers after they are sent. Thread-safe.
package protocol AnswerWatcher: Sendable {
    /// True if it takes reports of a model; results of the model must then have measures
    /// (``PredictionOptions/measures``). Called for every request, on the path of the prediction: it must be quick.
    func watches(_ model: Model, named name: String) -> Bool
    /// Takes a report. Called on the event loop: it must not block, and must leave work to another thread.
    func answered(_ report: AnswerReport)
}

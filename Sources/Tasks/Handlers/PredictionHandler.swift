package import HTTPServer
internal import ServiceCore
package import WireFormats

/// Answers predictions. The model is chosen when the head has arrived, after the handler has been created, and equal
/// requests share an answer.
package protocol PredictionHandler: Sendable {
    /// True if taught models can answer.
    static var answersTaughtModels: Bool { get }
    /// True if the route reads parameters of the query.
    static var readsQuery: Bool { get }

    var call: Call { get }
    /// The model that the request names, empty if it names none, and its version; nil for the serving one.
    var asked: (name: String, version: String?) { get }
    /// The name of the model for a request that names none.
    func defaultName() throws(ServiceError) -> String

    func respond(to request: HTTPRequest, _ choice: ModelChoice) async throws(ServiceError) -> HTTPResponse
}

extension PredictionHandler {
    package static var answersTaughtModels: Bool { false }
    package static var readsQuery: Bool { false }
    package var asked: (name: String, version: String?) { (call.path.name, call.path.version) }
    package func defaultName() throws(ServiceError) -> String { "" }
}

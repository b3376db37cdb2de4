internal import HTTPServer

/// What was decided about a request when its head came: its route, and how it is answered when its body has come. The handler
/// in it holds the settings, the query and the model, so that the request never sees half of one configuration and half of
/// another.
final class Admission: Sendable {
    /// Answers the request when its body is there.
    typealias Answer = @Sendable (HTTPRequest) async throws(ServiceError) -> HTTPResponse

    let route: Route
    let answer: Answer

    init(_ route: Route, answer: @escaping Answer) {
        self.route = route
        self.answer = answer
    }
}

internal import HTTPWire

extension ServiceError {
    /// 400: an input is not what the model takes. The sentence names the input, what was expected and what came.
    static func invalidInput(_ message: String) -> ServiceError { ServiceError(.badRequest, "invalid_input", message) }

    /// 400: the request is not what the route takes.
    static func badRequest(_ message: String) -> ServiceError { ServiceError(.badRequest, "bad_request", message) }
}

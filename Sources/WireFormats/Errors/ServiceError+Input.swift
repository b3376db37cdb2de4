internal import HTTPWire
package import Inference
package import JSON

extension ServiceError {
    /// The error of a JSON body that is not JSON, or that has another value than the route takes.
    package init(_ error: JSONError) {
        switch error.kind {
        case .syntax: self = .badRequest(error.message)
        case .value: self = .invalidInput(error.message)
        case .cancelled: self.init(.cancelled(stage: .decode))
        }
    }

    /// The error of a failed update.
    package init(_ error: UpdateError) {
        switch error {
        case .invalid(let text): self = .invalidInput(text)
        case .inference(let error): self.init(ofInput: error)
        case .full(let text): self.init(.storageFull, text)
        case .failed(let text): self.init(.internal, text, label: "update")
        }
    }

    /// 400: an input does not fit the model. The message names the input, what was expected and what was found.
    package static func invalidInput(_ message: String) -> ServiceError { ServiceError(.invalidInput, message) }

    /// 400: the request does not fit the route.
    package static func badRequest(_ message: String) -> ServiceError { ServiceError(.badRequest, message) }

    /// The error of a prediction with named inputs: the message about an unusable picture names its input.
    package init(ofInput error: InferenceError) {
        self.init(error)
        if case .image(_, let input?) = error { self = prefixed("input \"\(input)\": ") }
    }
}

extension RequestHead {
    /// Refuses a compressed body with 415, on routes that read bodies as they are.
    package func refuseContentCodings() throws(ServiceError) {
        guard let coding = contentCodings.first else { return }
        throw ServiceError(
            .unsupportedMediaType,
            "Content-Encoding \"\(coding.prefix(40))\" is not supported: send the body without a content coding")
    }
}

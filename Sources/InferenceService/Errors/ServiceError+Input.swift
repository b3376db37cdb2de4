internal import HTTPWire
internal import Inference
internal import JSON

extension ServiceError {
    /// A JSON body that is not JSON, or that holds another value than the route takes.
    init(_ error: JSONError) {
        switch error.kind {
        case .syntax: self = .badRequest(error.message)
        case .value: self = .invalidInput(error.message)
        case .cancelled: self.init(.cancelled(stage: .decode))
        }
    }

    /// An update that was not done.
    init(_ error: UpdateError) {
        switch error {
        case .invalid(let text): self = .invalidInput(text)
        case .inference(let error): self.init(ofInput: error)
        case .full(let text): self.init(.storageFull, text)
        case .failed(let text): self.init(.internal, text, label: "update")
        }
    }

    /// 400: an input is not what the model takes. The sentence names the input, what was expected and what came.
    static func invalidInput(_ message: String) -> ServiceError { ServiceError(.invalidInput, message) }

    /// 400: the request is not what the route takes.
    static func badRequest(_ message: String) -> ServiceError { ServiceError(.badRequest, message) }

    /// The error of a prediction whose inputs have names: where a picture cannot be used, it names the input.
    init(ofInput error: InferenceError) {
        self.init(error)
        if case .image(_, let input?) = error { self = prefixed("input \"\(input)\": ") }
    }
}

extension RequestHead {
    /// The codings of the body (RFC 9110 section 8.4), in the order in which they were applied; empty if it is not
    /// compressed.
    var contentCodings: [String] {
        values(of: "content-encoding").joined(separator: ",").split(separator: ",")
            .map { $0.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }.lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
    }

    /// 415 for a body that is compressed: it is read as it is.
    func refuseContentCodings() throws(ServiceError) {
        guard let coding = contentCodings.first else { return }
        throw ServiceError(
            .unsupportedMediaType,
            "Content-Encoding \"\(coding.prefix(40))\" is not supported: send the body without a content coding")
    }
}

package import FlowControl
package import HTTPWire
package import ImagePipeline
package import Inference
internal import JSON

/// An error as a client sees it: status, code, sentence. Every error of every module becomes one of these here, and
/// nowhere else (API.md, "Errors").
package struct ServiceError: Error, Sendable {
    /// The HTTP status.
    package let status: HTTPStatus
    /// The code of API.md, in snake case.
    package let code: String
    /// A sentence that a person can act on.
    package let message: String
    /// Seconds after which trying again may help: told with every 503, whichever layer it comes from.
    package let retryAfter: Int?
    /// The methods of a resource, for 405.
    package var allow: String?
    /// A short name of a bounded set, for metrics: never anything from the request.
    package let label: String

    package init(
        _ status: HTTPStatus, _ code: String, _ message: String, retryAfter: Int? = nil, allow: String? = nil,
        label: String? = nil
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.retryAfter = retryAfter ?? (status == .serviceUnavailable ? 1 : nil)
        self.allow = allow
        self.label = label ?? code
    }

    /// The same with words before its sentence.
    package func prefixed(_ words: String) -> ServiceError {
        ServiceError(
            status, code, words + message, retryAfter: retryAfter, allow: allow, label: label)
    }

    /// The same with words after its sentence.
    package func suffixed(_ words: String) -> ServiceError {
        ServiceError(status, code, message + words, retryAfter: retryAfter, allow: allow, label: label)
    }

    // MARK: The mapping

    package init(_ error: InferenceError) {
        let message = error.message
        switch error {
        case .invalidInput: self.init(.badRequest, "invalid_input", message)
        case .unsupported: self.init(.badRequest, "invalid_input", message, label: "unsupported")
        case .modelNotFound: self.init(.notFound, "model_not_found", message)
        case .versionNotFound: self.init(.notFound, "version_not_found", message)
        case .modelNotReady, .invalidBundle: self.init(.serviceUnavailable, "model_not_ready", message, retryAfter: 5)
        case .image(let error, _): self.init(error)
        case .refused(let error): self.init(error)
        case .deadlineExceeded: self.init(.gatewayTimeout, "deadline_exceeded", message)
        case .cancelled(let stage):
            // Nobody reads this answer: the client is gone, or the daemon ends.
            self.init(
                .serviceUnavailable, "shutting_down", message, retryAfter: 1, label: "cancelled_\(stage.rawValue)")
        case .engine: self.init(.internalServerError, "internal", message, label: "engine")
        }
    }

    package init(_ error: ImageError) {
        let status: HTTPStatus =
            switch error.code {
            case "unsupported_media_type": .unsupportedMediaType
            case "image_too_large": .contentTooLarge
            case "internal": .internalServerError
            default: .badRequest
            }
        self.init(status, error.code, error.message, label: error.label)
    }

    package init(_ error: AdmissionError) {
        func seconds(_ wait: Duration) -> Int {
            max(1, Int(clamping: wait.components.seconds) + (wait.components.attoseconds > 0 ? 1 : 0))
        }
        switch error {
        case .queueFull(let wait), .displaced(let wait):
            self.init(.serviceUnavailable, "overloaded", error.message, retryAfter: seconds(wait), label: error.label)
        case .overloaded(_, let retry):
            self.init(.serviceUnavailable, "overloaded", error.message, retryAfter: seconds(retry), label: error.label)
        case .waitTimedOut:
            self.init(.serviceUnavailable, "overloaded", error.message, retryAfter: 1, label: error.label)
        case .deadlineUnreachable(let wait):
            self.init(.serviceUnavailable, "overloaded", error.message, retryAfter: seconds(wait), label: error.label)
        case .deadlineExceeded: self.init(.gatewayTimeout, "deadline_exceeded", error.message)
        case .draining: self.init(.serviceUnavailable, "shutting_down", error.message, retryAfter: 5)
        case .cancelled:
            self.init(.serviceUnavailable, "shutting_down", error.message, retryAfter: 1, label: "cancelled_queue")
        }
    }

    package init(_ error: WireError) {
        self.init(error.status, error.code, error.message, label: error.label)
    }

    /// `{"error": ..., "code": ..., "request_id": ...}`
    package func json(requestID: String) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.object { writer in
            writer.key("error")
            writer.string(message)
            writer.key("code")
            writer.string(code)
            writer.key("request_id")
            writer.string(requestID)
        }
        return writer.bytes
    }
}

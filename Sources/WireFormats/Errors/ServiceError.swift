package import FlowControl
package import HTTPWire
package import ImagePipeline
package import Inference
internal import JSON
package import Repository
package import Settings
package import Teaching

/// An error as a client sees it: status, code and message. Errors of all modules are converted here, and nowhere else
/// (docs/http-api.md, "Errors").
package struct ServiceError: Error, Sendable {
    /// The code of the JSON error body.
    package let code: ErrorCode
    /// A message for the user.
    package let message: String
    /// The seconds after which a retry may help: the code's, unless the error knows better.
    package let retryAfter: Int?
    /// The methods of the resource, for 405.
    package var allow: String?
    /// A short name from a fixed set, for metrics; never anything from the request.
    package let label: String
    /// True if the request's deadline passed while its model ran.
    package private(set) var isLateInference = false

    package init(
        _ code: ErrorCode, _ message: String, retryAfter: Int? = nil, allow: String? = nil, label: String? = nil
    ) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter ?? code.retryAfter
        self.allow = allow
        self.label = label ?? code.rawValue
    }

    /// The HTTP status.
    package var status: HTTPStatus { code.status }

    /// The error with words before its message.
    package func prefixed(_ words: String) -> ServiceError {
        with(message: words + message)
    }

    /// The error with words after its message.
    package func suffixed(_ words: String) -> ServiceError {
        with(message: message + words)
    }

    private func with(message: String) -> ServiceError {
        var error = ServiceError(code, message, retryAfter: retryAfter, allow: allow, label: label)
        error.isLateInference = isLateInference
        return error
    }

    // MARK: The mapping

    /// True if the request itself causes the error: it would fail in the same way at any other time.
    package var isFaultOfRequest: Bool { (400..<500).contains(status.code) && ![408, 429].contains(status.code) }

    package init(_ error: InferenceError) {
        let message = error.message
        switch error {
        case .invalidInput: self.init(.invalidInput, message)
        case .unsupported: self.init(.invalidInput, message, label: "unsupported")
        case .modelNotFound: self.init(.modelNotFound, message)
        case .versionNotFound: self.init(.versionNotFound, message)
        case .modelNotReady, .invalidBundle: self.init(.modelNotReady, message)
        case .image(let error, _): self.init(error)
        case .refused(let error): self.init(error)
        case .deadlineExceeded(let stage):
            self.init(.deadlineExceeded, message)
            isLateInference = stage == .inference
        case .cancelled(let stage):
            // No client reads this answer: it has disconnected, or the daemon is shutting down.
            self.init(.shuttingDown, message, label: "cancelled_\(stage.rawValue)")
        case .engine: self.init(.internal, message, label: "engine")
        case .invalidOutput: self.init(.engineOutputInvalid, message)
        }
    }

    package init(_ absence: TaughtAbsence) {
        switch absence.kind {
        case .notFound: self.init(.modelNotFound, absence.message)
        case .empty, .notReady: self.init(.modelNotReady, absence.message)
        }
    }

    package init(_ refusal: RolloutRefusal) {
        switch refusal {
        case .unknown(let error): self.init(error)
        case .conflict(let message): self.init(.conflict, message)
        case .notNow(let message): self.init(.modelNotReady, message)
        }
    }

    /// The maximum number of models in one message.
    private static let maximumNames = 10

    /// The 503 of `/readyz`, with the models that it waits for.
    package init(notReady missing: [ModelRepository.Missing]) {
        let names = missing.prefix(Self.maximumNames).map { model in
            switch model.state {
            case nil where model.name.isEmpty: "there is no model"
            case nil: "\(model.name) does not exist"
            case .failed: "\(model.name) has failed"
            case .loading:
                "\(model.name) is loading ("
                    + (model.loadingTime.map { "for \($0.components.seconds) s" } ?? "waits for its turn") + ")"
            case .some(let state): "\(model.name) is \(state.name)"
            }
        }
        let rest = missing.count > Self.maximumNames ? " and \(missing.count - Self.maximumNames) more" : ""
        self.init(
            .modelNotReady, "not ready: " + names.joined(separator: ", ") + rest, retryAfter: 1)
    }

    package init(_ error: ImageError) {
        let code: ErrorCode =
            switch error {
            case .unsupportedFormat, .unsupportedFrame, .unavailable, .turnedOff: .unsupportedMediaType
            case .empty, .truncated, .corrupt, .invalidFrame, .tooManyScans: .invalidImage
            case .tooLarge, .sideTooLong, .tooMuchMemory, .answerTooLarge: .imageTooLarge
            case .invalidSpec, .wrongSize: .internal
            // Another picture may find memory, a descriptor or a decoder process: a new process is started.
            case .outOfMemory, .noDecoder: .overloaded
            // No client reads this answer, as in `init(_: InferenceError)`.
            case .cancelled: .shuttingDown
            }
        // The pipeline does not know the names of the settings for its limits.
        let setting =
            switch error {
            case .tooLarge: " (max_pixels)"
            case .answerTooLarge: " (max_total_answers)"
            case .turnedOff: " (picture_formats)"
            default: ""
            }
        self.init(code, error.message + setting, label: error.label)
    }

    package init(_ error: AdmissionError) {
        func seconds(_ wait: Duration) -> Int {
            max(1, Int(clamping: wait.components.seconds) + (wait.components.attoseconds > 0 ? 1 : 0))
        }
        switch error {
        case .queueFull(let wait), .displaced(let wait):
            self.init(.overloaded, error.message, retryAfter: seconds(wait), label: error.label)
        case .overloaded(_, let retry):
            self.init(.overloaded, error.message, retryAfter: seconds(retry), label: error.label)
        case .waitTimedOut:
            self.init(.overloaded, error.message, label: error.label)
        case .deadlineUnreachable(let wait):
            self.init(.overloaded, error.message, retryAfter: seconds(wait), label: error.label)
        case .deadlineExceeded: self.init(.deadlineExceeded, error.message)
        case .draining: self.init(.shuttingDown, error.message, retryAfter: 5)
        case .cancelled:
            self.init(.shuttingDown, error.message, label: "cancelled_queue")
        }
    }

    package init(_ error: TeachingError) {
        let code: ErrorCode =
            switch error {
            case .invalid: .badRequest
            case .conflict: .conflict
            case .unknown: .notFound
            case .unknownVersion: .versionNotFound
            case .full: .storageFull
            case .storage: .internal
            }
        self.init(code, error.message)
    }

    package init(_ error: WireError) {
        // The limit on the number of parts is not `max_body`.
        let setting =
            error.code == .bodyTooLarge && error.label != "multipart_parts"
            ? " (max_body); send less, or raise max_body" : ""
        self.init(error.code, error.message + setting, label: error.label)
    }

    /// The body `{"error": ..., "code": ..., "request_id": ...}`, and the members that a dialect's clients expect.
    package func json(requestID: String, dialect: Dialect? = nil) -> [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.object { writer in
            writer.member("error", message)
            writer.member("code", code.rawValue)
            writer.member("request_id", requestID)
            if dialect == .deepStack { writer.member("success", false) }
        }
        return writer.bytes
    }
}

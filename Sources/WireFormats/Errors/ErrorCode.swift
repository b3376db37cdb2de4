package import HTTPWire

/// The codes of the service, and the list of all (docs/http-api.md, "Errors").
extension ErrorCode {
    package static let invalidImage = ErrorCode("invalid_image", .badRequest)
    package static let invalidInput = ErrorCode("invalid_input", .badRequest)
    package static let unauthorized = ErrorCode("unauthorized", .unauthorized)
    package static let forbidden = ErrorCode("forbidden", .forbidden)
    package static let notFound = ErrorCode("not_found", .notFound)
    package static let modelNotFound = ErrorCode("model_not_found", .notFound)
    package static let versionNotFound = ErrorCode("version_not_found", .notFound)
    package static let methodNotAllowed = ErrorCode("method_not_allowed", .methodNotAllowed)
    package static let conflict = ErrorCode("conflict", .conflict)
    package static let imageTooLarge = ErrorCode("image_too_large", .contentTooLarge)
    package static let unsupportedMediaType = ErrorCode("unsupported_media_type", .unsupportedMediaType)
    package static let `internal` = ErrorCode("internal", .internalServerError)
    package static let engineOutputInvalid = ErrorCode("engine_output_invalid", .internalServerError)
    package static let tooManyRequests = ErrorCode("too_many_requests", .tooManyRequests)
    package static let modelNotReady = ErrorCode("model_not_ready", .serviceUnavailable, retryAfter: 5)
    package static let shuttingDown = ErrorCode("shutting_down", .serviceUnavailable, retryAfter: 1)
    package static let deadlineExceeded = ErrorCode("deadline_exceeded", .gatewayTimeout)
    package static let storageFull = ErrorCode("storage_full", .insufficientStorage)

    /// All codes, in the order of the OpenAPI document.
    package static let allCases: [ErrorCode] = [
        .badRequest, .invalidImage, .invalidInput, .unauthorized, .forbidden, .notFound, .modelNotFound,
        .versionNotFound, .methodNotAllowed, .conflict, .requestTimeout, .bodyTooLarge, .imageTooLarge, .uriTooLong,
        .unsupportedMediaType, .expectationFailed, .misdirectedRequest, .headersTooLarge, .internal,
        .engineOutputInvalid, .notImplemented, .tooManyRequests, .overloaded, .modelNotReady, .shuttingDown,
        .deadlineExceeded, .versionNotSupported, .storageFull,
    ]
}

package import HTTPWire

/// The member `code` of an error's JSON body (docs/http-api.md, "Errors"). Each code has one status.
package enum ErrorCode: String, Sendable, CaseIterable {
    case badRequest = "bad_request"
    case invalidImage = "invalid_image"
    case invalidInput = "invalid_input"
    case unauthorized
    case forbidden
    case notFound = "not_found"
    case modelNotFound = "model_not_found"
    case versionNotFound = "version_not_found"
    case methodNotAllowed = "method_not_allowed"
    case conflict
    case requestTimeout = "request_timeout"
    case bodyTooLarge = "body_too_large"
    case imageTooLarge = "image_too_large"
    case uriTooLong = "uri_too_long"
    case unsupportedMediaType = "unsupported_media_type"
    case expectationFailed = "expectation_failed"
    case misdirectedRequest = "misdirected_request"
    case headersTooLarge = "headers_too_large"
    case `internal`
    case notImplemented = "not_implemented"
    case tooManyRequests = "too_many_requests"
    case overloaded
    case modelNotReady = "model_not_ready"
    case shuttingDown = "shutting_down"
    case deadlineExceeded = "deadline_exceeded"
    case versionNotSupported = "version_not_supported"
    case storageFull = "storage_full"

    /// The status of an answer with this code.
    package var status: HTTPStatus {
        switch self {
        case .badRequest, .invalidImage, .invalidInput: .badRequest
        case .unauthorized: .unauthorized
        case .forbidden: .forbidden
        case .notFound, .modelNotFound, .versionNotFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .conflict: .conflict
        case .requestTimeout: .requestTimeout
        case .bodyTooLarge, .imageTooLarge: .contentTooLarge
        case .uriTooLong: .uriTooLong
        case .unsupportedMediaType: .unsupportedMediaType
        case .expectationFailed: .expectationFailed
        case .misdirectedRequest: .misdirectedRequest
        case .headersTooLarge: .headerFieldsTooLarge
        case .tooManyRequests: .tooManyRequests
        case .internal: .internalServerError
        case .notImplemented: .notImplemented
        case .overloaded, .modelNotReady, .shuttingDown: .serviceUnavailable
        case .deadlineExceeded: .gatewayTimeout
        case .versionNotSupported: .versionNotSupported
        case .storageFull: .insufficientStorage
        }
    }

    /// The code of an error of the HTTP layer.
    init(_ code: WireError.Code) {
        self =
            switch code {
            case .badRequest: .badRequest
            case .requestTimeout: .requestTimeout
            case .bodyTooLarge: .bodyTooLarge
            case .uriTooLong: .uriTooLong
            case .expectationFailed: .expectationFailed
            case .misdirectedRequest: .misdirectedRequest
            case .headersTooLarge: .headersTooLarge
            case .notImplemented: .notImplemented
            case .overloaded: .overloaded
            case .versionNotSupported: .versionNotSupported
            }
    }
}

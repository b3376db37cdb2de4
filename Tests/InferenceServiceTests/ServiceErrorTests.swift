import FlowControl
import Foundation
import HTTPWire
import ImagePipeline
import Inference
import InferenceService
import Teaching
import TestSupport
import Testing
internal import WireFormats

/// Every error of every module has its status and code, as in docs/http-api.md, from one mapping.
@Suite struct ServiceErrorTests {
    private func check(
        _ error: ServiceError, _ status: Int, _ code: String, retries: Bool = false,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(error.status.code == status, sourceLocation: sourceLocation)
        #expect(error.code.rawValue == code, sourceLocation: sourceLocation)
        #expect((error.retryAfter != nil) == retries, sourceLocation: sourceLocation)
        #expect(!error.message.isEmpty, sourceLocation: sourceLocation)
        #expect(error.label.allSatisfy { $0.isLowercase || $0 == "_" || $0.isNumber }, sourceLocation: sourceLocation)
        if let wait = error.retryAfter { #expect(wait >= 1, sourceLocation: sourceLocation) }
    }

    @Test("an error is of the request if its body or model is wrong, not for lack of room, time or the engine")
    func isFaultOfRequest() {
        for (code, expected) in [
            (ErrorCode.invalidImage, true), (.invalidInput, true), (.badRequest, true), (.modelNotFound, true),
            (.overloaded, false), (.deadlineExceeded, false), (.internal, false), (.tooManyRequests, false),
            (.requestTimeout, false),
        ] {
            #expect(ServiceError(code, "x").isFaultOfRequest == expected, "\(code)")
        }
    }

    /// The cases of an error, without their values: the compiler requires a new case here, and a test requires its row
    /// in the table.
    private enum PictureCase: CaseIterable {
        case unsupportedFormat, unavailable, turnedOff, noDecoder, empty, truncated, corrupt, invalidFrame,
            unsupportedFrame, tooLarge, sideTooLong, tooMuchMemory, answerTooLarge, tooManyScans
        case invalidSpec, wrongSize, outOfMemory, cancelled

        init(_ error: ImageError) {
            switch error {
            case .unsupportedFormat: self = .unsupportedFormat
            case .unavailable: self = .unavailable
            case .turnedOff: self = .turnedOff
            case .noDecoder: self = .noDecoder
            case .empty: self = .empty
            case .truncated: self = .truncated
            case .corrupt: self = .corrupt
            case .invalidFrame: self = .invalidFrame
            case .unsupportedFrame: self = .unsupportedFrame
            case .tooLarge: self = .tooLarge
            case .sideTooLong: self = .sideTooLong
            case .tooMuchMemory: self = .tooMuchMemory
            case .answerTooLarge: self = .answerTooLarge
            case .tooManyScans: self = .tooManyScans
            case .invalidSpec: self = .invalidSpec
            case .wrongSize: self = .wrongSize
            case .outOfMemory: self = .outOfMemory
            case .cancelled: self = .cancelled
            }
        }
    }

    @Test("every teaching error has its HTTP status and code")
    func everyErrorOfTeachingHasItsStatusAndCode() {
        check(ServiceError(TeachingError.invalid("x")), 400, "bad_request")
        check(ServiceError(TeachingError.conflict("x")), 409, "conflict")
        check(ServiceError(TeachingError.unknown("x")), 404, "not_found")
        check(ServiceError(TeachingError.unknownVersion("x")), 404, "version_not_found")
        check(ServiceError(TeachingError.full("x")), 507, "storage_full")
        check(ServiceError(TeachingError.storage("x")), 500, "internal")
    }

    @Test("a too_many_requests error has status 429 and its retry time")
    func clientThatExceedsItsLimitIsToldWhenToRetry() {
        let error = ServiceError(.tooManyRequests, "x", retryAfter: 3)
        #expect(error.status.code == 429)
        #expect(error.code.rawValue == "too_many_requests")
        #expect(error.retryAfter == 3)
    }

    @Test("every picture error has its HTTP status and code, and limits name their setting")
    func everyErrorOfPicturesHasItsStatusAndCode() {
        let tooLarge = ImageError.tooLarge(pixels: 9, limit: 4, width: 3, height: 3)
        let all: [(ImageError, Int, String)] = [
            (.unsupportedFormat(looksLike: "GIF"), 415, "unsupported_media_type"),
            (.unavailable(.tiff, reason: "install libtiff"), 415, "unsupported_media_type"),
            (.turnedOff(.gif), 415, "unsupported_media_type"), (.noDecoder("it has ended"), 503, "overloaded"),
            (.empty, 400, "invalid_image"), (.truncated("at byte 7"), 400, "invalid_image"),
            (.invalidFrame("bad"), 400, "invalid_image"), (.unsupportedFrame("YUY2"), 415, "unsupported_media_type"),
            (.answerTooLarge(bytes: 9, limit: 4, width: 3, height: 3), 413, "image_too_large"),
            (.corrupt("bad"), 400, "invalid_image"), (.tooManyScans(limit: 100), 400, "invalid_image"),
            (.sideTooLong(limit: 65_535, width: 65_536, height: 1), 413, "image_too_large"),
            (tooLarge, 413, "image_too_large"),
            (.tooMuchMemory(bytes: 9, limit: 4, reason: "x"), 413, "image_too_large"),
            (.invalidSpec("x"), 500, "internal"), (.wrongSize(expected: 1, got: 2), 500, "internal"),
            (.outOfMemory, 503, "overloaded"), (.cancelled, 503, "shutting_down"),
        ]
        for (error, status, code) in all { check(ServiceError(error), status, code, retries: status == 503) }
        #expect(Set(all.map { PictureCase($0.0) }) == Set(PictureCase.allCases))
        #expect(
            ServiceError(tooLarge).message == "the picture has 3 x 3 = 9 pixels; the limit is 4 (max_pixels)")
        #expect(ServiceError(.turnedOff(.gif)).message == "GIF pictures are turned off here (picture_formats)")
    }

    /// The cases of an admission error.
    private enum AdmissionCase: CaseIterable {
        case queueFull, overloaded, waitTimedOut, deadlineExceeded, deadlineUnreachable, displaced, draining, cancelled

        init(_ error: AdmissionError) {
            switch error {
            case .queueFull: self = .queueFull
            case .overloaded: self = .overloaded
            case .waitTimedOut: self = .waitTimedOut
            case .deadlineExceeded: self = .deadlineExceeded
            case .deadlineUnreachable: self = .deadlineUnreachable
            case .displaced: self = .displaced
            case .draining: self = .draining
            case .cancelled: self = .cancelled
            }
        }
    }

    @Test("every admission error has its HTTP status, code and retry time")
    func everyErrorOfAdmissionHasItsStatusAndCode() {
        let wait = Duration.milliseconds(1500)
        // The retry times are rounded up: a client that returns a moment too early would be refused again.
        let all: [(AdmissionError, Int, String, Int?)] = [
            (.queueFull(predictedWait: wait), 503, "overloaded", 2),
            (.displaced(predictedWait: wait), 503, "overloaded", 2),
            (.overloaded(predictedWait: wait, retryAfter: .seconds(7)), 503, "overloaded", 7),
            (.waitTimedOut(wait), 503, "overloaded", 1),
            (.deadlineUnreachable(predictedWait: wait), 503, "overloaded", 2),
            (.deadlineExceeded, 504, "deadline_exceeded", nil), (.draining, 503, "shutting_down", 5),
            (.cancelled, 503, "shutting_down", 1),
        ]
        for (error, status, code, retry) in all {
            check(ServiceError(error), status, code, retries: retry != nil)
            #expect(ServiceError(error).retryAfter == retry, "\(error)")
        }
        #expect(Set(all.map { AdmissionCase($0.0) }) == Set(AdmissionCase.allCases))
        #expect(ServiceError(AdmissionError.queueFull(predictedWait: .zero)).retryAfter == 1)
    }

    /// The cases of a model's error.
    private enum ModelCase: CaseIterable {
        case invalidInput, unsupported, modelNotFound, versionNotFound, modelNotReady, invalidBundle, engine
        case invalidOutput, image, refused, deadlineExceeded, cancelled

        init(_ error: InferenceError) {
            switch error {
            case .invalidInput: self = .invalidInput
            case .unsupported: self = .unsupported
            case .modelNotFound: self = .modelNotFound
            case .versionNotFound: self = .versionNotFound
            case .modelNotReady: self = .modelNotReady
            case .invalidBundle: self = .invalidBundle
            case .engine: self = .engine
            case .invalidOutput: self = .invalidOutput
            case .image: self = .image
            case .refused: self = .refused
            case .deadlineExceeded: self = .deadlineExceeded
            case .cancelled: self = .cancelled
            }
        }
    }

    @Test("every model error has its HTTP status and code")
    func everyErrorOfModelsHasItsStatusAndCode() {
        var all: [(InferenceError, Int, String)] = [
            (.invalidInput(name: "x", reason: "y"), 400, "invalid_input"),
            (.unsupported(model: "m", reason: "y"), 400, "invalid_input"),
            (.modelNotFound(name: "m", known: []), 404, "model_not_found"),
            (.versionNotFound(name: "m", version: "2", known: ["1"]), 404, "version_not_found"),
            (.modelNotReady(name: "m", reason: "y"), 503, "model_not_ready"),
            (.invalidBundle(name: "m", problems: []), 503, "model_not_ready"),
            (.image(.empty), 400, "invalid_image"), (.refused(.deadlineExceeded), 504, "deadline_exceeded"),
            (.engine(EngineError(kind: .failure, operation: "run", detail: "it broke")), 500, "internal"),
            (.invalidOutput(name: "scores", reason: "a score is NaN"), 500, "engine_output_invalid"),
        ]
        for stage in InferenceError.Stage.allCases {
            all.append((.deadlineExceeded(stage: stage), 504, "deadline_exceeded"))
            all.append((.cancelled(stage: stage), 503, "shutting_down"))
        }
        for (error, status, code) in all { check(ServiceError(error), status, code, retries: status == 503) }
        #expect(Set(all.map { ModelCase($0.0) }) == Set(ModelCase.allCases))
    }

    @Test("a taught model that cannot answer a pipeline's stage has the code of its own route")
    func taughtAbsences() {
        check(ServiceError(TaughtAbsence(.notFound, "m")), 404, "model_not_found")
        check(ServiceError(TaughtAbsence(.empty, "m")), 503, "model_not_ready", retries: true)
        check(ServiceError(TaughtAbsence(.notReady, "m")), 503, "model_not_ready", retries: true)
        #expect(ServiceError(TaughtAbsence(.notFound, "there is none")).message == "there is none")
    }

    @Test("an error's JSON has error, code and request_id, with the message escaped")
    func itsJSONIsTheOneForm() {
        let error = ServiceError(.badRequest, "a \"quoted\" word\n")
        #expect(
            String(decoding: error.json(requestID: "r1"), as: UTF8.self)
                == #"{"error":"a \"quoted\" word\n","code":"bad_request","request_id":"r1"}"#)
    }

    @Test("each error code that is declared is in the list of all, once")
    func listOfCodesIsComplete() throws {
        let declared = try ["HTTPWire/Message", "WireFormats/Errors"].flatMap { folder in
            try String(
                contentsOf: SharedData.packageRoot.appendingPathComponent("Sources/\(folder)/ErrorCode.swift"),
                encoding: .utf8
            ).matches(of: /static let .* = ErrorCode\("([a-z_]+)"/).map { String($0.1) }
        }
        #expect(declared.sorted() == ErrorCode.allCases.map(\.rawValue).sorted())
        #expect(Set(declared).count == declared.count && declared.count == 28)
    }

    /// Every 503 has a retry time, whichever layer it comes from; no other answer has one.
    @Test("every 503 error has a retry time, and no other HTTP error does")
    func everyAnswerThatIsBusySaysWhenToComeBack() {
        for code in ErrorCode.allCases {
            for error in [ServiceError(code, "m"), ServiceError(WireError(code, message: "m", label: "l"))] {
                #expect(error.code == code && error.status == code.status)
                #expect((error.retryAfter != nil) == (error.status == .serviceUnavailable), "\(code)")
            }
        }
        #expect(ServiceError(.overloaded, "m").retryAfter == 1)
        #expect(ServiceError(.modelNotReady, "m").retryAfter == 5)
        #expect(ServiceError(.modelNotReady, "m", retryAfter: 1).retryAfter == 1)
        #expect(ServiceError(.overloaded, "m", retryAfter: 7).prefixed("p").retryAfter == 7)
    }
}

import FlowControl
import HTTPWire
import ImagePipeline
import Inference
import InferenceService
import Testing

/// Every error of every module has its status and code, as API.md has them, and there is one place that says so.
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

    @Test func ofPictures() {
        check(ServiceError(ImageError.unsupportedFormat(looksLike: "GIF")), 415, "unsupported_media_type")
        check(ServiceError(ImageError.empty), 400, "invalid_image")
        check(ServiceError(ImageError.truncated("at byte 7")), 400, "invalid_image")
        check(ServiceError(ImageError.corrupt("bad")), 400, "invalid_image")
        check(ServiceError(ImageError.tooManyScans(limit: 100)), 400, "invalid_image")
        check(ServiceError(ImageError.sideTooLong(limit: 65_535, width: 65_536, height: 1)), 413, "image_too_large")
        check(ServiceError(ImageError.tooLarge(pixels: 9, limit: 4, width: 3, height: 3)), 413, "image_too_large")
        #expect(
            ServiceError(ImageError.tooLarge(pixels: 9, limit: 4, width: 3, height: 3)).message
                == "the picture has 3 x 3 = 9 pixels; the limit is 4 (max_pixels)")
        check(ServiceError(ImageError.tooMuchMemory(bytes: 9, limit: 4, reason: "x")), 413, "image_too_large")
        check(ServiceError(ImageError.invalidSpec("x")), 500, "internal")
        check(ServiceError(ImageError.wrongSize(expected: 1, got: 2)), 500, "internal")
        check(ServiceError(ImageError.outOfMemory), 500, "internal")
    }

    @Test func ofAdmission() {
        let wait = Duration.milliseconds(1500)
        check(ServiceError(AdmissionError.queueFull(predictedWait: wait)), 503, "overloaded", retries: true)
        check(ServiceError(AdmissionError.displaced(predictedWait: wait)), 503, "overloaded", retries: true)
        check(ServiceError(AdmissionError.waitTimedOut(wait)), 503, "overloaded", retries: true)
        check(ServiceError(AdmissionError.deadlineUnreachable(predictedWait: wait)), 503, "overloaded", retries: true)
        check(ServiceError(AdmissionError.deadlineExceeded), 504, "deadline_exceeded")
        check(ServiceError(AdmissionError.draining), 503, "shutting_down", retries: true)
        // Rounded up: a client that comes back a moment too early is refused again.
        #expect(ServiceError(AdmissionError.queueFull(predictedWait: wait)).retryAfter == 2)
        #expect(ServiceError(AdmissionError.queueFull(predictedWait: .zero)).retryAfter == 1)
    }

    @Test func ofModels() {
        check(ServiceError(InferenceError.invalidInput(name: "x", reason: "y")), 400, "invalid_input")
        check(ServiceError(InferenceError.unsupported(model: "m", reason: "y")), 400, "invalid_input")
        check(ServiceError(InferenceError.modelNotFound(name: "m", known: [])), 404, "model_not_found")
        check(
            ServiceError(InferenceError.versionNotFound(name: "m", version: "2", known: ["1"])), 404,
            "version_not_found")
        check(ServiceError(InferenceError.modelNotReady(name: "m", reason: "y")), 503, "model_not_ready", retries: true)
        check(
            ServiceError(InferenceError.invalidBundle(name: "m", problems: [])), 503, "model_not_ready", retries: true)
        check(ServiceError(InferenceError.image(.empty)), 400, "invalid_image")
        check(ServiceError(InferenceError.refused(.deadlineExceeded)), 504, "deadline_exceeded")
        for stage in InferenceError.Stage.allCases {
            check(ServiceError(InferenceError.deadlineExceeded(stage: stage)), 504, "deadline_exceeded")
            check(ServiceError(InferenceError.cancelled(stage: stage)), 503, "shutting_down", retries: true)
        }
        let engine = EngineError(kind: .failure, operation: "run", detail: "it broke")
        check(ServiceError(InferenceError.engine(engine)), 500, "internal")
    }

    @Test func itsJSONIsTheOneForm() {
        let error = ServiceError(.badRequest, "a \"quoted\" word\n")
        #expect(
            String(decoding: error.json(requestID: "r1"), as: UTF8.self)
                == #"{"error":"a \"quoted\" word\n","code":"bad_request","request_id":"r1"}"#)
    }

    /// Every 503 says when to come back, whichever layer it is of; no other answer does.
    @Test func everyAnswerThatIsBusySaysWhenToComeBack() {
        for code in WireError.Code.allCases {
            let error = ServiceError(WireError(code, message: "m", label: "l"))
            #expect((error.retryAfter != nil) == (error.status == .serviceUnavailable), "\(code)")
            #expect(error.status == code.status)
            #expect(error.code.rawValue == code.rawValue)
        }
        #expect(ServiceError(.modelNotReady, "m").retryAfter == 1)
        #expect(ServiceError(.modelNotReady, "m", retryAfter: 5).retryAfter == 5)
        #expect(ServiceError(.overloaded, "m", retryAfter: 7).prefixed("p").retryAfter == 7)
    }
}

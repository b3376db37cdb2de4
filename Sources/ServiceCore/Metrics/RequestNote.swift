internal import HTTPServer
internal import HTTPWire
package import Inference
package import JSON
package import WireFormats

/// Facts about a request that its handler passes along with the answer, for the access log.
package final class RequestNote: Sendable {
    /// The requested model.
    package let model: String
    package let times: StageTimes
    /// Nanoseconds of receiving the request and of writing the answer.
    package let recv: UInt64
    package let encode: UInt64
    /// The device of the inference; empty without an inference.
    package let device: String
    /// The best class of the picture; nil unless it must be logged.
    let topLabel: String?
    /// The places in the answer with values of this request only (`PerRequestField`).
    package let placeholders: [JSONWriter.Placeholder]
    /// False if a part of the answer failed for a reason outside the request; it is then not shared.
    package let isWhole: Bool
    /// The source of a shared answer (RFC 9211), for the access log; nil for a computed one.
    let cache: String?

    /// Work to begin after the answer is sent; nil for none.
    package let afterSend: (@Sendable () -> Void)?

    // Wide: a record, in the order of its fields.
    package init(
        model: String, times: StageTimes, recv: UInt64, encode: UInt64, device: String = "", topLabel: String? = nil,
        placeholders: [JSONWriter.Placeholder] = [], isWhole: Bool = true, cache: String? = nil,
        afterSend: (@Sendable () -> Void)? = nil
    ) {
        self.afterSend = afterSend
        self.model = model
        self.times = times
        self.recv = recv
        self.encode = encode
        self.device = device
        self.topLabel = topLabel
        self.placeholders = placeholders
        self.isWhole = isWhole
        self.cache = cache
    }

    /// The note of another request with the same answer: no work begins after sending it.
    package func shared(recv: UInt64, cache: String?) -> RequestNote {
        RequestNote(
            model: model, times: times, recv: recv, encode: encode, device: device, topLabel: topLabel,
            placeholders: placeholders,
            isWhole: isWhole, cache: cache)
    }
}

/// The note of an answer that must not be shared.
package struct DoNotCache: Sendable {
    package init() {}
}

/// The reason why a request was answered with an error, for the access log: words from fixed sets, nothing of the
/// request.
package struct ErrorNote: Sendable {
    /// The code of the answer.
    let code: String
    /// The reason as in metrics; often equal to the code.
    let reason: String

    package init(_ error: ServiceError) {
        code = error.code.rawValue
        reason = error.label
    }
}

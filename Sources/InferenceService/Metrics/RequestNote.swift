internal import HTTPServer
package import Inference
package import JSON

/// The facts of a request beside the answer, which its handler gives for the access line.
package final class RequestNote: Sendable {
    /// The model that was asked.
    let model: String
    let times: StageTimes
    /// Nanoseconds of receiving the request and of writing the answer.
    let recv: UInt64
    let encode: UInt64
    /// The device of the inference; empty where there was none.
    let device: String
    /// The best class of the picture; logged only when that is asked for.
    let topLabel: String?
    /// The places in the answer whose values are this request's alone (`OwnValue`).
    let blanks: [JSONWriter.Blank]
    /// False if a part of the answer failed: the next request may fare better.
    let isWhole: Bool
    /// The source of an answer that was known already (RFC 9211): for the access line.
    let cache: String?

    /// Work that begins when the answer was sent; nil for none.
    let afterwards: (@Sendable () -> Void)?

    // Wide: a record, in the order of its fields.
    package init(
        model: String, times: StageTimes, recv: UInt64, encode: UInt64, device: String = "", topLabel: String? = nil,
        blanks: [JSONWriter.Blank] = [], isWhole: Bool = true, cache: String? = nil,
        afterwards: (@Sendable () -> Void)? = nil
    ) {
        self.afterwards = afterwards
        self.model = model
        self.times = times
        self.recv = recv
        self.encode = encode
        self.device = device
        self.topLabel = topLabel
        self.blanks = blanks
        self.isWhole = isWhole
        self.cache = cache
    }

    /// The note of another request that is answered alike: nothing begins when it was sent.
    func shared(recv: UInt64, cache: String?) -> RequestNote {
        RequestNote(
            model: model, times: times, recv: recv, encode: encode, device: device, topLabel: topLabel, blanks: blanks,
            isWhole: isWhole, cache: cache)
    }
}

/// The note of an answer that is for its request alone.
struct UnsharedNote: Sendable {}

/// The reason why a request was answered with an error, for the access line: words of bounded sets, nothing of the
/// request.
package struct ErrorNote: Sendable {
    /// The code of the answer.
    let code: String
    /// The reason as metrics have it; often the code itself.
    let reason: String

    package init(_ error: ServiceError) {
        code = error.code.rawValue
        reason = error.label
    }
}

internal import HTTPServer
package import Inference

/// The facts of a request beside the answer, which its handler gives for the access line.
package final class RequestNote: Sendable {
    /// The model that was asked.
    let model: String
    let times: StageTimes
    /// Nanoseconds of receiving the request and of writing the answer.
    let recv: UInt64
    let encode: UInt64
    /// The best class of the picture; logged only when that is asked for.
    let topLabel: String?

    /// Work that begins when the answer was sent; nil for none.
    let afterwards: (@Sendable () -> Void)?

    package init(
        model: String, times: StageTimes, recv: UInt64, encode: UInt64, topLabel: String? = nil,
        afterwards: (@Sendable () -> Void)? = nil
    ) {
        self.afterwards = afterwards
        self.model = model
        self.times = times
        self.recv = recv
        self.encode = encode
        self.topLabel = topLabel
    }
}

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

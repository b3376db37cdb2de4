package import FlowControl
internal import ImagePipeline
package import Inference
package import Rollout
package import SystemSupport

/// An item that one version has answered, and the question to the other version.
package struct ShadowWork: Sendable {
    package let times: StageTimes
    /// The picture among the item's inputs; nil without pictures.
    package let image: EncodedImage?
    /// The given answer, in the form for comparisons. Takes as long as writing it.
    package let answer: @Sendable () -> ComparableAnswer
    /// Asks a model the same question, with the picture as decoded before, until a deadline, in a slot.
    let ask: @Sendable (Model, DecodedInput?, MonotonicInstant, Slot) async -> Result<Answer, InferenceError>
    /// True if the request had no other picture, so that the kept decoded picture is the item's.
    package var isAlone = true

    package init(
        times: StageTimes, image: EncodedImage?, answer: @escaping @Sendable () -> ComparableAnswer,
        ask: @escaping @Sendable (Model, DecodedInput?, MonotonicInstant, Slot) async -> Result<Answer, InferenceError>,
        isAlone: Bool = true
    ) {
        self.times = times
        self.image = image
        self.answer = answer
        self.ask = ask
        self.isAlone = isAlone
    }

    /// The picture's bytes.
    func picture() -> [UInt8]? { image?.withUnsafeBytes { [UInt8]($0) } }

    /// The SHA-256 of the picture's bytes; without a picture, of the answer.
    func digest() -> String {
        SHA256.text(SHA256.digest(picture() ?? Array("\(answer())".utf8)))
    }

    /// An answer in the form for comparisons, and its times.
    package struct Answer: Sendable {
        package let answer: ComparableAnswer
        package let times: StageTimes

        package init(answer: ComparableAnswer, times: StageTimes) {
            self.answer = answer
            self.times = times
        }
    }
}

extension Result where Success == ShadowWork.Answer, Failure == InferenceError {
    init(_ result: Result<ClassificationResult, InferenceError>?) {
        self = Self.missing(result).map { ShadowWork.Answer(answer: ComparableAnswer($0), times: $0.times) }
    }

    init(_ result: Result<ObservationResult, InferenceError>?) {
        self = Self.missing(result).map { ShadowWork.Answer(answer: ComparableAnswer($0), times: $0.times) }
    }

    init(_ result: Result<Prediction, InferenceError>?) {
        self = Self.missing(result).map { ShadowWork.Answer(answer: ComparableAnswer($0), times: $0.times) }
    }

    private static func missing<Value>(_ result: Result<Value, InferenceError>?) -> Result<Value, InferenceError> {
        result ?? .failure(.modelNotReady(name: "", reason: "there is no answer"))
    }
}

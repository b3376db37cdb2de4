package import ImagePipeline
package import Inference
package import JSON
package import ServiceCore

/// Writes the outputs of a task.
package protocol TaskAnswers: Sendable {
    associatedtype Output: TimedOutput

    var forms: AnswerForms { get }
    /// Estimated nanoseconds of writing an output; 0 for short ones.
    func writingTime(of output: Output) -> UInt64
    /// Writes the members of an output's open object, while the slot is held.
    /// - Parameter isCancelled: true once the client has disconnected.
    /// - Throws: `cancelled`, `outOfMemory`.
    func write(
        _ output: Output, total: UInt64, isCancelled: @escaping () -> Bool, to writer: inout JSONWriter
    ) throws(ImageError)
    /// An output in the selected form; nil if it does not have this form.
    func bytes(of output: Output, isCancelled: @escaping () -> Bool) throws(ImageError) -> [UInt8]?
    /// Counts the content of an output in the metrics, and notes it.
    func note(_ output: Output, in metrics: ServiceMetrics) -> OutputNote
}

extension TaskAnswers {
    package func bytes(of output: Output, isCancelled: @escaping () -> Bool) throws(ImageError) -> [UInt8]? { nil }
}

/// A result with the times of its stages.
package protocol TimedOutput: Sendable {
    var times: StageTimes { get }
}

extension ClassificationResult: TimedOutput {}
extension ObservationResult: TimedOutput {}
extension Prediction: TimedOutput {}

/// The forms of a request's answer.
package struct AnswerForms: Sendable {
    /// True if `Accept` selects the form.
    var isNegotiated = false
    /// The media type of the selected form; nil for JSON.
    var type: String?
    /// True if answers of this type are concatenated; otherwise several are answered in JSON.
    var joins = false
    /// The reason why the answer can hold only one picture; nil if it can be a list.
    package var onlyOne: String?

    /// JSON, for one item and for lists.
    package init() {}

    /// Bytes from which the caller writes the answer (``AnswerParts``).
    package static let parts: AnswerForms = {
        var forms = AnswerForms()
        (forms.type, forms.joins) = ("application/json", true)
        return forms
    }()
}

/// Facts about an output that its answer does not show.
package struct OutputNote: Sendable {
    /// The label of the answer for the access log; nil for none.
    var topLabel: String?
    /// False if a part of the output, such as a stage of a pipeline, failed for a reason outside the request. Such an
    /// answer is not shared.
    package var isWhole = true

    package init() {}
}

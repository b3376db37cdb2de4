internal import Synchronization

/// Determines whether a model's scores are confidences, and reports, once per load, that they are not: some are outside
/// 0 to 1, like logits.
package final class ScoreWatch: Sendable {
    /// A struct, because a closure that a mutex holds directly would be wrapped again at each access.
    private struct Receiver: Sendable {
        let tell: @Sendable (String) -> Void
    }

    private let receiver = Mutex<Receiver?>(nil)
    /// True once scores were found that are not confidences. One such answer decides for all later ones, because logits
    /// may also lie within 0 to 1.
    private let isReported = Atomic<Bool>(false)

    init() {}

    /// The tolerance: sums of rounded probabilities may slightly exceed 1.
    private static let slack: Float = 0.001

    /// Sets the receiver of the warning. The thread that finds the scores calls it, at most once.
    package func listen(_ tell: @escaping @Sendable (String) -> Void) {
        receiver.withLock { $0 = Receiver(tell: tell) }
    }

    /// Checks all scores of a prediction, until some are found that are not confidences.
    /// - Returns: whether the model's scores are confidences, as far as is known.
    func areConfidences(_ scores: UnsafeBufferPointer<Float>, output: String) -> Bool {
        guard !isReported.load(ordering: .relaxed) else { return false }
        guard let text = finding(in: scores, output: output) else { return !isReported.load(ordering: .relaxed) }
        receiver.withLock { $0 }?.tell(text)
        return false
    }

    /// False if any of the values, or earlier scores of the model, are not confidences; otherwise true.
    package func mayBeConfidences(_ values: some Sequence<Double>) -> Bool {
        let (minimum, greatest) = (Double(-Self.slack), Double(1 + Self.slack))
        return !isReported.load(ordering: .relaxed)
            && !values.contains { $0.isFinite && !(minimum...greatest).contains($0) }
    }

    /// Checks all scores of an output.
    /// - Returns: the warning, once; nil if the scores may be confidences, or the warning was returned before.
    func finding(in scores: UnsafeBufferPointer<Float>, output: String) -> String? {
        var minimum = Float.infinity, greatest = -Float.infinity
        // NaN and infinities give no information about the other scores.
        for score in scores where score.isFinite { (minimum, greatest) = (min(minimum, score), max(greatest, score)) }
        guard minimum < -Self.slack || greatest > 1 + Self.slack, !isReported.exchange(true, ordering: .relaxed) else {
            return nil
        }
        return "output \"\(output)\": scores of \(minimum) to \(greatest) are outside 0 to 1\(Self.advice)"
    }

    private static let advice =
        ", so they are not confidences: if the model returns logits, set \"activation\": \"softmax\" (one class is right) or \"sigmoid\" "
        + "(several may be) for the output in model.json"
}

internal import Synchronization

/// Knows whether a model's scores are confidences, and reports, once per load, that they are not: some are outside 0 to
/// 1, like logits.
package final class ScoreWatch: Sendable {
    /// A closure that a lock holds by itself would be wrapped once more at each look.
    private struct Receiver: Sendable {
        let tell: @Sendable (String) -> Void
    }

    private let receiver = Mutex<Receiver?>(nil)
    /// True once scores were found that are not confidences. One such answer decides for all that follow: logits may
    /// lie within 0 to 1.
    private let isTold = Atomic<Bool>(false)

    init() {}

    /// Sums of rounded probabilities may be a little above 1.
    private static let slack: Float = 0.001

    /// From now on `tell` is called with what is found, by the thread that finds it, at most once.
    package func listen(_ tell: @escaping @Sendable (String) -> Void) {
        receiver.withLock { $0 = Receiver(tell: tell) }
    }

    /// Looks at all scores of a prediction, until some are found that are no confidences.
    /// - Returns: whether scores of the model are confidences, as far as is known.
    func areConfidences(_ scores: UnsafeBufferPointer<Float>, output: String) -> Bool {
        guard !isTold.load(ordering: .relaxed) else { return false }
        guard let text = finding(in: scores, output: output) else { return !isTold.load(ordering: .relaxed) }
        receiver.withLock { $0 }?.tell(text)
        return false
    }

    /// True unless some values of labels, or scores of the model that were found before, are no confidences.
    package func mayBeConfidences(_ values: some Sequence<Double>) -> Bool {
        let (least, greatest) = (Double(-Self.slack), Double(1 + Self.slack))
        return !isTold.load(ordering: .relaxed) && !values.contains { $0.isFinite && !(least...greatest).contains($0) }
    }

    /// Looks at all scores of an output.
    /// - Returns: the warning, once; nil if they may be confidences, or it was returned before.
    func finding(in scores: UnsafeBufferPointer<Float>, output: String) -> String? {
        var least = Float.infinity, greatest = -Float.infinity
        // Neither NaN nor an overflow tells what the others are.
        for score in scores where score.isFinite { (least, greatest) = (min(least, score), max(greatest, score)) }
        guard least < -Self.slack || greatest > 1 + Self.slack, !isTold.exchange(true, ordering: .relaxed) else {
            return nil
        }
        return "output \"\(output)\": scores of \(least) to \(greatest) are outside 0 to 1\(Self.advice)"
    }

    private static let advice =
        ", so they are not confidences: if the model returns logits, set \"activation\": \"softmax\" (one class is right) or \"sigmoid\" "
        + "(several may be) for the output in model.json"
}

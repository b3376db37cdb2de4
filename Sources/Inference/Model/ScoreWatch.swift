internal import Synchronization

/// Reports, once per load of a model, that scores are not confidences: they are outside 0 to 1, like logits.
package final class ScoreWatch: Sendable {
    /// A closure that a lock holds by itself would be wrapped once more at each look.
    private struct Receiver: Sendable {
        let tell: @Sendable (String) -> Void
    }

    private let receiver = Mutex<Receiver?>(nil)
    private let isTold = Atomic<Bool>(false)

    init() {}

    /// Sums of rounded probabilities may be a little above 1.
    private static let slack: Float = 0.001

    /// From now on `tell` is called with what is found, by the thread that finds it, at most once.
    package func listen(_ tell: @escaping @Sendable (String) -> Void) {
        receiver.withLock { $0 = Receiver(tell: tell) }
    }

    /// Looks at the best classes of a prediction.
    /// - Parameter asksForAll: whether no confidence was too low for them, so that there are none only where all are negative.
    func look(at best: [(index: Int, score: Float)], asksForAll: Bool, output: String) {
        guard !isTold.load(ordering: .relaxed) else { return }
        if let first = best.first {
            guard first.score > 1 + Self.slack else { return }
            tell("output \"\(output)\": a score of \(first.score) is outside 0 to 1\(Self.advice)")
        } else if asksForAll {
            tell("output \"\(output)\": no score is above 0\(Self.advice)")
        }
    }

    /// Looks at all scores of an output.
    /// - Returns: the warning, which is also reported; nil if they may be confidences.
    func finding(in scores: UnsafeBufferPointer<Float>, output: String) -> String? {
        guard let least = scores.min(), let greatest = scores.max(), least < -Self.slack || greatest > 1 + Self.slack,
            !isTold.exchange(true, ordering: .relaxed)
        else { return nil }
        return "output \"\(output)\": scores of \(least) to \(greatest) are outside 0 to 1\(Self.advice)"
    }

    private func tell(_ text: String) {
        guard !isTold.exchange(true, ordering: .relaxed) else { return }
        receiver.withLock { $0 }?.tell(text)
    }

    private static let advice =
        ", so they are not confidences: if the model returns logits, set \"activation\": \"softmax\" (one class is right) or \"sigmoid\" "
        + "(several may be) for the output in model.json"
}

extension Model {
    /// Looks at the scores that a first run has given; what there is to say of them is advice of the load.
    func lookAtScores(of outputs: any EngineOutputs) throws(EngineError) {
        for output in plan.outputs where output.description.labels != nil {
            guard case .array = output.kind else { continue }
            let reader = ScoreReader(
                elementType: output.description.elementType, linear: output.linear, activation: output.activation)
            let finding = try outputs.withOutput(output.index) { _, raw in
                reader.withScores(raw) { scoreWatch.finding(in: $0, output: output.description.name) }
            }
            if let finding { load.withLock { $0.advice.append(finding) } }
        }
    }
}

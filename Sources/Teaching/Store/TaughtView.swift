internal import Synchronization

/// A taught model at one moment: the state for answers, and the served head.
package struct TaughtView: Sendable {
    /// A number that is unique to this view in this process. Answers of one view are not valid for another, even if
    /// both serve the same version.
    package let generation = TaughtView.generations.add(1, ordering: .relaxed).newValue
    private static let generations = Atomic<UInt64>(0)
    package let state: TaughtState
    /// The head that answers; nil without examples. Its threshold, its left-out scores and the patches that it compares
    /// are those of its own evaluation; until that ends, those of the newest version with the same method. Distances
    /// with a single class, which are not centred, are not comparable with those of several classes.
    package let head: TaughtClassifier?

    init(state: TaughtState, head: TaughtClassifier?) {
        self.state = state
        var head = head
        head?.threshold = nil
        if head?.normal != nil {
            let known = state.versions.last { $0.number <= state.serving && $0.evaluation?.leftOut != nil }
            head?.normal?.leftOut = known?.evaluation?.leftOut
            if let known, let kept = known.evaluation?.kept {
                head?.normal?.patches?.keep(kept, of: known.number)
            }
            self.head = head
            return
        }
        if let method = head?.method, let classes = head?.labels.count {
            let known = state.versions.last { version in
                guard version.number <= state.serving, let evaluation = version.evaluation else { return false }
                return evaluation.method == method && (evaluation.threshold != nil || version.number == state.serving)
                    && (evaluation.classes.count > 1) == (classes > 1)
            }
            head?.threshold = known?.evaluation?.threshold
        }
        self.head = head
    }

    /// Learns the head of a kept version. Reads all examples.
    package func head(of version: Int) -> TaughtClassifier? {
        state.classifier(of: version)
    }

    /// The view in which a kept version is served; nil if the version is not kept.
    package func serving(_ version: Int, head: TaughtClassifier?) -> TaughtView? {
        guard state.version(version) != nil else { return nil }
        var state = state
        state.serving = version
        return TaughtView(state: state, head: head)
    }

    /// True until the served version has its evaluation.
    package var isEvaluating: Bool { state.served.map { $0.evaluation == nil } ?? false }

    /// The newest version up to the served one that has an evaluation.
    package var evaluated: TaughtVersion? { state.versions.last { $0.number <= state.serving && $0.evaluation != nil } }

    /// The classes of the served version with their numbers of examples, sorted.
    package var classes: [(label: String, examples: Int)] {
        if let head, state.serving == state.versions.last?.number {
            return head.labels.map { ($0, state.counts[$0] ?? 0) }
        }
        var counts: [String: Int] = [:]
        for example in state.examples {
            if let label = example.label(in: state.serving) { counts[label, default: 0] += 1 }
        }
        return counts.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { ($0.key, $0.value) }
    }
}

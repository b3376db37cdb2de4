internal import Synchronization

/// A taught model at one moment: what answers show, and what serves.
package struct TaughtView: Sendable {
    /// No other view of this process has the same number: answers by one are not those by another, even if the same
    /// version serves in both.
    package let generation = TaughtView.generations.add(1, ordering: .relaxed).newValue
    private static let generations = Atomic<UInt64>(0)
    package let state: TaughtState
    /// The head that answers; nil without examples. Its threshold is that of its own evaluation, and before that one
    /// ends that of the newest of the same method. Distances with one class, from which no centre is taken, say nothing
    /// of those with several.
    package let head: TaughtHead?

    init(state: TaughtState, head: TaughtHead?) {
        self.state = state
        var head = head
        head?.threshold = nil
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

    /// Learns the head of a version that is kept, as it is now. Reads all examples.
    package func head(of version: Int) -> TaughtHead? {
        guard let kept = state.version(version), let set = state.exampleSet(of: version) else { return nil }
        return TaughtHead(kept.method, set)
    }

    /// The model as if a version served; nil if that is not kept.
    package func serving(_ version: Int, head: TaughtHead?) -> TaughtView? {
        guard state.version(version) != nil else { return nil }
        var state = state
        state.serving = version
        return TaughtView(state: state, head: head)
    }

    /// True until the version that serves has its evaluation.
    package var isEvaluating: Bool { state.served.map { $0.evaluation == nil } ?? false }

    /// The version that serves, or the newest before it, that has an evaluation.
    package var evaluated: TaughtVersion? { state.versions.last { $0.number <= state.serving && $0.evaluation != nil } }

    /// The classes of the version that serves, with their numbers of examples, sorted.
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

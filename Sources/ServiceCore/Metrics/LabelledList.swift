internal import Synchronization

/// Metrics by the value of one label, found or added by any thread without a lock.
///
/// A linked list that only grows, after the predefined labels. Labels come from small bounded sets (routes, models,
/// reasons), so that walking the list is faster than any table. Beyond `maximum` entries every new label counts as
/// `other`, as a safeguard against errors elsewhere.
///
/// A walk writes nothing, not even reference counts, which would make all processors share a cache line: nodes are
/// neither removed nor freed before the list is.
package final class LabelledList<Metric: Sendable>: Sendable {
    private final class Node: Sendable {
        let label: String
        let metric: Metric
        /// Set once, to a node that this one retains.
        private let following = Atomic<Unmanaged<Node>?>(nil)

        init(_ label: String, _ metric: Metric) {
            self.label = label
            self.metric = metric
        }

        deinit {
            following.load(ordering: .acquiring)?.release()
        }

        var next: Unmanaged<Node>? { following.load(ordering: .acquiring) }

        /// Appends a node after this one, unless it has a next node. Returns the next node.
        func append(_ node: Node) -> Unmanaged<Node> {
            let new = Unmanaged.passRetained(node)
            let (isNew, other) = following.compareExchange(
                expected: nil, desired: new, ordering: .acquiringAndReleasing)
            guard !isNew, let other else { return new }
            new.release()
            return other
        }
    }

    /// The predefined labels, then `other`, then the rest.
    private let first: Node
    private let other: Node
    private let known: Int
    private let maximum: Int
    private let make: @Sendable () -> Metric

    /// A list that makes its metrics with `make`.
    /// - Parameter labels: the predefined labels.
    package init(_ labels: [String] = [], maximum: Int = 512, make: @escaping @Sendable () -> Metric) {
        self.maximum = maximum
        self.make = make
        known = labels.count
        let nodes = labels.map { Node($0, make()) } + [Node("other", make())]
        for (node, next) in zip(nodes, nodes.dropFirst()) { _ = node.append(next) }
        (first, other) = (nodes[0], nodes[known])
    }

    /// The metric of a label.
    package subscript(label: String) -> Metric { with(label) { $0 } }

    /// Calls `body` with the metric of a label. `body` must not keep it: the reference is not counted.
    package func with<Result>(_ label: String, _ body: (Metric) -> Result) -> Result {
        var node = Unmanaged.passUnretained(first)
        var length = -known
        while true {
            if node._withUnsafeGuaranteedRef({ $0.label == label }) {
                return node._withUnsafeGuaranteedRef { body($0.metric) }
            }
            length += 1
            if let next = node._withUnsafeGuaranteedRef({ $0.next }) {
                node = next
            } else if length > maximum {
                return body(other.metric)
            } else {
                // Another thread may have appended a node first; then that node is examined next.
                node = node._withUnsafeGuaranteedRef { $0.append(Node(label, make())) }
            }
        }
    }

    /// All labels with their metrics, sorted by label; `other` only if it is used.
    package func all(where isUsed: (Metric) -> Bool = { _ in false }) -> [(label: String, metric: Metric)] {
        var entries: [(label: String, metric: Metric)] = []
        var node: Node? = first
        while let current = node {
            if current !== other || isUsed(current.metric) { entries.append((current.label, current.metric)) }
            node = current.next?.takeUnretainedValue()
        }
        return entries.sorted { $0.label < $1.label }
    }
}

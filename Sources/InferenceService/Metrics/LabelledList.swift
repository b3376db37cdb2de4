internal import Synchronization

/// Metrics by the value of one label: found or added by any thread without a lock.
///
/// A chain that only grows, behind those that are there from the start. Labels come from sets that are small and
/// bounded (routes, models, reasons), so that walking them is quicker than any table; past `most` entries everything
/// new counts as `other`, whatever goes wrong elsewhere.
package final class LabelledList<Metric: Sendable>: Sendable {
    private final class Node: Sendable {
        let label: String
        let metric: Metric
        let next = AtomicLazyReference<Node>()

        init(_ label: String, _ metric: Metric) {
            self.label = label
            self.metric = metric
        }
    }

    /// Found without the chain's atomics, each of which takes longer than comparing some labels.
    private let known: [(label: String, metric: Metric)]
    private let first: Node
    private let most: Int
    private let make: @Sendable () -> Metric

    /// A chain that makes its metrics with `make`.
    /// - Parameter labels: those that are there from the start.
    package init(_ labels: [String] = [], most: Int = 512, make: @escaping @Sendable () -> Metric) {
        self.most = most
        self.make = make
        first = Node("other", make())
        known = labels.map { ($0, make()) }
    }

    /// The metric of a label.
    package subscript(label: String) -> Metric {
        for entry in known where entry.label == label { return entry.metric }
        var node = first
        var length = 0
        while true {
            if node.label == label { return node.metric }
            length += 1
            if let next = node.next.load() {
                node = next
            } else if length > most {
                return first.metric
            } else {
                // Another thread may have been quicker: then its node is the one that is looked at next.
                node = node.next.storeIfNil(Node(label, make()))
            }
        }
    }

    /// All labels with their metrics, by label; `other` only where something was counted as it.
    package func all(where isUsed: (Metric) -> Bool = { _ in false }) -> [(label: String, metric: Metric)] {
        var entries = known
        var node: Node? = isUsed(first.metric) ? first : first.next.load()
        while let current = node {
            entries.append((current.label, current.metric))
            node = current.next.load()
        }
        return entries.sorted { $0.label < $1.label }
    }
}

/// A search for the examples of the served version that are nearest to a picture.
///
/// The similarity is the cosine of the embeddings, computed in 64 bits: 0 for one without a direction. The nearest come
/// first, and of equally near ones those that were taught first. A first pass over 16-bit numbers finds the examples
/// that can be among the nearest; those are compared again, so the result is exact. It reads the state, needs no index,
/// and its parts can be searched by several threads.
package struct ExampleSearch: Sendable {
    /// An example, as found.
    package struct Found: Sendable {
        package let id: ExampleID
        package let label: String
        package let name: String?
        /// The cosine, from -1 to 1.
        package let similarity: Double
        /// The version and the time that taught it.
        fileprivate let since: Int
        fileprivate let added: Int

        /// True if this one comes before another.
        fileprivate func isBefore(_ other: Found) -> Bool {
            if similarity != other.similarity { return similarity > other.similarity }
            if since != other.since { return since < other.since }
            if added != other.added { return added < other.added }
            return id < other.id
        }
    }

    private let state: TaughtState
    /// The embedding, and the square of its length.
    private let numbers: [Double]
    private let square: Double
    private let query: HalfVectors.Query
    private let top: Int
    private let label: String?

    /// Prepares a search; fails if the embedding has another dimension or elements that are not finite.
    /// - Parameters:
    ///   - top: the greatest number of examples, at least 1.
    ///   - label: the class of the examples; nil for all.
    package init?(_ embedding: [Float], in state: TaughtState, top: Int, label: String? = nil) {
        guard embedding.count == state.dimension, embedding.allSatisfy(\.isFinite), top > 0 else { return nil }
        self.state = state
        numbers = embedding.map { Double($0) }
        square = embedding.withUnsafeBufferPointer { Vectors.square($0) }
        query = HalfVectors.Query(embedding)
        self.top = min(top, max(1, state.examples.count))
        self.label = label
    }

    /// The number of elements to read in the first pass.
    package var work: Int { state.examples.count * state.dimension }

    /// The examples that are nearest of all, in order; nil if cancelled. Takes long.
    package func nearest(isCancelled: () -> Bool = { false }) -> [Found]? {
        nearest(inShare: 0, of: 1, isCancelled: isCancelled)
    }

    /// The nearest examples of a share of all, in order; nil if cancelled. Takes long.
    /// - Parameters:
    ///   - share: the number of the share, from 0.
    ///   - shares: the number of shares, which together have all examples.
    package func nearest(inShare share: Int, of shares: Int, isCancelled: () -> Bool) -> [Found]? {
        var candidates = NearestCandidates(top: top)
        for part in stride(from: share, to: ExampleList.partCount, by: max(1, shares)) {
            let examples = state.examples.part(part)
            if examples.isEmpty { continue }
            let half = state.examples.half(of: part, dimension: state.dimension)
            for row in 0..<min(examples.count, half.count) {
                if row % Self.checked == 0, isCancelled() { return nil }
                guard isWanted(examples, row) else { continue }
                let (value, error) = half.cosine(row, query)
                candidates.add(part, row, value, error)
            }
        }
        var found: [Found] = []
        for (index, place) in candidates.places.enumerated() {
            if index % Self.checked == 0, isCancelled() { return nil }
            found.append(exact(state.examples.part(place.part)[place.row]))
        }
        return Self.merged([found], top: top)
    }

    /// The nearest of several shares' examples, in order.
    package static func merged(_ shares: [[Found]], top: Int) -> [Found] {
        Array(shares.joined().sorted { $0.isBefore($1) }.prefix(top))
    }

    /// The number of rows between two checks for cancellation.
    private static let checked = 256

    /// True if an example is in the version that serves, with the label.
    @inline(__always)
    private func isWanted(_ examples: [Example], _ row: Int) -> Bool {
        guard let label else { return examples[row].since <= state.serving }
        return examples[row].label(in: state.serving) == label
    }

    private func exact(_ example: Example) -> Found {
        let cosine = numbers.withUnsafeBufferPointer { numbers in
            example.embedding.withUnsafeBufferPointer {
                Vectors.cosine(numbers, square: square, $0, square: Vectors.square($0))
            }
        }
        return Found(
            id: example.id, label: example.label(in: state.serving) ?? example.label, name: example.name,
            similarity: cosine, since: example.since, added: example.added)
    }
}

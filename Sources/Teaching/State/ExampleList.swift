internal import SystemSupport

/// The examples, sorted by digest and divided into 256 parts by the digest's first byte: a version with one more
/// example copies one part instead of a hundred thousand examples.
package struct ExampleList: Sequence, Sendable, Equatable {
    private var parts = [[Example]](repeating: [], count: partCount)
    /// The rounded directions of each part, made by the first search after a change of the part. Lists with an equal
    /// part share them.
    private var halves = (0..<partCount).map { _ in Guarded<HalfVectors?>(nil) }
    /// The number of examples of each class.
    package private(set) var counts: [String: Int] = [:]

    /// The number of parts.
    static let partCount = 256

    package static func == (one: ExampleList, other: ExampleList) -> Bool { one.parts == other.parts }

    /// The examples of a part, sorted by digest.
    func part(_ number: Int) -> [Example] { parts[number] }

    /// The rounded directions of a part's examples, in their order. May take long; thread-safe.
    func half(of number: Int, dimension: Int) -> HalfVectors {
        let examples = parts[number]
        return halves[number].withLock { half in
            if let half { return half }
            let made = HalfVectors(examples.map(\.embedding), dimension: dimension)
            half = made
            return made
        }
    }

    init(_ examples: [Example] = []) {
        for example in examples { self[example.id] = example }
    }

    package var count: Int { counts.values.reduce(0, +) }
    package var isEmpty: Bool { counts.isEmpty }
    var last: Example? { parts.last { !$0.isEmpty }?.last }

    package func makeIterator() -> FlattenSequence<[[Example]]>.Iterator { parts.joined().makeIterator() }

    /// Some examples in order.
    package struct Page: Sendable {
        package let examples: [Example]
        /// The last of them, if more follow: the next page begins after it. Nil at the end.
        package let next: ExampleID?
    }

    /// The examples after a digest, which need not exist any more.
    /// - Parameters:
    ///   - after: nil for the first page.
    ///   - limit: the maximum number of examples, at least 1.
    ///   - label: the class of the examples; nil for all.
    package func page(after: ExampleID?, limit: Int, label: String? = nil) -> Page {
        let first = after?.first ?? 0
        var found: [Example] = []
        for part in parts[first...] {
            let start = after.map { after in part.place { $0.id <= after } } ?? 0
            for example in part[start...] where label == nil || example.label == label {
                if found.count >= limit { return Page(examples: found, next: found.last?.id) }
                found.append(example)
            }
        }
        return Page(examples: found, next: nil)
    }

    /// Gives an example another name; does nothing for one that is not there.
    mutating func rename(_ id: ExampleID, _ name: String) {
        guard var example = self[id], example.name != name else { return }
        example.name = name
        self[id] = example
    }

    /// The example with a digest.
    subscript(id: ExampleID) -> Example? {
        get {
            let place = parts[id.first].place { $0.id < id }
            guard place < parts[id.first].count, parts[id.first][place].id == id else { return nil }
            return parts[id.first][place]
        }
        set {
            let before = self[id], place = parts[id.first].place { $0.id < id }
            if before?.embedding != newValue?.embedding { halves[id.first] = Guarded(nil) }
            let replaced = place..<(before == nil ? place : place + 1)
            parts[id.first].replaceSubrange(replaced, with: newValue.map { [$0] } ?? [])
            if let before {
                counts[before.label, default: 0] -= 1
                if counts[before.label] == 0 { counts[before.label] = nil }
            }
            if let newValue { counts[newValue.label, default: 0] += 1 }
        }
    }
}

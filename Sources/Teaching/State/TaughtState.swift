/// The model whose embeddings are taught.
package struct Embedder: Sendable, Equatable {
    package let model: String
    package let version: String
    /// The digest of its files.
    package let digest: String

    package init(model: String, version: String, digest: String) {
        self.model = model
        self.version = version
        self.digest = digest
    }
}

/// A picture that was taught: its embedding and its digest.
package struct Example: Sendable, Equatable {
    /// A class that it had before.
    package struct Earlier: Sendable, Equatable {
        /// The last version with this class.
        package let until: Int
        package let label: String
    }

    package let id: ExampleID
    package internal(set) var label: String
    package let embedding: [Float]
    /// The first version that has it.
    package internal(set) var since: Int
    /// The time when it was taught: seconds since 1970.
    package let added: Int
    /// In the order of the versions.
    package internal(set) var earlier: [Earlier] = []

    /// The class in a version; nil before it was taught.
    func label(in version: Int) -> String? {
        guard version >= since else { return nil }
        return earlier.first { version <= $0.until }?.label ?? label
    }
}

/// A version: examples as they were, and a method. It never changes, but for its evaluation.
package struct TaughtVersion: Sendable, Equatable {
    package let number: Int
    package let method: TeachingMethod
    /// The number of its examples.
    package let examples: Int
    package internal(set) var evaluation: Evaluation?
}

/// All that is known of a taught model.
package struct TaughtState: Sendable, Equatable {
    package internal(set) var embedder: Embedder
    /// Numbers of an embedding.
    package internal(set) var dimension: Int
    package let choice: MethodChoice
    /// Sorted by their digests.
    package internal(set) var examples = ExampleList()
    /// Those that are kept, in their order.
    package internal(set) var versions: [TaughtVersion] = []
    /// The number of the version that serves; 0 where there is none.
    package internal(set) var serving = 0
    /// The number that the next version gets: none is used twice.
    package internal(set) var next = 1

    package init(embedder: Embedder, dimension: Int, choice: MethodChoice) {
        self.embedder = embedder
        self.dimension = dimension
        self.choice = choice
    }

    /// The version that serves.
    package var served: TaughtVersion? { version(serving) }

    package func version(_ number: Int) -> TaughtVersion? { versions.last { $0.number == number } }

    package func example(_ id: ExampleID) -> Example? { examples[id] }

    /// The number of examples of each class that is taught now.
    package var counts: [String: Int] { examples.counts }

    /// The examples of a version, sorted by class and then by digest; nil if it has none.
    package func exampleSet(of version: Int) -> ExampleSet? {
        var rows: [String: [[Float]]] = [:]
        for example in examples {
            if let label = example.label(in: version) { rows[label, default: []].append(example.embedding) }
        }
        let sorted = rows.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return ExampleSet(
            dimension: dimension, labels: sorted.map(\.key), rows: sorted.flatMap(\.value),
            classes: sorted.enumerated().flatMap { [Int](repeating: $0.offset, count: $0.element.value.count) })
    }

    /// The method of the next version: the one that was chosen last.
    package var method: TeachingMethod {
        guard choice == .auto else { return choice.first }
        return versions.last?.method ?? choice.first
    }
}

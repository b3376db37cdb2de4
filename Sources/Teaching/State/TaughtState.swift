/// The model that computes the embeddings.
package struct Embedder: Sendable, Equatable {
    package let model: String
    package let version: String
    /// The digest of the model's files.
    package let digest: String

    package init(model: String, version: String, digest: String) {
        self.model = model
        self.version = version
        self.digest = digest
    }
}

/// A taught picture: its embedding and its digest.
package struct Example: Sendable, Equatable {
    /// A class that the picture had before.
    package struct EarlierClass: Sendable, Equatable {
        /// The last version with this class.
        package let until: Int
        package let label: String
    }

    package let id: ExampleID
    package internal(set) var label: String
    package let embedding: [Float]
    /// The vectors of the picture's patches; nil for a model that does not compare them.
    package internal(set) var patches: PatchVectors?
    /// The first version that has the example.
    package internal(set) var since: Int
    /// The time when it was taught: seconds since 1970.
    package let added: Int
    /// The earlier classes, in the order of the versions.
    package internal(set) var earlier: [EarlierClass] = []
    /// The caller's own name for the picture; nil for none.
    package internal(set) var name: String?

    /// The class in a version; nil if the version is older than the example.
    func label(in version: Int) -> String? {
        guard version >= since else { return nil }
        return earlier.first { version <= $0.until }?.label ?? label
    }
}

/// A version: the examples at that time, and a method. Only its evaluation can change.
package struct TaughtVersion: Sendable, Equatable {
    package let number: Int
    package let method: TeachingMethod
    /// The number of examples.
    package let examples: Int
    package internal(set) var evaluation: Evaluation?
}

/// The complete state of a taught model.
package struct TaughtState: Sendable, Equatable {
    package internal(set) var embedder: Embedder
    /// The number of elements of an embedding.
    package internal(set) var dimension: Int
    /// The patches of each example; nil if whole pictures are compared.
    package internal(set) var grid: PatchGrid?
    package let choice: MethodChoice
    /// The examples, sorted by digest.
    package internal(set) var examples = ExampleList()
    /// The kept versions, in order.
    package internal(set) var versions: [TaughtVersion] = []
    /// The number of the served version; 0 without one.
    package internal(set) var serving = 0
    /// The number of the next version; numbers are never reused.
    package internal(set) var next = 1

    package init(embedder: Embedder, dimension: Int, choice: MethodChoice, grid: PatchGrid? = nil) {
        self.embedder = embedder
        self.dimension = dimension
        self.choice = choice
        self.grid = grid
    }

    /// True if an example has the vectors that the model compares.
    func fits(_ embedding: [Float], _ patches: PatchVectors?) -> Bool {
        embedding.count == dimension && patches?.count == grid?.count && patches?.width == grid?.width
    }

    /// The served version.
    package var served: TaughtVersion? { version(serving) }

    package func version(_ number: Int) -> TaughtVersion? { versions.last { $0.number == number } }

    package func example(_ id: ExampleID) -> Example? { examples[id] }

    /// The number of examples of each current class.
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

/// A change of a taught model that makes a new version, as recorded in the journal.
package struct TaughtChange: Sendable, Equatable {
    /// A picture that is taught, or one that moves to another class or gets another name (then without an embedding).
    package struct Item: Sendable, Equatable {
        package let id: ExampleID
        package let label: String
        package let embedding: [Float]?
        /// The vectors of the picture's patches, for a model that compares them.
        package let patches: PatchVectors?
        /// The caller's own name for the picture; nil keeps the one that it has.
        package let name: String?

        package init(
            id: ExampleID, label: String, embedding: [Float]?, patches: PatchVectors? = nil, name: String? = nil
        ) {
            self.id = id
            self.label = label
            self.embedding = embedding
            self.patches = patches
            self.name = name
        }
    }

    package let items: [Item]
    package let method: TeachingMethod
    /// Seconds since 1970.
    package let time: Int
    /// The evaluation of the new version, if it is already known.
    package var evaluation: Evaluation?

    package init(items: [Item], method: TeachingMethod, time: Int, evaluation: Evaluation? = nil) {
        self.items = items
        self.method = method
        self.time = time
        self.evaluation = evaluation
    }
}

extension TaughtState {
    /// Creates a new version with the change, and serves it.
    mutating func apply(_ change: TaughtChange, keeping: Int) {
        let number = next
        for item in change.items {
            if let name = item.name { examples.rename(item.id, name) }
            if var example = examples[item.id] {
                guard example.label != item.label else { continue }
                // Drop the entries that only dropped versions need: a picture may move any number of times.
                let oldest = versions.first?.number ?? number
                example.earlier.removeAll { $0.until < oldest }
                example.earlier.append(Example.EarlierClass(until: number - 1, label: example.label))
                example.label = item.label
                examples[item.id] = example
            } else if let embedding = item.embedding {
                examples[item.id] = Example(
                    id: item.id, label: item.label, embedding: embedding, patches: item.patches, since: number,
                    added: change.time, name: item.name)
            }
        }
        addVersion(change.method, change.evaluation, keeping: keeping)
    }

    /// Forgets examples, and all versions that contain one of them or a class of that name. Creates a new version
    /// without them.
    mutating func forget(_ ids: Set<ExampleID>, label: String?, keeping: Int) {
        let method = method
        var dropped = versions.map { _ in false }
        for example in examples {
            for (index, version) in versions.enumerated() where !dropped[index] {
                guard let then = example.label(in: version.number) else { continue }
                dropped[index] = ids.contains(example.id) || then == label
            }
        }
        versions = zip(versions, dropped).filter { !$0.1 }.map(\.0)
        for id in ids { examples[id] = nil }
        for var example in examples where example.earlier.contains(where: { $0.label == label }) {
            example.earlier.removeAll { $0.label == label }
            examples[example.id] = example
        }
        guard !examples.isEmpty else {
            // No version is left to serve, and no remaining version determines a method.
            (versions, serving, next) = ([], 0, next + 1)
            return
        }
        addVersion(method, nil, keeping: keeping)
    }

    /// Replaces the embeddings of all examples by those of a new embedder, and drops all older versions.
    mutating func rebuild(
        _ embedder: Embedder, dimension: Int, grid: PatchGrid?, embeddings: [ExampleID: [Float]],
        patches: [ExampleID: PatchVectors]
    ) {
        let method = method
        self.embedder = embedder
        self.dimension = dimension
        self.grid = grid
        let since = next
        let rebuilt = examples.compactMap { example in
            embeddings[example.id].map {
                Example(
                    id: example.id, label: example.label, embedding: $0, patches: patches[example.id], since: since,
                    added: example.added, name: example.name)
            }
        }
        examples = ExampleList(rebuilt)
        (versions, serving) = ([], 0)
        if !examples.isEmpty { addVersion(method, nil, keeping: 1) } else { next += 1 }
    }

    private mutating func addVersion(_ method: TeachingMethod, _ evaluation: Evaluation?, keeping: Int) {
        versions.append(
            TaughtVersion(number: next, method: method, examples: examples.count, evaluation: evaluation))
        serving = next
        next += 1
        keepVersions(keeping)
    }

    /// Drops the oldest versions above a maximum of at least one, except the served version.
    mutating func keepVersions(_ maximum: Int) {
        let extra = versions.count - max(1, maximum)
        guard extra > 0 else { return }
        versions.replaceSubrange(..<extra, with: versions[..<extra].filter { $0.number == serving })
    }

    /// Drops the earlier classes of examples that only dropped versions need.
    mutating func dropUnusedClasses() {
        let oldest = versions.first?.number ?? next
        for var example in examples where example.earlier.contains(where: { $0.until < oldest }) {
            example.earlier.removeAll { $0.until < oldest }
            examples[example.id] = example
        }
    }
}

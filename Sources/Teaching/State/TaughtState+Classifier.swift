extension TaughtState {
    /// Throws `invalid` for a label that an example cannot have.
    package func check(label: String) throws(TeachingError) {
        try TaughtNames.check(label: label)
        guard choice.falseAlarms == nil || label == TaughtClassifier.normalLabel else {
            throw .invalid(
                "a taught model with the method normal learns what is normal: expected the label "
                    + "\"\(TaughtClassifier.normalLabel)\", found \"\(label.prefix(256))\"")
        }
    }

    /// Learns the head of a kept version, without a threshold; nil if it is not kept or has no examples. Reads all
    /// examples.
    func classifier(of version: Int) -> TaughtClassifier? {
        guard let kept = self.version(version) else { return nil }
        if let falseAlarms = choice.falseAlarms, let grid {
            return patches(of: version, grid).map {
                TaughtClassifier(NormalExamples($0, dimension: dimension, falseAlarms: falseAlarms))
            }
        }
        if let falseAlarms = choice.falseAlarms {
            return normalExamples(of: version, falseAlarms).map { TaughtClassifier($0) }
        }
        return exampleSet(of: version).flatMap { TaughtClassifier(kept.method, $0) }
    }

    /// The patches of a version's examples, which are all compared.
    private func patches(of version: Int, _ grid: PatchGrid) -> NormalPatches? {
        NormalPatches(
            examples.compactMap { example in
                guard example.since <= version else { return nil }
                return example.patches.map { NormalPatches.Group(vectors: $0, since: example.since) }
            }, grid: grid)
    }

    /// The normal examples of a version. Parts of the list that the version has completely share their numbers with it.
    private func normalExamples(of version: Int, _ falseAlarms: Double) -> NormalExamples? {
        let parts = (0..<ExampleList.partCount).map { number in
            let all = examples.part(number), own = all.filter { $0.since <= version }
            let rows = own.map(\.embedding)
            return NormalExamples.Part(
                rows: rows,
                half: own.count == all.count
                    ? examples.half(of: number, dimension: dimension) : HalfVectors(rows, dimension: dimension))
        }
        return NormalExamples(parts, dimension: dimension, falseAlarms: falseAlarms)
    }
}

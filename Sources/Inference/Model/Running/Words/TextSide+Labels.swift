internal import Observations

extension TextSide {
    /// The vectors of labels, concatenated.
    struct LabelVectors: Sendable {
        var vectors: [Float] = []
        /// For each label true if a prompt with it was cut.
        var areTruncated: [Bool] = []
        var times = StageTimes()
    }

    /// The number of texts that are embedded together: it bounds the memory of many labels in many prompts.
    private static let portion = 256

    /// Embeds labels; the vectors of several prompts are averaged.
    func vectors(
        of labels: [String], _ prompts: [Prompt], options: PredictionOptions
    ) async throws(InferenceError) -> LabelVectors {
        var made = LabelVectors()
        let count = max(1, prompts.count), step = max(1, Self.portion / count)
        for start in stride(from: 0, to: labels.count, by: step) {
            guard !Task.isCancelled else { throw .cancelled(stage: .inference) }
            let some = labels[start..<min(start + step, labels.count)]
            let texts = some.flatMap { label in prompts.map { $0.text(for: label) } }
            let found = try await embeddings(of: texts, options: options)
            made.times.add(found.times)
            made.times.queue &+= found.times.queue
            for first in stride(from: 0, to: found.embeddings.count, by: count) {
                let own = found.embeddings[first..<min(first + count, found.embeddings.count)]
                made.vectors += EmbeddingClasses.mean(own.map(\.vector))
                made.areTruncated.append(own.contains(where: \.isTruncated))
            }
        }
        return made
    }
}

internal import Inference
internal import JSON
internal import Settings
internal import SystemSupport
internal import Teaching

extension FolderTeaching {
    /// Learns from a folder of normal pictures, and writes a bundle that finds anomalies.
    /// - Parameter falseAlarms: the share of normal pictures that may be called anomalies.
    func learnNormal(
        _ falseAlarms: Double, to target: OutputFolder
    ) async throws -> (text: String, bundle: String, failed: Int) {
        let folders = try ClassFolders(normal: request.pictures)
        let observer = try await embedder()
        let examples = try await EmbeddedPictures(of: folders, by: observer, maximum: settings.maxBody, progress)
        for one in examples.failures { complain(PrintableText.text("\(one.file): \(one.reason)")) }
        guard !examples.used.isEmpty else {
            throw CommandError("none of the pictures in \(request.pictures) can be used")
        }
        let set = try examples.set(of: folders)
        progress("comparing \(set.rows.count) examples...")
        var upkeep = LeftOutUpkeep()
        guard let scores = upkeep.update(to: examples.used.map { (id: $0.id, embedding: $0.embedding) }),
            var normal = NormalExamples(set.rows, dimension: set.dimension, falseAlarms: falseAlarms)
        else { throw CommandError("nothing was learned from \(request.pictures)") }
        let leftOut = LeftOutScores(scores, falseAlarms: falseAlarms)
        normal.leftOut = leftOut
        let report = NormalReport(
            name: request.name, embedder: try await teacher(observer), dimension: set.dimension,
            evaluation: Evaluation(leftOut, examples: set.rows.count), leftOut: leftOut, bundle: target.path,
            failures: examples.failures)
        try await write(TaughtClassifier(normal), observer.model, examples, set, to: target)
        progress("")
        return (request.isJSON ? report.json : report.text, target.path, examples.failures.count)
    }
}

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
        var observer = try await embedder()
        let grid: PatchGrid?
        do throws(InferenceError) { grid = try observer.model.patchGrid() } catch { throw CommandError(error.message) }
        observer.request.readsPatches = grid != nil
        let examples = try await EmbeddedPictures(of: folders, by: observer, maximum: settings.maxBody, progress)
        for one in examples.failures { complain(PrintableText.text("\(one.file): \(one.reason)")) }
        guard !examples.used.isEmpty else {
            throw CommandError("none of the pictures in \(request.pictures) can be used")
        }
        let set = try examples.set(of: folders)
        progress("comparing \(set.rows.count) examples...")
        let learned =
            if let grid { patches(of: examples, grid, set.dimension, falseAlarms) } else {
                whole(examples, set, falseAlarms)
            }
        guard let normal = learned, let leftOut = normal.leftOut else {
            throw CommandError("nothing was learned from \(request.pictures)")
        }
        let report = NormalReport(
            name: request.name, embedder: try await teacher(observer), dimension: set.dimension,
            evaluation: Evaluation(leftOut, examples: set.rows.count), leftOut: leftOut, bundle: target.path,
            failures: examples.failures)
        try await write(TaughtClassifier(normal), observer.model, examples, set, to: target)
        progress("")
        return (request.isJSON ? report.json : report.text, target.path, examples.failures.count)
    }

    /// Compares whole pictures.
    private func whole(_ examples: EmbeddedPictures, _ set: ExampleSet, _ falseAlarms: Double) -> NormalExamples? {
        var upkeep = LeftOutUpkeep()
        let scores = upkeep.update(to: examples.used.map { (id: $0.id, embedding: $0.embedding) })
        var normal = NormalExamples(set.rows, dimension: set.dimension, falseAlarms: falseAlarms)
        normal?.leftOut = scores.map { LeftOutScores($0, falseAlarms: falseAlarms) }
        return normal
    }

    /// Compares the patches of pictures, and chooses some if there are many, as the daemon does.
    private func patches(
        of examples: EmbeddedPictures, _ grid: PatchGrid, _ dimension: Int, _ falseAlarms: Double
    ) -> NormalExamples? {
        let found = examples.used.compactMap { one in one.patches.map { (id: one.id, patches: $0) } }
        var upkeep = LeftOutPatches()
        guard let scores = upkeep.update(to: found) else { return nil }
        var thinning = PatchThinning(found, maximum: settings.taughtMaxPatches)
        if thinning.count > settings.taughtMaxPatches {
            progress("choosing \(settings.taughtMaxPatches) of \(thinning.count) patches...")
        }
        let selection = thinning.count > settings.taughtMaxPatches ? thinning.selection() : nil
        guard let patches = NormalPatches(found.map(\.patches), keeping: selection, grid: grid) else { return nil }
        var normal = NormalExamples(patches, dimension: dimension, falseAlarms: falseAlarms)
        normal.leftOut = LeftOutScores(scores, falseAlarms: falseAlarms)
        return normal
    }
}

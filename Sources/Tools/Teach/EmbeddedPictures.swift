internal import SystemSupport
internal import Teaching

/// The embeddings of the pictures of a folder's classes.
struct EmbeddedPictures: Sendable {
    /// A picture that is used for training.
    struct Used: Sendable {
        let place: BulkPicture
        /// The index of its class in the folder.
        let label: Int
        let id: ExampleID
        let embedding: [Float]
        /// The vectors of its patches, if they were asked for.
        let patches: PatchVectors?
        var file: String { place.name }
    }

    /// The used pictures by class, sorted by digest: the order of a taught model's examples, which gives the same
    /// numbers.
    let used: [Used]
    /// The failures, in the order of the folder.
    let failures: [TeachReport.Failure]

    /// Embeds the pictures. A picture that is twice in one class counts once; one that is in two classes is a failure.
    /// - Parameter maximum: the maximum number of bytes of a picture.
    init(
        of folders: ClassFolders, by observer: LocalObservation.Observer, maximum: Int, _ progress: (String) -> Void
    ) async throws {
        let outcomes = await PicturePool(question: .embedding(observer), maximum: maximum)
            .run(folders.pictures, progress: progress)
        var used: [Used] = [], failures: [TeachReport.Failure] = []
        var classes: [ExampleID: Set<Int>] = [:]
        for (picture, outcome) in zip(folders.pictures, outcomes) where outcome.failure.isEmpty {
            if let id = outcome.id { classes[id, default: []].insert(picture.label) }
        }
        var seen: Set<ExampleID> = []
        for (picture, outcome) in zip(folders.pictures, outcomes) {
            let file = picture.place.name
            guard outcome.failure.isEmpty, let id = outcome.id else {
                failures.append(TeachReport.Failure(file: file, reason: outcome.failure, code: outcome.code))
                continue
            }
            let labels = (classes[id] ?? []).sorted().map { "\"\(folders.labels[$0])\"" }
            guard labels.count == 1 else {
                let reason = "is in the classes \(labels.joined(separator: " and ")): a picture has one class"
                failures.append(TeachReport.Failure(file: file, reason: reason, code: "conflict"))
                continue
            }
            guard seen.insert(id).inserted else { continue }
            used.append(
                Used(
                    place: picture.place, label: picture.label, id: id, embedding: outcome.embedding,
                    patches: outcome.patches))
        }
        self.used = used.sorted { ($0.label, $0.id) < ($1.label, $1.id) }
        self.failures = failures
    }

    /// The examples for training.
    /// - Throws: if a class has no picture, or the embeddings have different lengths.
    func set(of folders: ClassFolders) throws(CommandError) -> ExampleSet {
        let present = Set(used.map(\.label))
        let empty = folders.labels.indices.filter { !present.contains($0) }.map { "\"\(folders.labels[$0])\"" }
        guard empty.isEmpty else {
            throw CommandError(
                "no picture can be used of \(empty.count == 1 ? "the class" : "the classes") "
                    + empty.prefix(5).joined(separator: ", ") + (empty.count > 5 ? ", ..." : "")
                    + ": add pictures, or remove the folder")
        }
        guard let dimension = used.first?.embedding.count,
            let set = ExampleSet(
                dimension: dimension, labels: folders.labels, rows: used.map(\.embedding), classes: used.map(\.label))
        else { throw CommandError("the embeddings of the pictures do not have the same length") }
        return set
    }
}

internal import FoundationEssentials
internal import Glibc
internal import ImagePipeline
internal import Inference
internal import JSON
internal import Repository
internal import ServicePlanning
package import Settings
internal import SystemSupport
internal import Teaching

/// Teaches the classes of a folder of pictures, and writes a bundle: `ocelli teach NAME DIR`.
package struct FolderTeaching {
    /// The pictures, the embedder and the options of one run.
    package struct Request: Sendable {
        package var name = ""
        /// A folder with a subfolder for each class, or of normal pictures.
        package var pictures = ""
        /// The name of a model, or its path; nil for the first one that embeds.
        package var embedder: String?
        /// The folder to write; nil for NAME in the first folder of models, or in the current one.
        package var output: String?
        /// The method; nil for the one that the evaluation prefers.
        package var chosen: String?
        /// True if `pictures` is a folder of normal pictures, to find anomalies.
        package var isNormal = false
        /// The share of normal pictures that may be called anomalies; nil for the usual one.
        package var falseAlarms: Double?
        package var isJSON = false
        /// A file for the report as an HTML page.
        package var html: String?
        package var overwrites = false

        package init() {}

        /// The folder of the bundle: `output`, otherwise NAME in the settings' first folder of models, or in the
        /// current folder.
        func bundle(_ settings: Settings) -> String {
            if let output { return output }
            guard let folder = settings.models.first(where: { !ModelBundle.isModelFile($0) }) else { return name }
            return FilePath.withoutSlashesAtEnd(folder) + "/" + name
        }
    }

    /// The valid values of `chosen`.
    package static var methods: [String] { MethodChoice.classifierNames }
    /// The valid values of `falseAlarms`.
    package static var allowedFalseAlarms: ClosedRange<Double> { MethodChoice.allowedFalseAlarms }

    let request: Request
    let settings: Settings
    let complain: (String) -> Void
    let progress: (String) -> Void

    /// Runs all steps.
    /// - Returns: the report's text, the written folder, and the number of pictures that were not used.
    package static func run(
        _ request: Request, settings: Settings, complain: @escaping (String) -> Void,
        progress: @escaping (String) -> Void
    ) async throws -> (text: String, bundle: String, failed: Int) {
        let teaching = FolderTeaching(request: request, settings: settings, complain: complain, progress: progress)
        return try await teaching.run()
    }

    private func run() async throws -> (text: String, bundle: String, failed: Int) {
        do throws(TeachingError) { try TaughtNames.check(name: request.name) } catch {
            throw CommandError(error.message, isConfiguration: true)
        }
        let target = try OutputFolder(request.bundle(settings), overwrites: request.overwrites)
        try target.endCleanly()
        if request.isNormal {
            return try await learnNormal(request.falseAlarms ?? MethodChoice.usualFalseAlarms, to: target)
        }
        if let file = request.html { try OutputFile.checkReport(file, flag: "--html") }
        let folders = try ClassFolders(request.pictures)
        if folders.unclassifiedPictures > 0 {
            complain(
                "\(TeachReport.count(folders.unclassifiedPictures, "picture")) in \(request.pictures) itself left out: only those in its folders have a class"
            )
        }
        let observer = try await embedder()
        let examples = try await EmbeddedPictures(of: folders, by: observer, maximum: settings.maxBody, progress)
        for one in examples.failures { complain(PrintableText.text("\(one.file): \(one.reason)")) }
        let set = try examples.set(of: folders)
        progress("testing \(set.rows.count) examples...")
        guard let choice = MethodChoice(request.chosen ?? "auto"), let tested = Self.tested(set, choice),
            let evaluation = tested.evaluations[tested.preferred], var head = TaughtClassifier(tested.preferred, set)
        else { throw CommandError("nothing was learned from \(request.pictures)") }
        head.threshold = evaluation.threshold
        let report = try await report(evaluation, tested.answers, examples, set, observer, target.path)
        try await write(head, observer.model, examples, set, to: target)
        if let file = request.html { try OutputFile.write(Array(report.html.utf8), to: file) }
        progress("")
        return (request.isJSON ? report.json : report.text, target.path, examples.failures.count)
    }

    /// Loads the embedder. A name with a slash, or of a model file, is a path.
    func embedder() async throws -> LocalObservation.Observer {
        var wanted = LocalObservation.Request()
        wanted.tasks = ["embed"]
        guard let name = request.embedder, NamedModel.isPath(name) else {
            wanted.model = request.embedder
            return try await LocalObservation.observer(wanted, settings: settings, note: complain, progress: progress)
        }
        progress("loading the model...")
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        let model = try await ModelAtPath.load(
            ModelAtPath.resolved(name, note: complain), plan.modelConfiguration)
        guard model.tasks.contains(.embed) else {
            throw CommandError("\(name) gives no embeddings: \(model.abilities)")
        }
        return LocalObservation.Observer(
            name: ModelBundle.servedName(of: name), model: model, request: ObservationRequest(task: .embed),
            options: PredictionOptions())
    }

    private static func tested(_ set: ExampleSet, _ choice: MethodChoice) -> Evaluator.Comparison? {
        switch choice {
        case .auto: Evaluator.compare(set, current: choice.first)
        case .fixed(let method): Evaluator.test(method, set)
        // Normal pictures have no classes to test.
        case .normal: nil
        }
    }

    private func report(
        _ evaluation: Evaluation, _ answers: [Int?], _ examples: EmbeddedPictures, _ set: ExampleSet,
        _ observer: LocalObservation.Observer, _ bundle: String
    ) async throws -> TeachReport {
        let evaluated = zip(examples.used, zip(set.classes, answers)).compactMap { picture, pair in
            pair.1.map {
                TeachReport.EvaluatedPicture(file: picture.file, label: set.labels[pair.0], answer: set.labels[$0])
            }
        }
        let made = TeachReport.Taught(
            embedder: try await teacher(observer), dimension: set.dimension, evaluation: evaluation, bundle: bundle)
        return TeachReport(
            name: request.name, origin: .taught(made), labels: set.labels, evaluated: evaluated,
            failures: examples.failures,
            threshold: evaluation.threshold)
    }

    /// The embedder with the digest of its files.
    func teacher(_ observer: LocalObservation.Observer) async throws -> Embedder {
        let model = observer.model
        let digest = await LoaderThread.run { model.filesDigest }
        guard let digest else { throw CommandError("the files of model \"\(observer.name)\" cannot be read") }
        return Embedder(model: observer.name, version: model.description.version, digest: "sha256:" + digest)
    }

    /// Writes the bundle, and moves it to its destination if it answers like the trained head.
    func write(
        _ head: TaughtClassifier, _ embedder: Model, _ examples: EmbeddedPictures, _ set: ExampleSet,
        to target: OutputFolder
    ) async throws {
        progress("writing \(target.path)...")
        defer { target.discard() }
        let taught = head.normal == nil ? "\(set.labels.count) classes taught with" : "anomalies among"
        let details =
            "\(taught) \(set.rows.count) pictures, on embeddings of \(embedder.description.name)"
        let bundle = try TaughtBundle(
            name: request.name, details: details, head: head, embedder: embedder.path, work: target.work + "/source")
        try bundle.write(to: target.content)
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        var configuration = plan.modelConfiguration
        configuration.compile.cacheDirectory = nil
        let written = try await ModelAtPath.load(target.content, configuration)
        if let picture = examples.used.first, let expected = head.answer(to: picture) {
            let bytes = try picture.place.read(maximum: settings.maxBody)
            do throws(InferenceError) {
                let found = try await written.classification(of: EncodedImage(bytes), top: head.labels.count)
                let difference = found.classifications.map { abs($0.confidence - expected.confidences[$0.index]) }.max()
                let distance = abs((found.taught?.anomaly?.score ?? 0) - (expected.anomaly?.score ?? 0))
                guard let difference, difference < 1e-3, distance < 1e-3 else {
                    throw .unsupported(
                        model: request.name, reason: "does not give the same answers as the taught classes")
                }
            } catch {
                throw CommandError("\(target.path) is not written: \(error.message)")
            }
        }
        try target.keep()
    }
}

extension TaughtClassifier {
    /// The answer to a picture that was taught: one that compares patches has no distance from itself, unless it was
    /// thinned.
    fileprivate func answer(to picture: EmbeddedPictures.Used) -> TaughtAnswer? {
        guard let patches = normal?.patches else { return answer(picture.embedding) }
        guard let vectors = picture.patches, let query = PatchQuery(vectors, among: patches),
            let nearest = query.nearest(inShare: 0, of: 1, isCancelled: { false })
        else { return nil }
        return answer(patchDistances: PatchQuery.distances([nearest]))
    }
}

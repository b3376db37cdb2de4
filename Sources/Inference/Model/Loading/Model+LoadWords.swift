internal import FlowControl
internal import Observations
internal import SystemSupport

extension Model {
    /// Loads the networks of a model that embeds texts one after another, embeds a text, and compares the goldens of
    /// the bundle.
    static func load(
        _ bundle: ModelBundle, _ description: WordsDescription, _ plan: LoadPlan
    ) async throws(InferenceError) -> Model {
        let source = try await LoaderThread.run {
            Result { () throws(InferenceError) in try TextSource(bundle, description) }
        }.get()
        let cuts = try await LoaderThread.run {
            Result { () throws(InferenceError) in try WordsCuts(bundle, description) }
        }.get()
        var pictures: Model?
        if description.takesPictures {
            pictures = try await load(
                LoadPlan(plan, part: .words(.pictures), cut: cuts?.files[.pictures], isChecked: false))
        }
        if let pictures, pictures.observations.isEmpty {
            let reason = pictures.provenance?.explanation ?? "its output is no vector"
            throw problem(bundle, description[.pictures], "cannot embed pictures: \(reason)")
        }
        let texts = try await load(
            LoadPlan(plan, part: .words(.texts), cut: cuts?.files[.texts], isChecked: pictures != nil))
        let side = try textSide(bundle, description, source, texts)
        let dimension = try await warmUp(side, bundle, description)
        if let own = pictures?.embeddingDimension, own != dimension {
            throw problem(
                bundle, description[.texts],
                "embeds texts as \(dimension) numbers, and \(description[.pictures] ?? "") pictures as \(own)")
        }
        var zeroShot = description.zeroShot
        if let own = try await cuts?.scale(dimension: dimension, plan.configuration) {
            (zeroShot.scale, zeroShot.bias) = own
        }
        let scoring = description.takesPictures ? SimilarityScoring(zeroShot) : nil
        let words = Words(description, side: side, dimension: dimension, scoring: scoring)
        let configuration = plan.configuration(for: description.runtime)
        let labelled = try await labelled(words, pictures, bundle, configuration)
        let model = Model(
            words, pictures: pictures, resources: labelled, bundle: bundle, version: plan.version,
            configuration: configuration)
        if plan.configuration.comparesGoldens { try await model.checkGoldens(bundle.manifest?.goldenAgreement) }
        return model
    }

    private static func textSide(
        _ bundle: ModelBundle, _ description: WordsDescription, _ source: TextSource, _ texts: Model
    ) throws(InferenceError) -> TextSide {
        let problems = ProblemList()
        let form = TextForm(
            description, inputs: texts.plan.inputs.map(\.port), outputs: texts.plan.outputs.map(\.port),
            problems: problems)
        guard let form else { throw .invalidBundle(name: bundle.name, problems: problems.problems) }
        // Another engine, device or precision may give other vectors.
        let engine = texts.loadReport.engine.map { "\($0.name) \($0.version)" } ?? ""
        let precision = texts.loadReport.execution.precision ?? ""
        let space = "\(source.digest) \(engine) \(texts.device) \(precision)"
        return TextSide(texts, form, source, space: space)
    }

    /// Embeds a text: a network that compiles may still not run, and the length of its vectors may be known only after
    /// an inference.
    private static func warmUp(
        _ side: TextSide, _ bundle: ModelBundle, _ description: WordsDescription
    ) async throws(InferenceError) -> Int {
        do throws(InferenceError) {
            let made = try await side.embeddings(of: ["a"], options: PredictionOptions())
            side.model.counted.withLock { $0 = ModelStatistics() }
            return made.embeddings.first?.vector.count ?? 0
        } catch {
            throw problem(bundle, description[.texts], "does not run on texts: \(error.message)")
        }
    }

    /// The resources of the picture side with the confidences of the model's own labels as its output; nil without
    /// labels.
    private static func labelled(
        _ words: Words, _ pictures: Model?, _ bundle: ModelBundle, _ configuration: ModelConfiguration
    ) async throws(InferenceError) -> ModelResources? {
        guard let labels = words.description.zeroShot.labels, let pictures else { return nil }
        func problem(_ path: String, _ reason: String) -> InferenceError {
            .invalidBundle(name: bundle.name, problems: [BundleProblem(path: "zero_shot.\(path)", reason: reason)])
        }
        guard let scoring = words.scoring else {
            throw problem("scale", "is missing: the files do not state the scale of the similarities (CLIP: 100)")
        }
        guard pictures.batch == nil else {
            throw .invalidBundle(
                name: bundle.name,
                problems: [BundleProblem(path: "runtime.batch", reason: "does not go with \"zero_shot\": {\"labels\"}")]
            )
        }
        let made = try await words.side.vectors(
            of: labels, words.description.zeroShot.prompts, options: PredictionOptions())
        guard let vector = pictures.observations.first?.sources["output"]?.first?.index,
            let classes = EmbeddingClasses(vectors: made.vectors, dimension: words.dimension, scoring: scoring)
        else { throw problem("labels", "the vector of a label has no direction") }
        let compiled = LabelledModel(pictures.compiled, vector: vector, classes: classes)
        return try ModelResources(
            compiled, plan: pictures.plan.classifying(by: labels, output: LabelledModel.output, index: compiled.index),
            batch: nil, configuration: configuration)
    }

    private static func problem(_ bundle: ModelBundle, _ file: String?, _ reason: String) -> InferenceError {
        .invalidBundle(name: bundle.name, problems: [BundleProblem(path: file ?? "", reason: reason)])
    }

    /// Creates a model that embeds texts from its networks.
    private convenience init(
        _ words: Words, pictures: Model?, resources: ModelResources?, bundle: ModelBundle, version: String?,
        configuration: ModelConfiguration
    ) {
        let outputs = resources?.plan.outputs.map(\.description)
        let network = pictures ?? words.textModel
        var report = network.loadReport
        if pictures != nil { report.add(part: words.textModel.loadReport) }
        self.init(
            ModelDescription(
                bundle, bundle.manifest, version: version, backend: network.description.backend,
                features: (network.description.inputs, outputs ?? network.description.outputs)),
            bundle: bundle, options: bundle.manifest?.options, provenance: network.provenance,
            resources: resources ?? network.resources, observations: network.observations, batch: network.batch,
            words: words,
            configuration: configuration, loadReport: report)
    }
}

extension InputPlan {
    fileprivate var port: TensorPort {
        TensorPort(name: description.name, elementType: description.elementType, shape: description.shape)
    }
}

extension OutputPlan {
    fileprivate var port: TensorPort {
        TensorPort(name: description.name, elementType: description.elementType, shape: description.shape)
    }
}

extension SimilarityScoring {
    /// The scoring that the files of a bundle state; nil if they state no scale.
    fileprivate init?(_ zeroShot: WordsDescription.ZeroShot) {
        guard let scale = zeroShot.scale else { return nil }
        // A bias has no effect on a softmax.
        let activation = zeroShot.activation ?? (zeroShot.bias ?? 0 == 0 ? .softmax : .sigmoid)
        self.init(
            scale: Float(scale), bias: Float(zeroShot.bias ?? 0),
            activation: activation == .sigmoid ? .sigmoid : .softmax)
    }
}

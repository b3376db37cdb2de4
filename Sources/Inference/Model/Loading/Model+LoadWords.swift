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
        var pictures: Model?
        if description.takesPictures {
            pictures = try await load(LoadPlan(plan, part: .words(.pictures), isChecked: false))
        }
        let texts = try await load(LoadPlan(plan, part: .words(.texts), isChecked: pictures != nil))
        let side = try textSide(bundle, description, source, texts)
        let dimension = try await warmUp(side, bundle, description)
        if let own = pictures?.embeddingDimension, own != dimension {
            throw problem(
                bundle, description[.texts],
                "embeds texts as \(dimension) numbers, and \(description[.pictures] ?? "") pictures as \(own)")
        }
        let scoring = description.takesPictures ? SimilarityScoring(description.zeroShot) : nil
        let words = Words(description, side: side, dimension: dimension, scoring: scoring)
        let model = Model(
            words, pictures: pictures, bundle: bundle, version: plan.version,
            configuration: plan.configuration(for: description.runtime))
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
        // Another engine or device may give other vectors.
        let engine = texts.loadReport.engine.map { "\($0.name) \($0.version)" } ?? ""
        return TextSide(texts, form, source, space: "\(source.digest) \(engine) \(texts.device)")
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

    private static func problem(_ bundle: ModelBundle, _ file: String?, _ reason: String) -> InferenceError {
        .invalidBundle(name: bundle.name, problems: [BundleProblem(path: file ?? "", reason: reason)])
    }

    /// Creates a model that embeds texts from its networks.
    private convenience init(
        _ words: Words, pictures: Model?, bundle: ModelBundle, version: String?, configuration: ModelConfiguration
    ) {
        let network = pictures ?? words.textModel
        var report = network.loadReport
        if pictures != nil { report.add(part: words.textModel.loadReport) }
        self.init(
            ModelDescription(
                bundle, bundle.manifest, version: version, backend: network.description.backend,
                features: (network.description.inputs, network.description.outputs)),
            bundle: bundle, options: bundle.manifest?.options, provenance: network.provenance,
            resources: network.resources, observations: network.observations, batch: network.batch, words: words,
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
        let activation: ModelManifest.Activation = zeroShot.activation ?? .softmax
        self.init(
            scale: Float(scale), bias: Float(zeroShot.bias ?? 0),
            activation: activation == .sigmoid ? .sigmoid : .softmax)
    }
}

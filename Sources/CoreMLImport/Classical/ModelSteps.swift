/// The steps of one prediction, in order: a pipeline flattened to a list. The models find their inputs by feature
/// name.
///
/// A pipeline within a pipeline has its own features: its models see only its inputs, and only its outputs remain.
/// `enter` and `leave` mark its ends.
package struct ModelSteps: Sendable {
    package private(set) var steps: [Step] = []
    /// The networks and programs for the engine, by the index in `run`.
    package private(set) var graphs: [GraphStep] = []

    package enum Step: Sendable {
        case enter(inputs: [FeatureSpecification])
        case leave(outputs: [FeatureSpecification])
        case evaluate(ClassicalStep)
        /// Runs a graph, by its index in `graphs`.
        case run(Int)
    }

    /// A model that Ocelli evaluates itself, with its inputs and outputs.
    package struct ClassicalStep: Sendable {
        let model: any ClassicalModel
        /// The labels of a classifier, in the order of its probabilities.
        package var labels: [Category]? { model.labels }
        let inputs: [FeatureSpecification], outputs: [FeatureSpecification]

        /// Computes the outputs, converted to the declared types.
        package func callAsFunction(
            _ table: FeatureTable, thresholds: DetectorThresholds = DetectorThresholds()
        ) throws(EvaluationError) -> FeatureTable {
            var known: FeatureTable = [:]
            for input in inputs {
                if let data = table[input.name] {
                    known[input.name] = try input.type.coerced(data, feature: input.name)
                }
            }
            let model: any ClassicalModel = (model as? NonMaximumSuppression)?.choosing(thresholds) ?? model
            let results = try model.evaluate(known)
            var outputs: FeatureTable = [:]
            for output in self.outputs {
                guard let data = results[output.name] else { continue }
                outputs[output.name] = try output.type.coerced(data, feature: output.name)
            }
            return outputs
        }
    }

    /// A network or a program.
    package struct GraphStep: Sendable {
        package let specification: ModelSpecification
        /// The location of the model in the file.
        package let place: String
        /// The images that the graph itself must scale, with the color space in which they arrive: outputs of another
        /// model of the file, and pictures that several graphs read with different scales.
        package fileprivate(set) var innerImages: [String: ImageFeature.ColorSpace] = [:]
    }

    /// The maximum depth of nested pipelines, and the maximum number of models in a file.
    private static let deepest = 16, maximumModels = 1_000

    /// Lists the steps of a file. Networks and programs are not parsed.
    package init(_ specification: ModelSpecification) throws(ImportError) {
        var problems = ProblemCollector()
        var models = 0
        add(specification, place: "", depth: 0, models: &models, &problems)
        findInnerImages(specification.description)
        try problems.finish()
    }

    /// Fills `innerImages`: an image stays outside only if it is a picture of the client that one graph reads, in its
    /// color space.
    private mutating func findInnerImages(_ description: InterfaceSpecification) {
        let pictures = description.inputs.imageSpaces
        var made: [String: ImageFeature.ColorSpace] = [:]
        var takers: [String: [Int]] = [:]
        for case .run(let index) in steps {
            let features = graphs[index].specification.description
            for name in features.inputs.imageSpaces.keys {
                if let space = made[name] {
                    graphs[index].innerImages[name] = space
                } else {
                    takers[name, default: []].append(index)
                }
            }
            made.merge(features.outputs.imageSpaces) { $1 }
        }
        for (name, indices) in takers {
            guard let space = pictures[name] else { continue }
            for index in indices
            where indices.count > 1 || graphs[index].specification.description.inputs.imageSpaces[name] != space {
                graphs[index].innerImages[name] = space
            }
        }
    }

    /// True if the input accepts missing numbers: an imputer or trees read it, directly or through a vectorizer.
    package func takesMissing(_ input: String) -> Bool {
        var name = input
        for case .evaluate(let step) in steps where step.inputs.contains(where: { $0.name == name }) {
            if step.model.takesMissing { return true }
            guard step.model is FeatureVectorizer, let output = step.outputs.first else { return false }
            name = output.name
        }
        return false
    }

    /// True if the input may be omitted even if the description requires it: every model that reads it has a default.
    package func hasDefault(_ input: String) -> Bool {
        var hasDefault = false
        for step in steps {
            switch step {
            case .evaluate(let step) where step.inputs.contains(where: { $0.name == input }):
                guard step.model.defaultedInputs.contains(input) else { return false }
                hasDefault = true
            case .run(let index)
            where graphs[index].specification.description.inputs.contains(where: { $0.name == input }):
                return false
            default: break
            }
        }
        return hasDefault
    }

    /// The outputs of a detector, a file in which the last model suppresses overlapping boxes: the output with the
    /// scores of each class; the output with the boxes, [boxes, 4] of center x, center y, width and height as fractions
    /// of the picture; and the names of the classes, empty if the file has no names.
    package var detections: (scores: String, boxes: String, classes: [Category])? {
        for step in steps.reversed() {
            switch step {
            case .evaluate(let step):
                return (step.model as? NonMaximumSuppression).map { ($0.outputs.scores, $0.outputs.boxes, $0.classes) }
            case .run: return nil
            case .enter, .leave: continue
            }
        }
        return nil
    }

    /// The default values of inputs, by name, as models of the file declare them.
    package var defaults: [String: Double] {
        var defaults: [String: Double] = [:]
        for case .evaluate(let step) in steps {
            defaults.merge((step.model as? NonMaximumSuppression)?.defaults ?? [:]) { first, _ in first }
        }
        return defaults
    }

    /// A valid value of an input, for measurements: a category that a model knows, or a dictionary with that key;
    /// otherwise an empty string or dictionary. nil for numbers, arrays and pictures.
    package func sample(of feature: FeatureSpecification) -> FeatureData? {
        let category = steps.lazy.compactMap { step -> Category? in
            guard case .evaluate(let model) = step, model.inputs.contains(where: { $0.name == feature.name }) else {
                return nil
            }
            return model.model.sampleCategory
        }.first
        switch (feature.type, category) {
        case (.string, .string(let text)?): return .string(text)
        case (.string, _): return .string("")
        case (.int64, .int64(let number)?): return .int64(number)
        case (.dictionary(key: .string), .string?), (.dictionary(key: .int64), .int64?):
            return .dictionary(
                CategoryNumbers(keys: category.map { [$0] } ?? [], values: category.map { _ in [1] } ?? []))
        case (.dictionary, _): return .dictionary(CategoryNumbers(keys: [], values: []))
        default: return nil
        }
    }

    private mutating func add(
        _ specification: ModelSpecification, place: String, depth: Int, models: inout Int,
        _ problems: inout ProblemCollector
    ) {
        models += 1
        guard models <= Self.maximumModels else {
            if models == Self.maximumModels + 1 {
                problems.add(Problem("the file has more than \(Self.maximumModels) models", at: place))
            }
            return
        }
        switch specification.type {
        case .pipeline, .pipelineClassifier, .pipelineRegressor:
            addPipeline(specification, place: place, depth: depth, models: &models, &problems)
        case .neuralNetwork, .neuralNetworkClassifier, .neuralNetworkRegressor, .mlProgram:
            graphs.append(GraphStep(specification: specification, place: place))
            steps.append(.run(graphs.count - 1))
        default:
            let model = problems.collect(at: place) { () throws(Problem) in
                try located(specification.type.name) { () throws(Problem) in try Self.classical(specification) }
            }
            guard let model else { return }
            let description = specification.description
            var inputs = description.inputs
            for name in model.defaultedInputs where !inputs.contains(where: { $0.name == name }) {
                inputs.append(FeatureSpecification(name: name, type: .double, isOptional: true))
            }
            let tables = (model as? NonMaximumSuppression).map { [$0.outputs.scores, $0.outputs.boxes] } ?? []
            let outputs = description.outputs.openingRows(of: tables)
            steps.append(.evaluate(ClassicalStep(model: model, inputs: inputs, outputs: outputs)))
        }
    }

    private mutating func addPipeline(
        _ specification: ModelSpecification, place: String, depth: Int, models: inout Int,
        _ problems: inout ProblemCollector
    ) {
        let list = problems.collect(at: place) { () throws(Problem) in
            guard depth < Self.deepest else { throw Problem("pipelines are nested deeper than \(Self.deepest) levels") }
            var message = try Message(specification.reader)
            if specification.type != .pipeline { message = try message.message(1) ?? .empty }
            let models = message.all(1)
            guard !models.isEmpty else { throw Problem("the pipeline has no models") }
            return (models, try message.strings(2))
        }
        guard let (fields, names) = list else { return }
        steps.append(.enter(inputs: specification.description.inputs))
        for (index, field) in fields.enumerated() {
            let name = index < names.count ? " \"\(names[index])\"" : ""
            let inner = (place.isEmpty ? "" : place + ".") + "models[\(index)]\(name)"
            let model = problems.collect(at: inner) { () throws(Problem) in try ModelSpecification(field.reader()) }
            if let model { add(model, place: inner, depth: depth + 1, models: &models, &problems) }
        }
        let tables = detections.map { [$0.scores, $0.boxes] } ?? []
        steps.append(.leave(outputs: specification.description.outputs.openingRows(of: tables)))
    }

    private static func classical(_ specification: ModelSpecification) throws(Problem) -> any ClassicalModel {
        let message = try Message(specification.reader), description = specification.description
        switch specification.type {
        case .glmRegressor: return try GLMRegressor(message, description)
        case .glmClassifier: return try GLMClassifier(message, description)
        case .treeEnsembleRegressor: return try TreeEnsembleRegressor(message, description)
        case .treeEnsembleClassifier: return try TreeEnsembleClassifier(message, description)
        case .supportVectorRegressor: return try SupportVectorRegressor(message, description)
        case .supportVectorClassifier: return try SupportVectorClassifier(message, description)
        case .kNearestNeighborsClassifier: return try NearestNeighborsClassifier(message, description)
        case .oneHotEncoder: return try OneHotEncoder(message, description)
        case .imputer: return try Imputer(message, description)
        case .featureVectorizer: return try FeatureVectorizer(message, description)
        case .dictVectorizer: return try DictVectorizer(message, description)
        case .scaler: return try Scaler(message, description)
        case .categoricalMapping: return try CategoricalMapping(message, description)
        case .normalizer: return try Normalizer(message, description)
        case .arrayFeatureExtractor: return try ArrayFeatureExtractor(message, description)
        case .nonMaximumSuppression: return try NonMaximumSuppression(message, description)
        case .identity: return try Identity(description)
        default: throw Problem(specification.type.refusal)
        }
    }
}

extension [FeatureSpecification] {
    /// The features, with any shape for those of `tables` that are not declared with two axes: one extent does not give
    /// the number of rows.
    fileprivate func openingRows(of tables: [String]) -> [FeatureSpecification] {
        map { feature in
            guard tables.contains(feature.name), case .multiArray(var array) = feature.type, array.extents.count != 2
            else { return feature }
            (array.shape, array.flexibility) = ([], .none)
            var open = feature
            open.type = .multiArray(array)
            return open
        }
    }

    /// The color spaces of the image features, by name.
    fileprivate var imageSpaces: [String: ImageFeature.ColorSpace] {
        var spaces: [String: ImageFeature.ColorSpace] = [:]
        for feature in self { if case .image(let image) = feature.type { spaces[feature.name] = image.colorSpace } }
        return spaces
    }
}

extension ModelType {
    /// The error text for a type of model that cannot be evaluated: the reason and a remedy.
    var refusal: String {
        switch self {
        case .visionFeaturePrint:
            "uses a network that is part of Apple's systems and not in the file: make the classifier from the same pictures with "
                + "`ocelli teach`, or train a detector as a full network"
        case .audioFeaturePrint, .soundAnalysisPreprocessing:
            "uses a network that is part of Apple's systems and not in the file: train one that is whole in the file, and export that"
        case .textClassifier, .wordTagger, .wordEmbedding, .gazetteer:
            "is a language model of Apple's systems, whose format is not documented: export a network instead"
        case .customModel:
            "needs code of an app, which is not in the file: export the model without custom parts"
        case .linkedModel: "is in another file: serve a file that holds the whole model"
        case .itemSimilarityRecommender: "recommenders are not supported: export a network instead"
        case .bayesianProbitRegressor:
            "Bayesian probit regressors are not supported: export a generalized linear model instead"
        default: "models of this type are not supported"
        }
    }
}

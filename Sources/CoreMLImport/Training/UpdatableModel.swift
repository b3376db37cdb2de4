/// An updatable Core ML file (Model.proto: `isUpdatable`): a nearest neighbors classifier, or a network with updatable
/// layers; either as a single model or as the last model of a pipeline.
///
/// Pure. The features of examples come from `featureModel`, a Core ML file of the part before the updatable one.
package struct UpdatableModel: Sendable {
    /// The inputs of predictions. Examples have values for them.
    package let inputs: [FeatureSpecification]
    /// The target of examples.
    package let target: Target
    /// A Core ML file of the part that updates do not change: the inputs of the file, and one output, `featureName`.
    package let featureModel: [UInt8]
    package let featureName: String
    private let bytes: Bytes
    /// The path to the updatable model: for each pipeline its field and the index of the model in it.
    private let path: [ModelStep]
    private let updatable: Updatable

    /// The target of an example.
    package struct Target: Sendable {
        /// The name of the training input.
        package var name: String
        package var kind: Kind

        package enum Kind: Sendable, Equatable {
            /// A class, by label.
            case label(isInteger: Bool)
            /// A class, by index, less than `count`.
            case index(count: Int?)
            /// Numbers: one for each output of the network.
            case numbers
        }
    }

    /// One example: the output of `featureModel` for its inputs, and the expected prediction.
    package struct Example: Sendable {
        package var features: [Float]
        package var target: Goal

        package init(features: [Float], target: Goal) { (self.features, self.target) = (features, target) }
    }

    package enum Goal: Sendable, Equatable {
        case label(Category)
        case numbers([Double])
    }

    /// A finished update.
    package struct Outcome: Sendable {
        package var bytes: [UInt8]
        /// The loss of each epoch; empty for nearest neighbors.
        package var losses: [Double]
    }

    enum Updatable: Sendable {
        case neighbors(UpdatableNeighbors)
        case network(UpdatableNetwork)
    }

    struct ModelStep: Sendable {
        var type: ModelType
        var index: Int
    }

    /// The maximum depth of nested pipelines.
    private static let deepest = 16

    /// Reads a file's bytes.
    package init(_ bytes: Bytes) throws(Problem) {
        self.bytes = bytes
        let outer = try ModelSpecification(bytes)
        guard outer.isUpdatable else {
            throw Problem("the model is not updatable: nothing in it is marked for training (isUpdatable)")
        }
        let training = try Self.trainingInputs(bytes)
        var (specification, path): (ModelSpecification, [ModelStep]) = (outer, [])
        var lastBytes = bytes
        var prefix: [[UInt8]] = []
        while [.pipeline, .pipelineClassifier, .pipelineRegressor].contains(specification.type) {
            guard path.count < Self.deepest else {
                throw Problem("pipelines are nested deeper than \(Self.deepest) levels")
            }
            let models = try Self.models(of: specification)
            guard let last = models.last else { throw Problem("the pipeline has no models") }
            prefix += models.dropLast().map { $0.elements() }
            let inner = try located("models[\(models.count - 1)]") { () throws(Problem) in
                try ModelSpecification(last, depth: specification.depth + 2)
            }
            guard inner.isUpdatable else {
                throw Problem("the last model of the pipeline is not updatable: only that one can be")
            }
            path.append(ModelStep(type: specification.type, index: models.count - 1))
            (specification, lastBytes) = (inner, last)
        }
        self.path = path
        inputs = outer.description.inputs
        switch specification.type {
        case .kNearestNeighborsClassifier:
            let neighbors = try located(specification.type.name) { () throws(Problem) in
                try UpdatableNeighbors(specification)
            }
            updatable = .neighbors(neighbors)
            target = Target(
                name: specification.description.predictedFeatureName,
                kind: .label(isInteger: neighbors.hasIntegerLabels))
        case .neuralNetwork, .neuralNetworkClassifier, .neuralNetworkRegressor:
            let network = try UpdatableNetwork(specification)
            updatable = .network(network)
            target = try network.target(specification.description, training: training)
        default:
            throw Problem(
                "a model of type \(specification.type.name) cannot be updated: expected nearest neighbours or a network"
            )
        }
        let features = try FeatureModel(outer: bytes, last: lastBytes, prefix: prefix)
        featureName = features.name
        featureModel = try features.bytes(updatable)
    }

    /// The training inputs of a file (Model.proto: ModelDescription.trainingInput).
    private static func trainingInputs(_ bytes: Bytes) throws(Problem) -> [FeatureSpecification] {
        let model = try Message(MessageReader(bytes))
        guard let description = try model.message(2) else { return [] }
        return try FeatureSpecification.list(description.all(50), "trainingInput")
    }

    /// The bytes of the models of a pipeline.
    private static func models(of specification: ModelSpecification) throws(Problem) -> [Bytes] {
        var message = try Message(specification.reader)
        if specification.type != .pipeline { message = try message.message(1) ?? .empty }
        var models: [Bytes] = []
        for field in message.all(1) { models.append(try field.data()) }
        return models
    }

    /// True for networks, which train in epochs; false for nearest neighbors.
    package var hasEpochs: Bool { if case .network = updatable { true } else { false } }

    /// The plan of an update with the choices of a request; nil for nearest neighbors, which have no options.
    package func plan(_ choices: UpdateChoices) throws(Problem) -> UpdatePlan? {
        if let epochs = choices.epochs, !UpdateChoices.epochRange.contains(epochs) {
            throw Problem("epochs is \(epochs): expected 1 to 1000")
        }
        guard case .network(let network) = updatable else { return nil }
        return try located("updateParams") { () throws(Problem) in try network.parameters.plan(choices) }
    }

    /// Updates the model. Blocks for the whole computation: call it on a separate thread.
    /// - Parameters:
    ///   - shape: the shape of the features of one example, from `featureModel`.
    ///   - progress: called after each epoch with its number, from 1, and its loss.
    /// - Returns: the updated file; bytes that do not belong to the updated parameters are unchanged.
    package func updated(
        with examples: [Example], shape: [Int], plan: UpdatePlan?, isCancelled: () -> Bool,
        progress: (Int, Double) -> Void = { _, _ in }
    ) throws(UpdateFailure) -> Outcome {
        do throws(Problem) {
            guard !examples.isEmpty else { throw Problem("there are no examples") }
            for (index, example) in examples.enumerated() where !example.features.allSatisfy(\.isFinite) {
                throw Problem("the features of example \(index + 1) have a number that is not finite")
            }
        } catch {
            throw .problem(error)
        }
        switch updatable {
        case .neighbors(let neighbors):
            do throws(Problem) {
                let body = try neighbors.adding(examples)
                return Outcome(bytes: try replacingBody(with: body), losses: [])
            } catch {
                throw .problem(error)
            }
        case .network(let network):
            guard let plan else { throw .problem(Problem("there is no plan for the epochs")) }
            let (parameters, losses) = try network.train(
                examples, shape: shape, target: target, plan: plan, isCancelled: isCancelled, progress: progress)
            do throws(Problem) {
                let body = try network.body(with: parameters)
                return Outcome(bytes: try replacingBody(with: body), losses: losses)
            } catch {
                throw .problem(error)
            }
        }
    }

    /// The file with the message of the updatable model replaced.
    private func replacingBody(with body: (_ old: Bytes) throws(Problem) -> [UInt8]) throws(Problem) -> [UInt8] {
        try Self.replace(in: bytes, path[...], body)
    }

    private static func replace(
        in model: Bytes, _ path: ArraySlice<ModelStep>, _ body: (Bytes) throws(Problem) -> [UInt8]
    ) throws(Problem) -> [UInt8] {
        var edit = try MessageEdit(model)
        guard let step = path.first else {
            let type = try ModelSpecification(model).type
            try edit.change(type.rawValue, body)
            return edit.result
        }
        try edit.change(step.type.rawValue) { (pipeline) throws(Problem) in
            func inner(_ list: Bytes) throws(Problem) -> [UInt8] {
                var models = try MessageEdit(list)
                try models.change(1, occurrence: step.index) { (last) throws(Problem) in
                    try replace(in: last, path.dropFirst(), body)
                }
                return models.result
            }
            guard step.type != .pipeline else { return try inner(pipeline) }
            var classifier = try MessageEdit(pipeline)
            try classifier.change(1) { (list) throws(Problem) in try inner(list) }
            return classifier.result
        }
        return edit.result
    }
}

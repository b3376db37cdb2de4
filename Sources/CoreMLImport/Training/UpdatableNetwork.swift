internal import FileFormats

/// A network with updatable layers: the chain from the first of them to the loss, and the training parameters of the
/// file.
struct UpdatableNetwork: Sendable {
    let parameters: UpdateParameters
    /// In the order of computation, without a softmax before a cross-entropy.
    let tail: [TrainableLayerDefinition]
    /// The input blob of the chain.
    let featureBlob: String
    /// The index of the first layer of the chain: earlier layers are in the feature model.
    let firstLayer: Int
    let hasExactArrays: Bool
    private let classLabels: ClassLabels?
    private let layerKinds: [Int]

    init(_ specification: ModelSpecification) throws(Problem) {
        let network = try NeuralNetwork(specification.reader)
        let message = try Message(specification.reader)
        guard let updates = try message.message(10) else {
            throw Problem("the network has no updateParams: no loss, optimizer and epochs")
        }
        parameters = try located("updateParams") { () throws(Problem) in try UpdateParameters(updates) }
        hasExactArrays = network.hasExactArrays
        classLabels = network.classLabels
        layerKinds = network.layers.map(\.kind)
        guard network.layers.contains(where: \.isUpdatable) else {
            throw Problem("the model is updatable, but none of its layers is marked as updatable")
        }
        var chain = try Self.chain(to: parameters.loss.input, network)
        guard let first = chain.firstIndex(where: { network.layers[$0].isUpdatable }) else {
            throw Problem(
                "the loss \"\(parameters.loss.name.prefix(100))\" depends on no layer that is marked as updatable",
                at: "updateParams")
        }
        chain = Array(chain[first...])
        if parameters.loss.isCrossEntropy {
            guard let last = chain.popLast(), network.layers[last].kind == TrainableLayerDefinition.Kind.softmax,
                !chain.isEmpty
            else {
                throw Problem("the input of a cross-entropy must be the output of a softmax layer", at: "updateParams")
            }
        }
        var tail: [TrainableLayerDefinition] = []
        for index in chain { tail.append(try TrainableLayerDefinition(network.layers[index], index: index)) }
        self.tail = tail
        firstLayer = chain[0]
        featureBlob = network.layers[chain[0]].inputs[0]
    }

    /// The layers that compute a blob, following the first input of each back to an input of the network; in the order
    /// of computation.
    private static func chain(to blob: String, _ network: NeuralNetwork) throws(Problem) -> [Int] {
        var (blob, end, chain): (String, Int, [Int]) = (blob, network.layers.count, [])
        while let index = network.layers[..<end].lastIndex(where: { $0.outputs.contains(blob) }) {
            chain.append(index)
            // A layer with several inputs ends the chain: layers before it are not trained.
            guard network.layers[index].inputs.count == 1, let input = network.layers[index].inputs.first else {
                let marked = network.layers[..<index].firstIndex(where: \.isUpdatable)
                if let marked {
                    throw Problem(
                        "is updatable, but between it and the loss is layers[\(index)] with \(network.layers[index].inputs.count) "
                            + "inputs, which cannot be trained through", at: "layers[\(marked)]")
                }
                return chain.reversed()
            }
            (blob, end) = (input, index)
        }
        guard !chain.isEmpty else {
            throw Problem("no layer produces \"\(blob.prefix(100))\", the loss's input", at: "updateParams")
        }
        return chain.reversed()
    }

    /// The target that examples must have.
    func target(_ description: InterfaceSpecification, training: [FeatureSpecification]) throws(Problem)
        -> UpdatableModel.Target
    {
        let name = parameters.loss.target
        guard parameters.loss.isCrossEntropy else { return .init(name: name, kind: .numbers) }
        if let classLabels {
            // The training input may be the label or its index; clients always send the label.
            let isInteger = if case .integers = classLabels { true } else { false }
            let byLabel = training.contains { $0.name == description.predictedFeatureName }
            let named = byLabel || name.isEmpty ? description.predictedFeatureName : name
            return .init(name: named, kind: .label(isInteger: isInteger))
        }
        return .init(name: name, kind: .index(count: nil))
    }

    /// Trains, and returns the parameters of each layer of the chain.
    func train(
        _ examples: [UpdatableModel.Example], shape: [Int], target: UpdatableModel.Target, plan: UpdatePlan,
        isCancelled: () -> Bool, progress: (Int, Double) -> Void
    ) throws(UpdateFailure) -> ([[Double]], [Double]) {
        var training: LayerTraining
        var prepared: [TrainingExample] = []
        do throws(Problem) {
            training = try LayerTraining(
                tail, isCrossEntropy: parameters.loss.isCrossEntropy,
                shape: hasExactArrays ? shape : Self.spatial(shape),
                plan: plan)
            let count = training.outputCount
            if let classLabels, classLabels.count != count, parameters.loss.isCrossEntropy {
                throw Problem("there are \(classLabels.count) class labels for \(count) outputs")
            }
            let labels = labelIndices()
            for (index, example) in examples.enumerated() {
                prepared.append(
                    TrainingExample(
                        features: example.features,
                        target: try located("example \(index + 1)") { () throws(Problem) in
                            try goal(example.target, target, labels: labels, count: count)
                        }))
            }
        } catch {
            throw .problem(error)
        }
        let losses = try training.run(prepared, plan: plan, isCancelled: isCancelled, progress: progress)
        return (training.parameters, losses)
    }

    /// Blobs of old networks have the shape [C, H, W]; axes that the engine omitted are 1.
    private static func spatial(_ shape: [Int]) -> [Int] {
        shape.count >= 4 ? shape : [1] + shape + Array(repeating: 1, count: max(0, 3 - shape.count))
    }

    private func labelIndices() -> [Category: Int] {
        var indices: [Category: Int] = [:]
        switch classLabels {
        case .strings(let labels)?:
            for (index, label) in labels.enumerated() where indices[.string(label)] == nil {
                indices[.string(label)] = index
            }
        case .integers(let labels)?:
            for (index, label) in labels.enumerated() where indices[.int64(Int64(label))] == nil {
                indices[.int64(Int64(label))] = index
            }
        case nil: break
        }
        return indices
    }

    private func goal(
        _ goal: UpdatableModel.Goal, _ target: UpdatableModel.Target, labels: [Category: Int], count: Int
    ) throws(Problem) -> UpdateTarget {
        switch (goal, target.kind) {
        case (.label(let label), .label):
            guard let index = labels[label], index < count else {
                throw Problem("the model has no class \"\(String(describing: label).prefix(100))\"")
            }
            return .index(index)
        case (.numbers(let numbers), .index):
            guard numbers.count == 1, let number = numbers.first, let index = Int(exactly: number),
                (0..<count).contains(index)
            else {
                let found = numbers.count == 1 ? "\(numbers[0])" : "\(numbers.count) numbers"
                throw Problem("expected the number of a class, 0 to \(count - 1), found \(found)")
            }
            return .index(index)
        case (.numbers(let numbers), .numbers):
            guard numbers.count == count else {
                throw Problem("\"target\": expected \(count) number\(count == 1 ? "" : "s"), found \(numbers.count)")
            }
            guard numbers.allSatisfy(\.isFinite) else { throw Problem("\"target\" has a number that is not finite") }
            return .numbers(numbers)
        default: throw Problem("expected a \(target.kind == .numbers ? "target of numbers" : "class")")
        }
    }

    /// Replaces the parameters in the network's message by the trained ones.
    func body(with trained: [[Double]]) throws(Problem) -> (Bytes) throws(Problem) -> [UInt8] {
        let (tail, kinds) = (tail, layerKinds)
        return { (old) throws(Problem) in
            var network = try MessageEdit(old)
            for (definition, numbers) in zip(tail, trained) where definition.isTrained {
                let kind = kinds[definition.index]
                let fields = TrainableLayerDefinition.weightFields(kind)
                try network.change(1, occurrence: definition.index) { (layer) throws(Problem) in
                    var edit = try MessageEdit(layer)
                    try edit.change(kind) { (body) throws(Problem) in
                        var parameters = try MessageEdit(body)
                        let weights = numbers[..<definition.weightCount], biases = numbers[definition.weightCount...]
                        try parameters.change(fields.weights) { (old) throws(Problem) in try Self.weights(old, weights)
                        }
                        if !biases.isEmpty {
                            try parameters.change(fields.bias) { (old) throws(Problem) in try Self.weights(old, biases)
                            }
                        }
                        return parameters.result
                    }
                    return edit.result
                }
            }
            return network.result
        }
    }

    /// WeightParams with other values, always as 32-bit floats.
    private static func weights(_ old: Bytes, _ numbers: ArraySlice<Double>) throws(Problem) -> [UInt8] {
        var edit = try MessageEdit(old)
        edit.replace([1, 2], with: ProtobufWriter.field(1, floats: numbers.map { Float($0) }))
        return edit.result
    }
}

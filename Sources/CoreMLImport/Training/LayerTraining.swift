internal import Glibc

/// The reason that an update failed.
package enum UpdateFailure: Error, Sendable {
    case problem(Problem)
    case cancelled
}

/// The class or the numbers that the network should predict for an example.
package enum UpdateTarget: Sendable, Equatable {
    case index(Int)
    case numbers([Double])
}

/// The features of one example, which are the input of the trained part, and its target.
struct TrainingExample: Sendable {
    let features: [Float]
    let target: UpdateTarget
}

/// Trains the layers of a network from the first updatable one to the loss.
///
/// Pure: the same examples in the same order give the same parameters on every machine with IEEE arithmetic.
struct LayerTraining {
    private let definitions: [TrainableLayerDefinition]
    private let layers: [any TrainableLayer]
    /// True if the loss takes the softmax of the last layer's output.
    private let isCrossEntropy: Bool
    private(set) var parameters: [[Double]]
    private var optimizer: LayerOptimizer

    /// The maximum number of elements of a layer's output, and of multiplications of a layer for one example.
    private static let maximumElements = 1 << 26, maximumCost = 1 << 34

    /// - Parameters:
    ///   - definitions: in the order of computation, without a softmax before a cross-entropy.
    ///   - shape: the shape of the features of one example.
    init(_ definitions: [TrainableLayerDefinition], isCrossEntropy: Bool, shape: [Int], plan: UpdatePlan)
        throws(Problem)
    {
        self.definitions = definitions
        self.isCrossEntropy = isCrossEntropy
        var shape = shape
        var layers: [any TrainableLayer] = []
        for definition in definitions {
            let before = shape
            let layer = try located(definition.place) { () throws(Problem) in
                let layer = try definition.make(before)
                guard let count = elementCount(layer.outputShape), count <= Self.maximumElements,
                    let cost = elementCount(layer.cost), cost <= Self.maximumCost
                else { throw Problem("is too large to be trained: its result has the shape \(layer.outputShape)") }
                return layer
            }
            layers.append(layer)
            shape = layer.outputShape
        }
        self.layers = layers
        parameters = definitions.map(\.parameters)
        optimizer = LayerOptimizer(plan, counts: definitions.map { $0.isTrained ? $0.parameters.count : 0 })
    }

    /// The number of outputs of the last layer.
    var outputCount: Int { layers.last?.outputShape.reduce(1, *) ?? 0 }

    /// Trains all epochs.
    /// - Parameter progress: called after each epoch with its number and loss.
    /// - Returns: for each epoch, the mean of the losses of its mini-batches, each measured before its step.
    mutating func run(
        _ examples: [TrainingExample], plan: UpdatePlan, isCancelled: () -> Bool, progress: (Int, Double) -> Void
    ) throws(UpdateFailure) -> [Double] {
        var order = Array(examples.indices)
        var generator = ExampleOrder(seed: plan.seed)
        var losses: [Double] = []
        let size = Swift.min(plan.miniBatch, max(1, order.count))
        for epoch in 1...plan.epochs {
            if plan.shuffles { generator.shuffle(&order) }
            var sum = 0.0, batches = 0
            for start in stride(from: 0, to: order.count, by: size) {
                let batch = order[start..<Swift.min(start + size, order.count)]
                sum += try step(batch.map { examples[$0] }, isCancelled: isCancelled)
                batches += 1
            }
            let loss = sum / Double(batches)
            guard loss.isFinite, parameters.allSatisfy({ $0.allSatisfy { Float($0).isFinite } }) else {
                throw .problem(
                    Problem(
                        "the loss of epoch \(epoch) is \(loss): the update diverges; choose a smaller learning_rate"))
            }
            losses.append(loss)
            progress(epoch, loss)
        }
        return losses
    }

    /// Does one step of the optimizer; returns the loss of the batch before it.
    private mutating func step(_ batch: [TrainingExample], isCancelled: () -> Bool) throws(UpdateFailure) -> Double {
        var gradients = definitions.map { [Double](repeating: 0, count: $0.parameters.count) }
        var sum = 0.0
        for example in batch {
            if isCancelled() { throw .cancelled }
            var values = [example.features.map(Double.init)]
            for (layer, parameters) in zip(layers, parameters) {
                values.append(layer.forward(values[values.count - 1], parameters))
            }
            var (loss, gradient) = lossAndGradient(values[values.count - 1], example.target)
            sum += loss
            for index in layers.indices.reversed() {
                gradient = layers[index].backward(
                    gradient, input: values[index], output: values[index + 1], parameters: parameters[index],
                    adding: &gradients[index])
            }
        }
        for index in gradients.indices where definitions[index].isTrained {
            for place in gradients[index].indices { gradients[index][place] /= Double(batch.count) }
        }
        optimizer.apply(gradients, to: &parameters)
        return sum / Double(batch.count)
    }

    private func lossAndGradient(_ output: [Double], _ target: UpdateTarget) -> (Double, [Double]) {
        switch target {
        case .index(let index):
            // Softmax and cross-entropy combined: the loss is -log p, the gradient p, less 1 at the true class.
            let greatest = output.max() ?? 0
            var shares = output.map { exp($0 - greatest) }
            let sum = shares.reduce(0, +)
            for place in shares.indices { shares[place] /= sum }
            let loss = log(sum) + greatest - output[index]
            shares[index] -= 1
            return (loss, shares)
        case .numbers(let numbers):
            let errors = zip(output, numbers).map { $0 - $1 }
            let count = Double(errors.count)
            return (errors.reduce(0) { $0 + $1 * $1 } / count, errors.map { 2 * $0 / count })
        }
    }
}

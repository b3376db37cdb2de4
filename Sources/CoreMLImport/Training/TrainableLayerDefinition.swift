/// A layer between the first trained layer and the loss, as read from the file: its parameters, and a function that
/// creates it for the shape of its input.
struct TrainableLayerDefinition: Sendable {
    /// The index among the network's layers.
    let index: Int
    let place: String
    let isTrained: Bool
    /// Weights and biases; empty for layers without parameters.
    let parameters: [Double]
    /// The number of weights in `parameters`; biases follow.
    let weightCount: Int
    let make: @Sendable ([Int]) throws(Problem) -> any TrainableLayer

    /// The layers that an update can backpropagate through, by the numbers of NeuralNetworkLayer.
    enum Kind {
        static let convolution = 100, pooling = 120, activation = 130, innerProduct = 140, batchnorm = 160
        static let softmax = 175, reshape = 300, flatten = 301
    }

    init(_ layer: NetworkLayer, index: Int) throws(Problem) {
        self.index = index
        place = "layers[\(index)]" + (layer.name.isEmpty ? "" : " \"\(layer.name.prefix(100))\"")
        isTrained = layer.isUpdatable
        guard layer.inputs.count == 1, layer.outputs.count == 1 else {
            throw Problem("expected one input and one output in the part that is trained", at: place)
        }
        do throws(Problem) {
            let message = try layer.parameters()
            let reader = Layer(graph: GraphBuilder(), parameters: message, inputs: [], outputCount: 1)
            var parameters: [Double] = []
            var weightCount = 0
            switch layer.kind {
            case Kind.innerProduct:
                (make, weightCount) = try Self.innerProduct(reader)
                parameters = try Self.parameters(
                    reader, weights: 20, bias: 21, hasBias: 10, count: weightCount, outputs: 2, isTrained)
            case Kind.convolution:
                (make, weightCount) = try Self.convolution(reader)
                parameters = try Self.parameters(
                    reader, weights: 90, bias: 91, hasBias: 70, count: weightCount, outputs: 1, isTrained)
            case Kind.pooling: make = try Self.pooling(reader)
            case Kind.activation: make = try Self.activation(message)
            case Kind.batchnorm: make = try Self.batchnorm(reader)
            case Kind.softmax: make = { (shape) throws(Problem) in TrainableSoftmax(shape: shape) }
            case Kind.flatten: make = try Self.flatten(reader)
            case Kind.reshape: make = try Self.reshape(reader)
            default:
                throw Problem(
                    "\(Self.name(layer.kind)) layers cannot be trained through: between a layer that is updatable and the loss "
                        + "there may be convolution, innerProduct, pooling, batchnorm, flatten, reshape and softmax layers, and the "
                        + "activations ReLU, sigmoid and tanh")
            }
            (self.parameters, self.weightCount) = (parameters, weightCount)
        } catch {
            throw error.inside(place)
        }
        guard !isTrained || weightCount > 0 else {
            throw Problem("is marked as updatable: only convolution and innerProduct layers can be", at: place)
        }
    }

    private static func name(_ kind: Int) -> String { LayerTable.translators[kind]?.name ?? "unknown (\(kind))" }

    /// The numbers of the fields with weights and biases in a trained layer's message.
    static func weightFields(_ kind: Int) -> (weights: Int, bias: Int) {
        kind == Kind.convolution ? (90, 91) : (20, 21)
    }

    private static func parameters(
        _ layer: Layer, weights: Int, bias: Int, hasBias: Int, count: Int, outputs: Int, _ isTrained: Bool
    ) throws(Problem) -> [Double] {
        let channels = try layer.size(outputs, "outputChannels")
        var fields = [(weights, "weights", count)]
        if try layer.parameters.bool(hasBias) { fields.append((bias, "bias", channels)) }
        var result: [Double] = []
        for (field, name, count) in fields {
            if isTrained {
                guard let message = try layer.parameters.message(field) else { throw Problem("\(name) are missing") }
                guard try message.bool(50) else {
                    throw Problem("the layer is marked as updatable, but its \(name) are not")
                }
                guard !message.has(30), !message.has(31) else {
                    throw Problem("its \(name) are quantized: only floats can be updated")
                }
            }
            let numbers = try layer.weights(field, name, count: count, channels: channels).floats
            guard numbers.allSatisfy(\.isFinite) else { throw Problem("its \(name) have a number that is not finite") }
            result += numbers.map(Double.init)
        }
        return result
    }

    private typealias Maker = @Sendable ([Int]) throws(Problem) -> any TrainableLayer

    private static func innerProduct(_ layer: Layer) throws(Problem) -> (Maker, Int) {
        let (inputs, outputs) = (try layer.size(1, "inputChannels"), try layer.size(2, "outputChannels"))
        let hasBias = try layer.parameters.bool(10)
        guard let count = checkedProduct(inputs, outputs) else { throw Problem("the layer is too large") }
        let make: Maker = { (shape) throws(Problem) in
            try TrainableInnerProduct(inputs: inputs, outputs: outputs, hasBias: hasBias, shape: shape)
        }
        return (make, count)
    }

    private static func convolution(_ layer: Layer) throws(Problem) -> (Maker, Int) {
        let outputs = try layer.size(1, "outputChannels"), channels = try layer.size(2, "kernelChannels")
        let groups = try layer.size(10, "nGroups", default: 1)
        guard try !layer.parameters.bool(60) else { throw Problem("deconvolutions cannot be trained") }
        let kernel = try layer.sizes(20, "kernelSize", default: [3, 3])
        let strides = try layer.sizes(30, "stride", default: [1, 1])
        let dilations = try layer.sizes(40, "dilationFactor", default: [1, 1])
        let padding = try padding(layer, valid: 50, same: 51)
        let hasBias = try layer.parameters.bool(70)
        guard checkedProduct(channels, groups) != nil, let count = elementCount([outputs, channels] + kernel) else {
            throw Problem("the layer is too large")
        }
        let make: Maker = { (shape) throws(Problem) in
            try TrainableConvolution(
                kernelChannels: channels, outputs: outputs, groups: groups, hasBias: hasBias, shape: shape
            ) { (axis, extent) throws(Problem) in
                try WindowAxis(
                    extent: extent, kernel: kernel[axis], stride: strides[axis], dilation: dilations[axis],
                    padding: padding(axis))
            }
        }
        return (make, count)
    }

    private static func padding(_ layer: Layer, valid: Int, same: Int) throws(Problem)
        -> @Sendable (Int) -> WindowAxis.Padding
    {
        switch try ConvolutionLayers.padding(layer, valid: valid, same: same) {
        case .sameUpper: return { _ in .same(isFrontHeavy: false) }
        case .sameLower: return { _ in .same(isFrontHeavy: true) }
        case .amounts(let begin, let end): return { .amounts(before: begin[$0], after: end[$0]) }
        }
    }

    private static func pooling(_ layer: Layer) throws(Problem) -> Maker {
        let type = try layer.parameters.integer(1)
        guard let function = TrainablePooling.Function(rawValue: type) else {
            throw Problem("unknown pooling type \(type)")
        }
        let isGlobal = try layer.parameters.bool(60)
        let excludesPadding = try layer.parameters.bool(50)
        let kernel = try layer.sizes(10, "kernelSize", default: [3, 3])
        let strides = try layer.sizes(20, "stride", default: [1, 1])
        var padding = try padding(layer, valid: 30, same: 31)
        if let complete = try layer.parameters.message(32) {
            let amounts = try complete.integers(10)
            guard amounts.isEmpty || amounts.count == 2 && amounts.allSatisfy({ $0 >= 0 && $0 <= 1 << 24 }) else {
                throw Problem("includeLastPixel has the padding \(amounts): expected two amounts")
            }
            let isPadded = amounts.contains { $0 > 0 }
            padding = { .rounded(amount: amounts.isEmpty ? 0 : amounts[$0], isPadded: isPadded) }
        }
        let chosen = padding
        return { (shape) throws(Problem) in
            guard shape.count >= 3 else {
                throw Problem("the input \(shapeText(shape)) has \(shape.count) axes: expected at least 3")
            }
            var axes: [WindowAxis] = []
            for axis in 0..<2 {
                let extent = shape[shape.count - 2 + axis]
                axes.append(
                    try WindowAxis(
                        extent: extent, kernel: isGlobal ? extent : kernel[axis], stride: isGlobal ? 1 : strides[axis],
                        dilation: 1, padding: isGlobal ? .amounts(before: 0, after: 0) : chosen(axis)))
            }
            return TrainablePooling(
                function, excludesPadding: excludesPadding, shape: shape, rows: axes[0], columns: axes[1])
        }
    }

    private static func activation(_ message: Message) throws(Problem) -> Maker {
        let function: TrainableActivation.Function
        switch message.fields.last(where: { (5...71).contains($0.number) })?.number {
        case 10: function = .relu
        case 30: function = .tanh
        case 40: function = .sigmoid
        case let other:
            throw Problem(
                "activation \(other.map { "\($0)" } ?? "without a function") cannot be trained through: expected ReLU, sigmoid or tanh"
            )
        }
        return { (shape) throws(Problem) in TrainableActivation(function: function, outputShape: shape) }
    }

    private static func batchnorm(_ layer: Layer) throws(Problem) -> Maker {
        guard try !layer.parameters.bool(5) else {
            throw Problem("normalizations by each picture's own mean cannot be trained through")
        }
        let channels = try layer.size(1, "channels")
        guard channels <= 1 << 20 else { throw Problem("\(channels) channels") }
        let given = try Double(layer.parameters.float(10))
        let epsilon = given == 0 ? 1e-5 : given
        func numbers(_ field: Int, _ name: String, or value: Double) throws(Problem) -> [Double] {
            guard layer.parameters.has(field) else { return Array(repeating: value, count: channels) }
            return try layer.weights(field, name, count: channels, channels: channels).floats.map(Double.init)
        }
        let (gamma, beta) = (try numbers(15, "gamma", or: 1), try numbers(16, "beta", or: 0))
        let (mean, variance) = (try numbers(17, "mean", or: 0), try numbers(18, "variance", or: 1))
        let factors = zip(gamma, variance).map { $0 / ($1 + epsilon).squareRoot() }
        let summands = zip(beta, zip(mean, factors)).map { $0 - $1.0 * $1.1 }
        return { (shape) throws(Problem) in
            try TrainableNormalization(factors: factors, summands: summands, shape: shape)
        }
    }

    /// The indices of the elements of [N, C, H, W] in the order N, H, W, C.
    @Sendable private static func channelsLast(_ shape: [Int]) -> [Int] {
        let axes = ChannelAxes(shape)
        return (0..<axes.outer).flatMap { outer in
            (0..<axes.inner).flatMap { inner in
                (0..<axes.channels).map { (outer * axes.channels + $0) * axes.inner + inner }
            }
        }
    }

    private static func flatten(_ layer: Layer) throws(Problem) -> Maker {
        let isLast = try layer.parameters.integer(1) == 1
        return { (shape) throws(Problem) in
            guard shape.count >= 3 else {
                throw Problem("the input \(shapeText(shape)) has \(shape.count) axes: expected at least 3")
            }
            return TrainableArrangement(
                outputShape: shape.dropLast(3) + [shape.suffix(3).reduce(1, *), 1, 1],
                places: isLast ? channelsLast(shape) : nil)
        }
    }

    private static func reshape(_ layer: Layer) throws(Problem) -> Maker {
        let target = try layer.parameters.integers(1)
        guard target.count == 3 || target.count == 4 && target[0] == 1,
            target.allSatisfy({ $0 > 0 && $0 <= Int(Int32.max) })
        else { throw Problem("targetShape is \(target): expected 3 extents, or 1 and 3 extents") }
        let isLast = try layer.parameters.integer(2) == 1
        return { (shape) throws(Problem) in
            let result = shape.dropLast(3) + target.suffix(3)
            guard shape.count >= 3, elementCount(Array(result)) == elementCount(shape) else {
                throw Problem("cannot reshape \(shapeText(shape)) to \(target)")
            }
            var places: [Int]?
            if isLast {
                // Input and target are in the order H, W, C.
                var inverse = [Int](repeating: 0, count: channelsLast(Array(result)).count)
                for (source, target) in zip(channelsLast(shape), channelsLast(Array(result))) {
                    inverse[target] = source
                }
                places = inverse
            }
            return TrainableArrangement(outputShape: Array(result), places: places)
        }
    }
}

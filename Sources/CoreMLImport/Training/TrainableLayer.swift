internal import Glibc

/// A layer between the first trained layer and the loss, for inputs of one shape. Backpropagation uses 64-bit floats.
///
/// Pure. Shapes are those of one example, in the engine's form: [N, C, H, W] in networks of the old format.
protocol TrainableLayer: Sendable {
    /// The shape of the output.
    var outputShape: [Int] { get }
    /// Factors of the approximate number of multiplications for one example in one direction.
    var cost: [Int] { get }
    /// Computes the output.
    func forward(_ input: [Double], _ parameters: [Double]) -> [Double]
    /// Computes the gradient of the loss by the input from that by the output; adds that by the parameters to `sums`.
    func backward(
        _ gradient: [Double], input: [Double], output: [Double], parameters: [Double], adding sums: inout [Double]
    ) -> [Double]
}

/// The axis of the channels of a shape: axis -3; with one or two axes, the last.
struct ChannelAxes: Sendable {
    let outer: Int, channels: Int, inner: Int

    init(_ shape: [Int]) {
        if shape.count >= 3 {
            outer = shape.dropLast(3).reduce(1, *)
            channels = shape[shape.count - 3]
            inner = shape[shape.count - 2] * shape[shape.count - 1]
        } else {
            outer = shape.dropLast().reduce(1, *)
            channels = shape.last ?? 1
            inner = 1
        }
    }
}

/// innerProduct over the last axis, or with four or five axes over all after the first.
struct TrainableInnerProduct: TrainableLayer {
    let rows: Int, inputs: Int, outputs: Int, hasBias: Bool
    let outputShape: [Int]
    var cost: [Int] { [rows, inputs, outputs] }

    init(inputs: Int, outputs: Int, hasBias: Bool, shape: [Int]) throws(Problem) {
        let isImage = shape.count >= 4
        let row = isImage ? shape.suffix(3).reduce(1, *) : shape.last ?? 1
        guard row == inputs else { throw Problem("the input \(shapeText(shape)) should have \(inputs) numbers") }
        rows = shape.dropLast(isImage ? 3 : 1).reduce(1, *)
        (self.inputs, self.outputs, self.hasBias) = (inputs, outputs, hasBias)
        outputShape = isImage ? shape.dropLast(3) + [outputs, 1, 1] : shape.dropLast() + [outputs]
    }

    func forward(_ input: [Double], _ parameters: [Double]) -> [Double] {
        var result = [Double](repeating: 0, count: rows * outputs)
        result.withUnsafeMutableBufferPointer { result in
            input.withUnsafeBufferPointer { input in
                parameters.withUnsafeBufferPointer { weights in
                    for row in 0..<rows {
                        for output in 0..<outputs {
                            var sum = hasBias ? weights[outputs * inputs + output] : 0
                            for place in 0..<inputs {
                                sum += weights[output * inputs + place] * input[row * inputs + place]
                            }
                            result[row * outputs + output] = sum
                        }
                    }
                }
            }
        }
        return result
    }

    func backward(
        _ gradient: [Double], input: [Double], output: [Double], parameters: [Double], adding sums: inout [Double]
    ) -> [Double] {
        var result = [Double](repeating: 0, count: input.count)
        result.withUnsafeMutableBufferPointer { result in
            sums.withUnsafeMutableBufferPointer { sums in
                input.withUnsafeBufferPointer { input in
                    parameters.withUnsafeBufferPointer { weights in
                        for row in 0..<rows {
                            for output in 0..<outputs {
                                let slope = gradient[row * outputs + output]
                                if slope == 0 { continue }
                                if hasBias { sums[outputs * inputs + output] += slope }
                                for place in 0..<inputs {
                                    sums[output * inputs + place] += slope * input[row * inputs + place]
                                    result[row * inputs + place] += slope * weights[output * inputs + place]
                                }
                            }
                        }
                    }
                }
            }
        }
        return result
    }
}

/// ReLU, sigmoid and tanh: the activations that Core ML can train through.
struct TrainableActivation: TrainableLayer {
    enum Function: Sendable { case relu, sigmoid, tanh }
    let function: Function
    let outputShape: [Int]
    var cost: [Int] { outputShape }

    func forward(_ input: [Double], _ parameters: [Double]) -> [Double] {
        switch function {
        case .relu: input.map { max($0, 0) }
        case .sigmoid: input.map { 1 / (1 + exp(-$0)) }
        case .tanh: input.map { Glibc.tanh($0) }
        }
    }

    func backward(
        _ gradient: [Double], input: [Double], output: [Double], parameters: [Double], adding sums: inout [Double]
    ) -> [Double] {
        switch function {
        case .relu: zip(gradient, input).map { $1 > 0 ? $0 : 0 }
        case .sigmoid: zip(gradient, output).map { $0 * $1 * (1 - $1) }
        case .tanh: zip(gradient, output).map { $0 * (1 - $1 * $1) }
        }
    }
}

/// softmax over the channels, before a mean squared error. Before a cross-entropy, it is part of the loss.
struct TrainableSoftmax: TrainableLayer {
    let outputShape: [Int]
    private let axes: ChannelAxes
    var cost: [Int] { outputShape }

    init(shape: [Int]) {
        outputShape = shape
        axes = ChannelAxes(shape)
    }

    /// The indices of the channels of each group.
    private func groups() -> [StrideTo<Int>] {
        (0..<axes.outer).flatMap { outer in
            (0..<axes.inner).map { inner in
                let start = outer * axes.channels * axes.inner + inner
                return stride(from: start, to: (outer + 1) * axes.channels * axes.inner, by: axes.inner)
            }
        }
    }

    func forward(_ input: [Double], _ parameters: [Double]) -> [Double] {
        var result = input
        for places in groups() {
            let greatest = places.map { input[$0] }.max() ?? 0
            for place in places { result[place] = exp(input[place] - greatest) }
            let sum = places.reduce(0) { $0 + result[$1] }
            for place in places { result[place] /= sum }
        }
        return result
    }

    func backward(
        _ gradient: [Double], input: [Double], output: [Double], parameters: [Double], adding sums: inout [Double]
    ) -> [Double] {
        var result = gradient
        for places in groups() {
            let mean = places.reduce(0) { $0 + gradient[$1] * output[$1] }
            for place in places { result[place] = output[place] * (gradient[place] - mean) }
        }
        return result
    }
}

/// batchnorm with the file's means and variances, which updates do not change: a factor and a summand for each channel.
struct TrainableNormalization: TrainableLayer {
    let factors: [Double], summands: [Double]
    let outputShape: [Int]
    private let axes: ChannelAxes
    var cost: [Int] { outputShape }

    init(factors: [Double], summands: [Double], shape: [Int]) throws(Problem) {
        axes = ChannelAxes(shape)
        guard axes.channels == factors.count else {
            throw Problem("expected \(factors.count) channels, found an input of shape \(shapeText(shape))")
        }
        (self.factors, self.summands, outputShape) = (factors, summands, shape)
    }

    private func channel(of place: Int) -> Int { place / axes.inner % axes.channels }

    func forward(_ input: [Double], _ parameters: [Double]) -> [Double] {
        input.enumerated().map { $1 * factors[channel(of: $0)] + summands[channel(of: $0)] }
    }

    func backward(
        _ gradient: [Double], input: [Double], output: [Double], parameters: [Double], adding sums: inout [Double]
    ) -> [Double] {
        gradient.enumerated().map { $1 * factors[channel(of: $0)] }
    }
}

/// flatten and reshape: reorders elements, or changes only the axes.
struct TrainableArrangement: TrainableLayer {
    let outputShape: [Int]
    /// For each element of the output, its index in the input; nil if the order is the same.
    let places: [Int]?
    var cost: [Int] { outputShape }

    func forward(_ input: [Double], _ parameters: [Double]) -> [Double] { places?.map { input[$0] } ?? input }

    func backward(
        _ gradient: [Double], input: [Double], output: [Double], parameters: [Double], adding sums: inout [Double]
    ) -> [Double] {
        guard let places else { return gradient }
        var result = gradient
        for (target, source) in places.enumerated() { result[source] = gradient[target] }
        return result
    }
}

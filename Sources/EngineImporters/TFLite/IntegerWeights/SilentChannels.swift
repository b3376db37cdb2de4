internal import FileFormats

/// The channels of a graph's tensors that are zero for every input.
///
/// Training produces such channels: the biases of a convolution keep some of its outputs below zero, and the activation
/// clips them. Training does not keep their weights small, so many of the weights that do not fit into a signed byte
/// belong to them. The weights of a silent channel have no effect.
///
/// They are found by interval arithmetic: the minimum and maximum of each channel of a convolution are computed from
/// those of its input.
struct SilentChannels {
    /// The range of each channel by tensor, in steps relative to the zero point.
    private var ranges: [Int: [ClosedRange<Double>]] = [:]
    private let graph: TFLiteGraph

    /// - Parameter convolutions: the convolutions by the operator's index.
    init(_ graph: TFLiteGraph, convolutions: [Int: QuantizedConvolution]) {
        self.graph = graph
        for index in graph.operators.indices {
            guard let convolution = convolutions[index] else { continue }
            ranges[convolution.output] = Self.ranges(of: convolution, input: ranges[convolution.input])
        }
    }

    /// The channels of a tensor that are always zero, in ascending order.
    func channels(of tensor: Int) -> [Int] {
        ranges[tensor].map { $0.indices.filter { channel in ranges[tensor]?[channel] == 0...0 } } ?? []
    }

    /// The ranges of a convolution's outputs.
    /// - Parameter input: the ranges of its input's channels; nil if all byte values are possible.
    private static func ranges(
        of convolution: QuantizedConvolution, input: [ClosedRange<Double>]?
    ) -> [ClosedRange<Double>] {
        let zero = convolution.inputZeroPoint
        let depth = convolution.shape[3], taps = convolution.data.count / depth / convolution.rows
        // Padding adds zeros around a picture, if the kernel is larger than one pixel.
        let isPadded = convolution.shape[1] * convolution.shape[2] > 1
        let low = (0..<depth).map { min(input?[$0].lowerBound ?? Double(-zero), isPadded ? 0 : .infinity) }
        let high = (0..<depth).map { max(input?[$0].upperBound ?? Double(255 - zero), isPadded ? 0 : -.infinity) }
        var minimum = convolution.biases.map(Double.init), maximum = minimum
        convolution.data.withUnsafeBufferPointer { data in
            var place = 0
            for row in 0..<convolution.rows {
                for _ in 0..<taps {
                    for channel in 0..<depth {
                        let weight = Double(Int(data[place]) - convolution.zeroPoint)
                        place += 1
                        let output = convolution.isDepthwise ? channel : row
                        minimum[output] += weight * (weight > 0 ? low[channel] : high[channel])
                        maximum[output] += weight * (weight > 0 ? high[channel] : low[channel])
                    }
                }
            }
        }
        let floor = convolution.cutsNegatives ? 0 : Double(-convolution.outputZeroPoint)
        let ceiling = Double(255 - convolution.outputZeroPoint)
        func rounded(_ sum: Double, _ margin: Double) -> Double {
            min(max((sum * convolution.multiplier + margin).rounded(), floor), ceiling)
        }
        // The roundings of the engine and of TensorFlow Lite differ by far less than the margin.
        return zip(minimum, maximum).map { rounded($0, -margin)...rounded($1, margin) }
    }

    /// The margin for rounding, in steps of the output.
    private static let margin = 0.01
}

internal import FileFormats

/// A convolution of unsigned bytes with constant weights `q - zero point` that have one scale and one zero point.
struct QuantizedConvolution {
    let isDepthwise: Bool
    /// The indices of its tensors.
    let input: Int, output: Int, weights: Int, bias: Int
    /// `[out, height, width, in]`; `[1, height, width, channels]` for depthwise ones.
    let shape: [Int]
    let data: ArraySlice<UInt8>
    let zeroPoint: Int
    let biases: [Int32]
    /// The zero points of its input and output.
    let inputZeroPoint: Int, outputZeroPoint: Int
    /// The factor that converts a sum to steps of the output.
    let multiplier: Double
    /// True if its activation clips values below zero.
    let cutsNegatives: Bool
    /// The scale of its sums: the product of the scales of input and weights.
    let step: Double
    /// The number that is added to a sum so that the engine rounds it as TensorFlow Lite does, in the same unit as
    /// `step`.
    let shift: Double

    /// Nil if the operator is not such a convolution.
    init?(_ node: TFLiteGraph.Operator, in graph: TFLiteGraph) {
        typealias Code = TFLiteGraph.Code
        guard node.code == Code.convolution || node.code == Code.depthwise, node.inputs.count == 3,
            node.outputs.count == 1, node.inputs.allSatisfy({ $0 >= 0 })
        else { return nil }
        isDepthwise = node.code == Code.depthwise
        (input, weights, bias, output) = (node.inputs[0], node.inputs[1], node.inputs[2], node.outputs[0])
        let tensors = graph.tensors
        let taken = tensors[input], given = tensors[output], filter = tensors[weights]
        guard taken.isUnsignedBytes, given.isUnsignedBytes, filter.isUnsignedBytes, taken.shape.count == 4,
            given.shape.count == 4, filter.shape.count == 4, let zero = filter.zeroPoint,
            let inputZero = taken.zeroPoint, let outputZero = given.zeroPoint, let inputScale = taken.scale,
            let scale = filter.scale,
            let outputScale = given.scale, let data = graph.constant(weights), let raw = graph.constant(bias),
            tensors[bias].type == TFLiteGraph.ElementCode.int32
        else { return nil }
        shape = filter.shape
        self.data = data
        zeroPoint = zero
        var size = 1
        for extent in shape {
            let (product, overflow) = size.multipliedReportingOverflow(by: extent)
            guard extent > 0, !overflow else { return nil }
            size = product
        }
        let channels = isDepthwise ? shape[3] : shape[0]
        // Grouped convolutions, and several outputs for each channel, have other shapes and are not supported.
        guard size == data.count, given.shape[3] == channels, raw.count == 4 * channels, taken.shape[3] == shape[3],
            !isDepthwise || shape[0] == 1
        else { return nil }
        biases = raw.withUnsafeBytes { raw in
            (0..<raw.count / 4).map { raw.loadUnaligned(fromByteOffset: 4 * $0, as: Int32.self) }
        }
        inputZeroPoint = inputZero
        outputZeroPoint = outputZero
        // 1 is RELU, 3 is RELU6 (ActivationFunctionType); if absent, no activation is applied.
        let activation = (try? node.options?.number(isDepthwise ? 4 : 3, Int8.self)) ?? 0
        cutsNegatives = activation == 1 || activation == 3
        step = Double(inputScale) * Double(scale)
        let multiplier = inputScale * scale / outputScale
        self.multiplier = Double(multiplier)
        shift = RoundingShift.shift(multiplier: multiplier, zeroPoint: outputZero) * Double(outputScale)
        guard step.isFinite, shift.isFinite, multiplier > 0, multiplier.isFinite else { return nil }
    }

    /// The number of output channels, and the number of input channels that each of them depends on.
    var channels: Int { isDepthwise ? shape[3] : shape[0] }
    var depth: Int { isDepthwise ? 1 : shape[3] }
    /// The number of rows of the weights, each with all channels of the input.
    var rows: Int { isDepthwise ? 1 : shape[0] }

    /// The input channels with a weight that does not fit into a signed byte; nil if a weight does not fit into the sum
    /// of two.
    /// - Parameter outputs: the output channels to consider.
    func wideChannels(outputs: [Int]) -> [Int]? {
        guard zeroPoint > 0 else { return data.allSatisfy { $0 <= 127 } ? [] : nil }
        let largest = 127 + zeroPoint, minimum = zeroPoint - 128
        var isWide = [Bool](repeating: false, count: shape[3])
        let depth = shape[3], length = data.count / rows
        data.withUnsafeBufferPointer { data in
            for row in isDepthwise ? [0] : outputs {
                var channel = 0
                for place in row * length..<(row + 1) * length {
                    let value = Int(data[place])
                    if value > largest || value < minimum { isWide[channel] = true }
                    channel = channel + 1 == depth ? 0 : channel + 1
                }
            }
        }
        return (isDepthwise ? outputs : Array(isWide.indices)).filter { isWide[$0] }
    }

    /// The weights for an input and an output. Their channels are channel numbers of the file.
    /// - Parameter signed: whether to write signed bytes. A weight that does not fit is then split, and the second copy
    ///   of its channel gets the rest, if there is one. Otherwise the bytes have the file's zero point. Signed weights
    ///   of depthwise convolutions are `[channels, height, width, 1]`.
    func weights(input: [Int], output: [Int], signed: Bool) -> [UInt8] {
        // Indexed by the number of previous copies of the channel, and by the byte in the file.
        var bytes: [UInt8] = []
        for copy in 0..<3 {
            for value in 0..<256 {
                let weight = value - zeroPoint
                let first = signed ? min(max(weight, -128), 127) : weight
                let part = copy == 0 ? first : copy == 1 ? weight - first : 0
                bytes.append(UInt8(truncatingIfNeeded: signed ? part : part + zeroPoint))
            }
        }
        // For each channel, the part of the table to use, and the channel's number in the file.
        var copies: [Int: Int] = [:]
        let taken = (isDepthwise ? output : input).map { channel in
            defer { copies[channel, default: 0] += 1 }
            return (table: isDepthwise ? 0 : 256 * min(2, copies[channel, default: 0]), channel: channel)
        }
        let depth = shape[3], taps = data.count / depth / rows
        if isDepthwise, signed {
            return output.flatMap { channel in
                (0..<taps).map { bytes[Int(data[data.startIndex + $0 * depth + channel])] }
            }
        }
        let rows = isDepthwise ? [0] : output
        let size = rows.count * taps * taken.count
        return data.withUnsafeBufferPointer { data in
            [UInt8](unsafeUninitializedCapacity: size) { result, count in
                for row in rows {
                    for tap in 0..<taps {
                        let start = (row * taps + tap) * depth
                        for place in taken {
                            result[count] = bytes[place.table + Int(data[start + place.channel])]
                            count += 1
                        }
                    }
                }
            }
        }
    }

    /// The biases as 32-bit floats, for an output. Its channels are channel numbers of the file.
    func biases(output: [Int]) -> [UInt8] {
        var bytes: [UInt8] = []
        for channel in output {
            let value = Float(Double(biases[channel]) * step + shift)
            withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes
    }
}

/// The numbers of a layer (NeuralNetwork.proto: WeightParams), decoded as far as the engine needs it.
package struct WeightParameters {
    /// `f32` or `f16`; usually a slice of the file.
    let type: Graph.ElementType
    let bytes: Bytes

    /// Reads as many numbers as the layer's other parameters ask for.
    ///
    /// - Parameters:
    ///   - count: How many. Quantized weights do not tell it themselves: their last byte may be padded.
    ///   - channels: Output channels, the outermost axis: quantized weights may have a scale for each.
    init(_ message: Message?, count: Int, channels: Int) throws(Problem) {
        guard let message else { throw Problem("\(count) numbers are missing") }
        let forms = [1, 2, 30, 31].filter { message.has($0) }
        guard forms.count <= 1 else { throw Problem("the numbers are given in \(forms.count) forms at once") }
        switch forms.first {
        case 1:
            type = .f32
            bytes = try message.packed(1, width: 4)
        case 2:
            type = .f16
            bytes = try message.data(2) ?? .empty
        case 30:
            type = .f32
            guard let quantization = try message.message(40) else {
                throw Problem("there are raw numbers, but nothing says how they are quantized")
            }
            bytes = try QuantizedWeights(quantization, channels: channels).decode(
                message.data(30) ?? .empty, count: count)
        case 31:
            type = .f32
            guard let quantization = try message.message(40) else {
                throw Problem("there are 8-bit numbers, but nothing says how they are quantized")
            }
            bytes = try QuantizedWeights(quantization, channels: channels)
                .decodeSigned(message.data(31) ?? .empty, count: count)
        default: throw Problem("\(count) numbers are missing")
        }
        let found = bytes.count / type.width
        guard bytes.count % type.width == 0, found == count else {
            throw Problem("\(count) numbers are expected, and there are \(found)")
        }
    }

    /// A copy as floats.
    var floats: [Float] {
        type == .f32 ? bytes.elements() : bytes.elements(UInt16.self).map { Float(Float16(bitPattern: $0)) }
    }
}

/// Numbers of 1 to 8 bits and what they stand for (NeuralNetwork.proto: QuantizationParams).
private struct QuantizedWeights {
    let bits: Int
    let scheme: Scheme
    let channels: Int

    enum Scheme {
        /// q · scale + bias, one of each or one a channel.
        case linear(scale: [Float], bias: [Float])
        case table([Float])
    }

    init(_ message: Message, channels: Int) throws(Problem) {
        bits = try message.integer(1)
        self.channels = channels
        guard (1...8).contains(bits) else { throw Problem("quantized numbers of \(bits) bits; 1 to 8 are known") }
        if let table = try message.message(102) {
            let values = try table.floats(1)
            guard values.count == 1 << bits else {
                throw Problem("a table of \(values.count) numbers for \(bits) bits; \(1 << bits) are expected")
            }
            scheme = .table(values)
        } else if let linear = try message.message(101) {
            let (scale, bias) = (try linear.floats(1), try linear.floats(2))
            guard [1, channels].contains(scale.count), [0, 1, channels].contains(bias.count) else {
                throw Problem(
                    "\(scale.count) scales and \(bias.count) biases of quantized numbers; 1 or \(channels) are expected"
                )
            }
            scheme = .linear(scale: scale, bias: bias.isEmpty ? [0] : bias)
        } else {
            throw Problem("nothing says what the quantized numbers stand for")
        }
    }

    /// Unsigned numbers, packed without gaps, the highest bit first.
    func decode(_ packed: Bytes, count: Int) throws(Problem) -> Bytes {
        guard let needed = checkedProduct(count, bits), packed.count == (needed + 7) / 8 else {
            throw Problem("\(count) numbers of \(bits) bits are expected, and there are \(packed.count) bytes")
        }
        let perChannel = Swift.max(1, count / Swift.max(1, channels))
        return packed.withUnsafeBytes { source in
            Bytes(count: count * 4) { target in
                let floats = target.bindMemory(to: Float.self)
                var (pending, held, next) = (0, 0, 0)
                for index in 0..<count {
                    if held < bits {
                        pending = pending << 8 | Int(source[next])
                        next += 1
                        held += 8
                    }
                    held -= bits
                    floats[index] = value(pending >> held & (1 << bits - 1), channel: index / perChannel)
                    pending &= 1 << held - 1
                }
            }
        }
    }

    /// Signed numbers of a byte each.
    func decodeSigned(_ raw: Bytes, count: Int) throws(Problem) -> Bytes {
        guard raw.count == count else { throw Problem("\(count) numbers are expected, and there are \(raw.count)") }
        guard case .linear = scheme else { throw Problem("signed 8-bit numbers have no table") }
        let perChannel = Swift.max(1, count / Swift.max(1, channels))
        return raw.withUnsafeBytes { source in
            Bytes(count: count * 4) { target in
                let floats = target.bindMemory(to: Float.self)
                for index in 0..<count {
                    floats[index] = value(Int(Int8(bitPattern: source[index])), channel: index / perChannel)
                }
            }
        }
    }

    private func value(_ quantized: Int, channel: Int) -> Float {
        switch scheme {
        case .table(let values): values[quantized]
        case .linear(let scale, let bias):
            Float(quantized) * scale[Swift.min(channel, scale.count - 1)] + bias[Swift.min(channel, bias.count - 1)]
        }
    }
}

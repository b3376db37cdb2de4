/// The weights of a layer (NeuralNetwork.proto: WeightParams), decoded as far as the engine needs.
package struct WeightParameters {
    /// `f32` or `f16`; usually a slice of the file.
    let type: Graph.ElementType
    let bytes: Bytes

    /// Reads `count` weights.
    ///
    /// - Parameters:
    ///   - count: the number of weights. Quantized weights do not store it: their last byte may be padded.
    ///   - channels: the number of output channels: quantized weights may have a scale for each.
    ///   - perChannel: the number of consecutive weights of one channel; nil if channels are the outermost axis.
    init(_ message: Message?, count: Int, channels: Int, perChannel: Int? = nil) throws(Problem) {
        guard let message else { throw Problem("\(count) numbers are missing") }
        let forms = [1, 2, 30, 31].filter { message.has($0) }
        guard forms.count <= 1 else { throw Problem("the numbers are given in \(forms.count) forms: expected one") }
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
                throw Problem("there are raw numbers without their quantization")
            }
            bytes = try QuantizedWeights(quantization, count: count, channels: channels, perChannel: perChannel)
                .decode(message.data(30) ?? .empty)
        case 31:
            type = .f32
            guard let quantization = try message.message(40) else {
                throw Problem("there are 8-bit numbers without their quantization")
            }
            bytes = try QuantizedWeights(quantization, count: count, channels: channels, perChannel: perChannel)
                .decodeSigned(message.data(31) ?? .empty)
        default: throw Problem("\(count) numbers are missing")
        }
        let found = bytes.count / type.width
        guard bytes.count % type.width == 0, found == count else {
            throw Problem("expected \(count) numbers, found \(found)")
        }
    }

    /// A copy as floats.
    var floats: [Float] {
        type == .f32 ? bytes.elements() : bytes.elements(UInt16.self).map { Float(Float16(bitPattern: $0)) }
    }
}

/// Weights quantized to 1 to 8 bits (NeuralNetwork.proto: QuantizationParams).
private struct QuantizedWeights {
    let bits: Int
    let count: Int
    let scheme: Scheme

    enum Scheme {
        /// q · scale + bias, with one pair, or one for each channel; each applies to `run` consecutive weights.
        case linear(scale: [Float], bias: [Float], run: Int)
        case table([Float])
    }

    init(_ message: Message, count: Int, channels: Int, perChannel: Int?) throws(Problem) {
        bits = try message.integer(1)
        self.count = count
        guard (1...8).contains(bits) else { throw Problem("quantized numbers of \(bits) bits: expected 1 to 8") }
        if let table = try message.message(102) {
            let values = try table.floats(1)
            guard values.count == 1 << bits else {
                throw Problem("a table of \(values.count) numbers for \(bits) bits: expected \(1 << bits)")
            }
            scheme = .table(values)
        } else if let linear = try message.message(101) {
            var (scale, bias) = (try linear.floats(1), try linear.floats(2))
            if bias.isEmpty { bias = [0] }
            let parts = Swift.max(scale.count, bias.count)
            // A vector may have a scale for each element.
            guard [1, channels, count].contains(parts), [1, parts].contains(scale.count),
                [1, parts].contains(bias.count)
            else {
                throw Problem(
                    "\(scale.count) scales and \(bias.count) biases of quantized numbers: expected 1 or \(channels)"
                )
            }
            if scale.count < parts { scale = Array(repeating: scale[0], count: parts) }
            if bias.count < parts { bias = Array(repeating: bias[0], count: parts) }
            let run = parts == channels && parts != count ? perChannel ?? count / parts : count / Swift.max(1, parts)
            scheme = .linear(scale: scale, bias: bias, run: Swift.max(1, run))
        } else {
            throw Problem("the quantization of the numbers is missing")
        }
    }

    /// Decodes unsigned numbers, packed without gaps, the highest bit first.
    func decode(_ packed: Bytes) throws(Problem) -> Bytes {
        guard let needed = checkedProduct(count, bits), packed.count == (needed + 7) / 8 else {
            throw Problem("expected \(count) numbers of \(bits) bits, found \(packed.count) bytes")
        }
        return packed.withUnsafeBytes { source in
            var (pending, held, next) = (0, 0, 0)
            return floats { _ in
                if held < bits {
                    pending = pending << 8 | Int(source[next])
                    next += 1
                    held += 8
                }
                held -= bits
                let number = pending >> held & (1 << bits - 1)
                pending &= 1 << held - 1
                return number
            }
        }
    }

    /// Decodes signed numbers of one byte each.
    func decodeSigned(_ raw: Bytes) throws(Problem) -> Bytes {
        guard raw.count == count else { throw Problem("expected \(count) numbers, found \(raw.count)") }
        guard case .linear = scheme else { throw Problem("signed 8-bit numbers cannot have a lookup table") }
        return raw.withUnsafeBytes { source in floats { Int(Int8(bitPattern: source[$0])) } }
    }

    /// The weights as 32-bit floats. `number` returns the quantized number at an index, and is called in order.
    private func floats(_ number: (Int) -> Int) -> Bytes {
        Bytes(count: count * 4) { target in
            let floats = target.bindMemory(to: Float.self)
            switch scheme {
            case .table(let values):
                values.withUnsafeBufferPointer { values in
                    for index in 0..<count { floats[index] = values[number(index)] }
                }
            case .linear(let scale, let bias, let run):
                scale.withUnsafeBufferPointer { scale in
                    bias.withUnsafeBufferPointer { bias in
                        var (channel, left) = (0, run)
                        for index in 0..<count {
                            if left == 0 {
                                left = run
                                channel = channel + 1 == scale.count ? 0 : channel + 1
                            }
                            left -= 1
                            floats[index] = Float(number(index)) * scale[channel] + bias[channel]
                        }
                    }
                }
            }
        }
    }
}

package import EngineAPI
internal import FileFormats

/// Rewrites the weights of a TensorFlow Lite model so that the engine can compute with them in integers.
///
/// Older quantized models have unsigned weights with one scale and one zero point for each tensor. The engine computes
/// such convolutions in floats, because its integer kernels take signed bytes. Most weights `q - zero point` fit into
/// signed bytes with the same scale. Of the few others, some become the sum of two weights, for two copies of their
/// input channel (``ChannelCopies``), and some belong to channels that are always zero (``SilentChannels``). Every sum
/// therefore stays exactly the same. Layers whose input channels cannot be duplicated stay unchanged, and so do
/// depthwise convolutions with weights that do not fit.
///
/// Two more changes keep results as close to TensorFlow Lite's as possible: biases are floats, shifted away from halves
/// (``RoundingShift``); and a pooling of one pixel is inserted between a convolution and a sum, because the engine
/// omits a rounding if it fuses the two.
package struct IntegerWeightsWriter {
    private typealias Front = FlatBufferFront

    private let graph: TFLiteGraph
    /// The convolutions by the operator's index.
    private let convolutions: [Int: QuantizedConvolution]
    private var copies: ChannelCopies
    /// The convolutions that get signed weights.
    private var signed: Set<Int> = []
    /// The channels of the graph's input that a convolution needs twice, by its index; a gather operator duplicates
    /// them.
    private var gathered: [Int: [Int]] = [:]

    private var tensors: [Front.Node]
    private var buffers: [Front.Node]
    private var codes: [Front.Node]
    private var operators: [Front.Node] = []
    /// The indices of operator codes that were added to the file.
    private var added: [Int: Int] = [:]
    /// The maximum number of bytes that are added: a quarter more channels on both sides of a convolution increase its
    /// weights by a factor of 1.6.
    private let limit: Int
    private var weightBytes = 0

    /// The rewritten file; nil if rewriting gains nothing, or the form of the file is not supported.
    package static func rewriting(_ file: [UInt8]) -> (file: [UInt8], report: IntegerWeights)? {
        guard let graph = TFLiteGraph(file), var writer = IntegerWeightsWriter(graph) else { return nil }
        do throws(FlatBufferFront.Unsuitable) {
            let root = try writer.write()
            let rewritten = try FlatBufferFront.writing(
                root, identifier: "TFL3", before: file, limit: writer.limit)
            return (rewritten, writer.report)
        } catch {
            return nil
        }
    }

    private init?(_ graph: TFLiteGraph) {
        self.graph = graph
        limit = (1 << 20) + 3 * graph.model.buffer.range.count
        var convolutions: [Int: QuantizedConvolution] = [:]
        for (index, node) in graph.operators.enumerated() {
            convolutions[index] = QuantizedConvolution(node, in: graph)
        }
        // The engine already treats weights with a zero point of 128 as signed.
        let centre = 128
        guard convolutions.values.contains(where: { !$0.isDepthwise && $0.zeroPoint != centre }) else { return nil }
        self.convolutions = convolutions
        copies = ChannelCopies(graph, convolutions: convolutions)
        let silent = SilentChannels(graph, convolutions: convolutions)
        copies.remove(silent, convolutions: convolutions)
        for index in graph.operators.indices {
            guard let convolution = convolutions[index],
                let wide = convolution.wideChannels(outputs: copies.layout(convolution.output))
            else { continue }
            let channels = Set(wide).subtracting(silent.channels(of: convolution.input)).sorted()
            if convolution.isDepthwise {
                // Not possible for depthwise convolutions: the rounded sum of two channels is not the sum of two
                // rounded channels.
                if channels.isEmpty { signed.insert(index) }
            } else if copies.request(channels, of: convolution.input) {
                signed.insert(index)
            } else if graph.inputs.contains(convolution.input), convolution.shape[3] <= 4 {
                // Only for pictures: elsewhere, copying a tensor costs as much time as the integers save.
                signed.insert(index)
                gathered[index] = channels
            }
        }
        copies.arrange()
        tensors = graph.tensors.map { .old($0.table.place) }
        buffers = graph.buffers.map { .old($0.place) }
        codes = graph.codes.map { .old($0.place) }
        guard signed.contains(where: { convolutions[$0]?.zeroPoint != centre }) else { return nil }
    }

    private var report: IntegerWeights {
        let depthwise = convolutions.filter { $0.value.isDepthwise }
        let depthwiseInIntegers = depthwise.keys.count { signed.contains($0) }
        return IntegerWeights(
            convolutions: convolutions.count - depthwise.count, inIntegers: signed.count - depthwiseInIntegers,
            depthwiseConvolutions: depthwise.count, depthwiseInIntegers: depthwiseInIntegers,
            copiedChannels: copies.count + gathered.values.reduce(0) { $0 + $1.count }, reason: nil)
    }

    private mutating func write() throws(Front.Unsuitable) -> Front.Node {
        for index in graph.tensors.indices where copies.isChanged(index) {
            tensors[index] = .table(try fields(ofTensor: index, channels: copies.layout(index).count))
        }
        for (index, node) in graph.operators.enumerated() {
            var inputs = node.inputs
            if let convolution = convolutions[index] {
                if let channels = gathered[index] { inputs[0] = try gather(channels, of: inputs[0]) }
                try write(convolution, at: index)
            } else if node.code == TFLiteGraph.Code.add {
                for (position, input) in inputs.enumerated() where input >= 0 && graph.uses[input] == 1 {
                    guard let producer = graph.producers[input], convolutions[producer] != nil else { continue }
                    inputs[position] = try pool(input)
                }
            }
            let isGrouped = signed.contains(index) && convolutions[index]?.isDepthwise == true
            guard inputs != node.inputs || isGrouped else {
                operators.append(.old(node.table.place))
                continue
            }
            var fields = try node.table.fields(Self.operatorFields)
            fields[1] = .integers(inputs)
            if isGrouped { try writeGrouped(node, into: &fields) }
            operators.append(.table(fields))
        }
        var subgraph = try graph.subgraph.fields(Self.subgraphFields)
        subgraph[0] = .offset(.vector(tensors))
        subgraph[3] = .offset(.vector(operators))
        var model = try graph.model.fields(Self.modelFields)
        model[1] = .offset(.vector(codes))
        model[2] = .offset(.vector([.table(subgraph)]))
        model[4] = .offset(.vector(buffers))
        return .table(model)
    }

    private mutating func write(_ convolution: QuantizedConvolution, at index: Int) throws(Front.Unsuitable) {
        let input = copies.layout(convolution.input) + (gathered[index] ?? [])
        let output = copies.layout(convolution.output)
        let isSigned = signed.contains(index)
        if isSigned || copies.isChanged(convolution.input) || copies.isChanged(convolution.output) {
            var fields = try graph.tensors[convolution.weights].table.fields(Self.tensorFields)
            let (height, width) = (convolution.shape[1], convolution.shape[2])
            let shape =
                !convolution.isDepthwise
                ? [output.count, height, width, input.count]
                : isSigned ? [output.count, height, width, 1] : [1, height, width, output.count]
            fields[0] = .integers(shape)
            fields[7] = nil
            // Several tensors may share the same bytes of the file.
            let taps = convolution.data.count / convolution.channels / convolution.depth
            weightBytes += taps * output.count * (convolution.isDepthwise ? 1 : input.count)
            guard weightBytes <= limit else { throw Front.Unsuitable() }
            let bytes = convolution.weights(input: input, output: output, signed: isSigned)
            fields[2] = add(bytes)
            if isSigned, let scale = graph.tensors[convolution.weights].scale {
                fields[1] = .number(TFLiteGraph.ElementCode.int8)
                fields[4] = .offset(.table(Self.quantization(scale: scale)))
            }
            tensors[convolution.weights] = .table(fields)
        }
        var fields = try graph.tensors[convolution.bias].table.fields(Self.tensorFields)
        let biases = convolution.biases(output: output)
        fields[0] = .integers([output.count])
        fields[1] = .number(TFLiteGraph.ElementCode.float32)
        fields[2] = add(biases)
        fields[4] = nil
        fields[7] = nil
        tensors[convolution.bias] = .table(fields)
    }

    /// Converts a depthwise convolution to one with as many groups as channels, because the engine computes only those
    /// in integers.
    private mutating func writeGrouped(_ node: TFLiteGraph.Operator, into fields: inout [Int: Front.Value]) throws(Front
        .Unsuitable)
    {
        guard var options = try node.options?.fields(Self.depthwiseFields) else { throw Front.Unsuitable() }
        // In the depthwise options, the strides are followed by the channel multiplier, the activation and the
        // dilations; Conv2DOptions has no multiplier.
        options[3] = options[4]
        options[4] = options[5]
        options[5] = options[6]
        options[6] = nil
        fields[0] = operatorCode(TFLiteGraph.Code.convolution)
        fields[3] = .number(UInt8(1))
        fields[4] = .offset(.table(options))
    }

    /// Adds an operator that duplicates channels of a picture. Returns its output.
    private mutating func gather(_ channels: [Int], of input: Int) throws(Front.Unsuitable) -> Int {
        let all = Array(0..<graph.tensors[input].shape[3]) + channels
        guard case .offset(.numbers(_, _, let bytes)) = Front.Value.integers(all) else { throw Front.Unsuitable() }
        let indices: [Int: Front.Value] = [
            0: .integers([all.count]), 1: .number(TFLiteGraph.ElementCode.int32),
            2: add(bytes), 3: name(),
        ]
        tensors.append(.table(indices))
        let indicesIndex = tensors.count - 1
        let output = try tensor(like: input, channels: all.count)
        let options: [Int: Front.Value] = [0: .number(Int32(3))]
        operators.append(
            .table([
                0: operatorCode(TFLiteGraph.Code.gather), 1: .integers([input, indicesIndex]), 2: .integers([output]),
                3: .number(UInt8(23)), 4: .offset(.table(options)),
            ]))
        return output
    }

    /// Adds an operator that passes its input on unchanged. Returns its output.
    private mutating func pool(_ input: Int) throws(Front.Unsuitable) -> Int {
        let output = try tensor(like: input, channels: copies.layout(input).count)
        // Valid padding; strides and filter sides of 1.
        let options: [Int: Front.Value] = [
            0: .number(Int8(1)), 1: .number(Int32(1)), 2: .number(Int32(1)), 3: .number(Int32(1)), 4: .number(Int32(1)),
        ]
        operators.append(
            .table([
                0: operatorCode(TFLiteGraph.Code.maxPool), 1: .integers([input]), 2: .integers([output]),
                3: .number(UInt8(5)), 4: .offset(.table(options)),
            ]))
        return output
    }

    private mutating func tensor(like index: Int, channels: Int) throws(Front.Unsuitable) -> Int {
        var fields = try fields(ofTensor: index, channels: channels)
        // The first buffer is empty by convention.
        fields[2] = .number(UInt32(0))
        fields[3] = name()
        tensors.append(.table(fields))
        return tensors.count - 1
    }

    private func fields(ofTensor index: Int, channels: Int) throws(Front.Unsuitable) -> [Int: Front.Value] {
        let tensor = graph.tensors[index]
        var fields = try tensor.table.fields(Self.tensorFields)
        fields[0] = .integers(tensor.shape.dropLast() + [channels])
        // The shape signature, which has open axes.
        let signature: [Int]?
        do throws(FormatError) {
            signature = try tensor.table.integers(7)
        } catch {
            throw Front.Unsuitable()
        }
        if let axes = signature {
            guard axes.count == tensor.shape.count else { throw Front.Unsuitable() }
            fields[7] = .integers(axes.dropLast() + [channels])
        }
        return fields
    }

    private func name() -> Front.Value { .offset(.string("ocelli/\(tensors.count)")) }

    /// The index of an operator code, which is added if necessary.
    private mutating func operatorCode(_ code: Int) -> Front.Value {
        if let index = graph.codes.firstIndex(where: { TFLiteGraph.code($0) == code }) {
            return .number(UInt32(index))
        }
        if let index = added[code] { return .number(UInt32(index)) }
        codes.append(
            .table([0: .number(Int8(truncatingIfNeeded: code)), 2: .number(Int32(1)), 3: .number(Int32(code))]))
        added[code] = codes.count - 1
        return .number(UInt32(codes.count - 1))
    }

    /// Adds a buffer, and returns its index.
    private mutating func add(_ bytes: [UInt8]) -> Front.Value {
        buffers.append(.table([0: .offset(.numbers(count: bytes.count, alignment: 16, bytes))]))
        return .number(UInt32(buffers.count - 1))
    }

    /// Quantization parameters with one scale, and the zero point 0.
    private static func quantization(scale: Float) -> [Int: Front.Value] {
        [
            2: .integers([Int(Int32(bitPattern: scale.bitPattern))]),
            3: .offset(.numbers(count: 1, alignment: 8, [UInt8](repeating: 0, count: 8))),
        ]
    }

    private static let depthwiseFields: [Front.Kind] = [
        .number(1), .number(4), .number(4), .number(4), .number(1), .number(4), .number(4),
    ]
    private static let modelFields: [Front.Kind] =
        [.number(4), .offset, .offset, .offset, .offset, .offset, .offset, .offset]
    private static let subgraphFields: [Front.Kind] = [.offset, .offset, .offset, .offset, .offset, .number(4)]
    private static let tensorFields: [Front.Kind] = [
        .offset, .number(1), .number(4), .offset, .offset, .number(1), .offset, .offset, .number(1), .offset,
        .number(4),
    ]
    private static let operatorFields: [Front.Kind] = [
        .number(4), .offset, .offset, .number(1), .offset, .offset, .number(1), .offset, .offset, .number(8),
        .number(8), .number(1), .offset, .number(4),
    ]
}

/// The operators and tensors of a TensorFlow Lite file with one subgraph, as far as rewriting its weights needs them.
///
/// Field numbers: TensorFlow Lite's schema.fbs.
struct TFLiteGraph {
    struct Tensor {
        let table: FlatBufferBytes.Table
        let shape: [Int]
        let type: UInt8
        let buffer: Int
        /// Of the whole tensor; nil if it is not quantized, or has one for each channel.
        let scale: Float?
        let zeroPoint: Int?

        /// Unsigned bytes with one scale.
        var isUnsignedBytes: Bool { type == ElementCode.uint8 && scale != nil }
        var isVariable: Bool { (table.integer(5, as: UInt8.self) ?? 0) != 0 }
    }

    struct Operator {
        let table: FlatBufferBytes.Table
        let code: Int
        var inputs: [Int]
        let outputs: [Int]
        var options: FlatBufferBytes.Table? { table.table(4) }
    }

    enum ElementCode {
        static let float32: UInt8 = 0, int32: UInt8 = 2, uint8: UInt8 = 3, int8: UInt8 = 9
    }

    enum Code {
        static let add = 0, averagePool = 1, concatenation = 2, convolution = 3, depthwise = 4, maxPool = 17
        static let relu = 19, relu6 = 21, gather = 36, quantize = 114
        static let fullyConnected = 9, transposedConvolution = 67, matrixProduct = 126, convolution3D = 132
    }

    let model: FlatBufferBytes.Table
    let subgraph: FlatBufferBytes.Table
    let codes: [FlatBufferBytes.Table]
    let buffers: [FlatBufferBytes.Table]
    let tensors: [Tensor]
    let operators: [Operator]
    let inputs: [Int], outputs: [Int]
    /// The operator that gives a tensor.
    let producers: [Int: Int]
    /// The number of times that a tensor is an operator's input or the graph's output.
    let uses: [Int: Int]

    /// Many times what models have.
    private static let mostTables = 200_000, mostOperands = 4_096

    /// Nil for a file that is not of this form: damaged, with several subgraphs, with data outside of the tables, or with operators
    /// that take what later ones give.
    init?(_ file: [UInt8]) {
        guard file.count > 8, file[4..<8].elementsEqual("TFL3".utf8) else { return nil }
        let buffer = FlatBufferBytes(bytes: file)
        guard let model = buffer.root, let codes = model.tables(1, atMost: 1_024),
            let graphs = model.tables(2, atMost: 1), graphs.count == 1,
            let buffers = model.tables(4, atMost: Self.mostTables),
            let tables = graphs[0].tables(0, atMost: Self.mostTables),
            let nodes = graphs[0].tables(3, atMost: Self.mostTables),
            let inputs = Self.indices(graphs[0], 1, below: tables.count),
            let outputs = Self.indices(graphs[0], 2, below: tables.count)
        else { return nil }
        // Data of very large files is beside the tables, at places counted from the file's beginning.
        guard buffers.allSatisfy({ ($0.integer(1, as: UInt64.self) ?? 0) <= 1 }) else { return nil }
        var operators: [Operator] = []
        var producers: [Int: Int] = [:], uses: [Int: Int] = [:]
        for (index, table) in nodes.enumerated() {
            let code = Int(table.integer(0, as: UInt32.self) ?? 0)
            guard codes.indices.contains(code), let taken = table.list(1, atMost: Self.mostOperands),
                let given = Self.indices(table, 2, below: tables.count),
                taken.allSatisfy({ $0 >= -1 && $0 < tables.count })
            else { return nil }
            for input in taken where input >= 0 { uses[input, default: 0] += 1 }
            for output in given {
                // Given twice, or taken before it is given.
                guard producers[output] == nil, uses[output] == nil else { return nil }
                producers[output] = index
            }
            operators.append(
                Operator(table: table, code: Self.code(codes[code]), inputs: taken, outputs: given))
        }
        for output in outputs { uses[output, default: 0] += 1 }
        self.model = model
        subgraph = graphs[0]
        self.codes = codes
        self.buffers = buffers
        tensors = tables.map(Self.tensor)
        self.operators = operators
        self.inputs = inputs
        self.outputs = outputs
        self.producers = producers
        self.uses = uses
    }

    /// Both fields name the operator; the newer one has room for numbers above 127.
    static func code(_ table: FlatBufferBytes.Table) -> Int {
        max(Int(table.integer(0, as: Int8.self) ?? 0), Int(table.integer(3, as: Int32.self) ?? 0))
    }

    /// The bytes of a constant tensor, where no other tensor has them; nil otherwise.
    func constant(_ index: Int) -> ArraySlice<UInt8>? {
        guard producers[index] == nil, uses[index] == 1, !inputs.contains(index) else { return nil }
        let buffer = tensors[index].buffer
        guard buffer > 0, buffers.indices.contains(buffer) else { return nil }
        return buffers[buffer].vector(0, size: 1)?.bytes
    }

    /// The number of layers that the engine computes with bytes: convolutions, fully connected layers and matrix products whose
    /// two operands are bytes. Those that ``IntegerWeightsWriter`` would rewrite are not among them.
    var integerLayers: Int {
        // The places of the operands; the first input of a transposed convolution is a shape.
        let places = [
            Code.convolution: (0, 1), Code.depthwise: (0, 1), Code.fullyConnected: (0, 1),
            Code.transposedConvolution: (2, 1), Code.matrixProduct: (0, 1), Code.convolution3D: (0, 1),
        ]
        // Weights that are looked at; tensors may share them.
        var left = model.buffer.bytes.count
        return operators.count { node in
            guard let (first, second) = places[node.code], node.inputs.count > max(first, second) else { return false }
            let (value, weights) = (node.inputs[first], node.inputs[second])
            guard value >= 0, weights >= 0, [ElementCode.uint8, ElementCode.int8].contains(tensors[value].type) else {
                return false
            }
            // Scales of channels keep depthwise convolutions in floats.
            if node.code == Code.depthwise, tensors[weights].scale == nil { return false }
            return tensors[weights].type == ElementCode.int8 || isSigned(weights, &left)
        }
    }

    /// True if unsigned weights become signed bytes when their zero point is taken off. The others become floats.
    private func isSigned(_ index: Int, _ left: inout Int) -> Bool {
        guard tensors[index].isUnsignedBytes, let zero = tensors[index].zeroPoint, let bytes = constant(index),
            bytes.count <= left
        else { return false }
        left -= bytes.count
        return bytes.withUnsafeBufferPointer { bytes in bytes.allSatisfy { (-128...127).contains(Int($0) - zero) } }
    }

    private static func indices(_ table: FlatBufferBytes.Table, _ field: Int, below count: Int) -> [Int]? {
        guard let values = table.list(field, atMost: mostOperands) else { return nil }
        return values.allSatisfy { $0 >= 0 && $0 < count } ? values : nil
    }

    private static func tensor(_ table: FlatBufferBytes.Table) -> Tensor {
        let quantization = table.table(4)
        let scales = quantization?.vector(2, size: 4), zeros = quantization?.vector(3, size: 8)
        let scale = scales.flatMap { $0.count == 1 ? table.buffer.read($0.start, as: UInt32.self) : nil }
        let zero = zeros.flatMap { $0.count == 1 ? table.buffer.read($0.start, as: Int64.self) : nil }
        return Tensor(
            table: table, shape: table.list(0, atMost: 8) ?? [],
            type: table.integer(1, as: UInt8.self) ?? 0, buffer: Int(table.integer(2, as: UInt32.self) ?? 0),
            // Scales of real models are far within these.
            scale: scale.map { Float(bitPattern: $0) }.flatMap { $0 > 1e-20 && $0 < 1e20 ? $0 : nil },
            zeroPoint: zero.flatMap { (0...255).contains($0) ? Int($0) : nil })
    }
}

extension FlatBufferBytes.Table {
    /// A vector of 32-bit numbers; nil if there is none, or it is longer.
    fileprivate func list(_ field: Int, atMost most: Int) -> [Int]? {
        guard let vector = vector(field, size: 4), vector.count <= most else { return nil }
        return (0..<vector.count).compactMap { buffer.read(vector.start + 4 * $0, as: Int32.self).map(Int.init) }
    }

    fileprivate func tables(_ field: Int, atMost most: Int) -> [FlatBufferBytes.Table]? {
        guard let vector = vector(field, size: 4), vector.count <= most else { return nil }
        return tables(field)
    }
}

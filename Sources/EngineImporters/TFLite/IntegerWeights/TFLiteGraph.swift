internal import FileFormats

/// The operators and tensors of one subgraph of a TensorFlow Lite file, as far as rewriting, cutting and judging the
/// file needs them.
///
/// Field numbers: TensorFlow Lite's schema.fbs.
package struct TFLiteGraph {
    struct Tensor {
        let table: FlatBuffer.Table
        let shape: [Int]
        let type: UInt8
        let buffer: Int
        /// The scale and zero point of the whole tensor; nil if it is not quantized, or has one for each channel.
        let scale: Float?
        let zeroPoint: Int?
        /// The number of scales: one for the whole tensor, or one for each channel.
        let scaleCount: Int

        /// True for unsigned bytes with one scale.
        var isUnsignedBytes: Bool { type == ElementCode.uint8 && scale != nil }
        var isVariable: Bool { ((try? table.number(5, UInt8.self)) ?? 0) != 0 }
    }

    struct Operator {
        let table: FlatBuffer.Table
        let code: Int
        var inputs: [Int]
        let outputs: [Int]
        var options: FlatBuffer.Table? { try? table.table(4) }
    }

    enum ElementCode {
        static let float32: UInt8 = 0, int32: UInt8 = 2, uint8: UInt8 = 3, int8: UInt8 = 9
    }

    enum Code {
        static let add = 0, averagePool = 1, concatenation = 2, convolution = 3, depthwise = 4, maxPool = 17
        static let relu = 19, relu6 = 21, gather = 36, quantize = 114
        static let fullyConnected = 9, transposedConvolution = 67, matrixProduct = 126, convolution3D = 132
    }

    let model: FlatBuffer.Table
    let subgraph: FlatBuffer.Table
    let codes: [FlatBuffer.Table]
    let buffers: [FlatBuffer.Table]
    let tensors: [Tensor]
    let operators: [Operator]
    let inputs: [Int], outputs: [Int]
    /// The operator that produces each tensor.
    let producers: [Int: Int]
    /// The number of times that each tensor is an operator's input or the graph's output.
    let uses: [Int: Int]

    /// The maximum number of an operator's inputs or outputs, far more than models have.
    private static let maximumOperands = 4_096
    /// The maximum number of inputs and outputs of all operators together, because many may refer to the same list.
    private static let maximumOperandsOfFile = 1 << 20

    /// Nil if the file does not have this form: it is damaged, has several subgraphs, has data outside of the tables,
    /// or has operators that use outputs of later ones.
    package init?(_ file: [UInt8]) {
        do {
            let graphs = try Self.graphs(of: file, maximum: 1)
            // Very large files have data outside of the tables, at offsets from the beginning of the file.
            for buffer in graphs[0].buffers where try buffer.number(1, UInt64.self) ?? 0 > 1 { return nil }
            self = graphs[0]
        } catch {
            return nil
        }
    }

    /// The subgraphs of a file, at least one; the first is the main one.
    /// - Throws: if the file is damaged, has more than `maximum` subgraphs, or has operators that are not in the order
    ///   of execution.
    static func graphs(of file: [UInt8], maximum: Int) throws(FormatError) -> [TFLiteGraph] {
        let model = try FlatBuffer(ByteSource(file), identifier: "TFL3").root()
        guard let tables = try model.tables(2, maximum: maximum), !tables.isEmpty else {
            throw FormatError("has no subgraph")
        }
        guard let codes = try model.tables(1, maximum: 1_024),
            let buffers = try model.tables(4, maximum: FlatBuffer.maximumTables)
        else { throw FormatError("has no list of operator codes or buffers") }
        var left = maximumOperandsOfFile
        var graphs: [TFLiteGraph] = []
        for table in tables { graphs.append(try TFLiteGraph(table, of: model, codes, buffers, &left)) }
        return graphs
    }

    /// - Parameter left: the number of operands that operators may still have.
    private init(
        _ subgraph: FlatBuffer.Table, of model: FlatBuffer.Table, _ codes: [FlatBuffer.Table],
        _ buffers: [FlatBuffer.Table], _ left: inout Int
    ) throws(FormatError) {
        let tables = try subgraph.tables(0, maximum: FlatBuffer.maximumTables) ?? []
        let nodes = try subgraph.tables(3, maximum: FlatBuffer.maximumTables) ?? []
        let inputs = try Self.indices(subgraph, 1, in: 0..<tables.count)
        let outputs = try Self.indices(subgraph, 2, in: 0..<tables.count)
        var operators: [Operator] = []
        var producers: [Int: Int] = [:], uses: [Int: Int] = [:]
        for (index, table) in nodes.enumerated() {
            let code = Int(try table.number(0, UInt32.self) ?? 0)
            guard codes.indices.contains(code) else { throw FormatError("has an operator without a code") }
            // -1 is an optional input that is not given.
            let taken = try Self.indices(table, 1, in: -1..<tables.count)
            let given = try Self.indices(table, 2, in: 0..<tables.count)
            left -= taken.count + given.count
            guard left >= 0 else { throw FormatError("has more than \(Self.maximumOperandsOfFile) operands") }
            for input in taken where input >= 0 { uses[input, default: 0] += 1 }
            for output in given {
                guard producers[output] == nil else { throw FormatError("has operators with the same output") }
                guard uses[output] == nil else {
                    throw FormatError("has operators that are not in the order of execution")
                }
                producers[output] = index
            }
            operators.append(
                Operator(table: table, code: Self.code(codes[code]), inputs: taken, outputs: given))
        }
        for output in outputs { uses[output, default: 0] += 1 }
        self.model = model
        self.subgraph = subgraph
        self.codes = codes
        self.buffers = buffers
        var tensors: [Tensor] = []
        for table in tables { tensors.append(try Self.tensor(table)) }
        self.tensors = tensors
        self.operators = operators
        self.inputs = inputs
        self.outputs = outputs
        self.producers = producers
        self.uses = uses
    }

    /// The code of an operator: both fields contain it; the newer one allows numbers above 127.
    static func code(_ table: FlatBuffer.Table) -> Int {
        max(Int((try? table.number(0, Int8.self)) ?? 0), Int((try? table.number(3, Int32.self)) ?? 0))
    }

    /// The bytes of a constant tensor, if no other operator uses it; otherwise nil.
    func constant(_ index: Int) -> ArraySlice<UInt8>? {
        guard producers[index] == nil, uses[index] == 1, !inputs.contains(index) else { return nil }
        let buffer = tensors[index].buffer
        guard buffer > 0, buffers.indices.contains(buffer) else { return nil }
        return try? buffers[buffer].bytes(0)
    }

    /// The number of layers that the engine computes with bytes: convolutions, fully connected layers and matrix
    /// products whose two operands are bytes. Layers that ``IntegerWeightsWriter`` would rewrite are excluded.
    package var integerLayers: Int {
        // The positions of the operands; the first input of a transposed convolution is a shape.
        let places = [
            Code.convolution: (0, 1), Code.depthwise: (0, 1), Code.fullyConnected: (0, 1),
            Code.transposedConvolution: (2, 1), Code.matrixProduct: (0, 1), Code.convolution3D: (0, 1),
        ]
        // The remaining number of bytes of weights to examine, because tensors may share them.
        var left = model.buffer.range.count
        return operators.count { node in
            guard let (first, second) = places[node.code], node.inputs.count > max(first, second) else { return false }
            let (value, weights) = (node.inputs[first], node.inputs[second])
            guard value >= 0, weights >= 0, [ElementCode.uint8, ElementCode.int8].contains(tensors[value].type) else {
                return false
            }
            // With a scale for each channel, depthwise convolutions are computed in floats.
            if node.code == Code.depthwise, tensors[weights].scale == nil { return false }
            return tensors[weights].type == ElementCode.int8 || isSigned(weights, &left)
        }
    }

    /// True if unsigned weights fit into signed bytes after their zero point is subtracted. Otherwise the engine
    /// converts them to floats.
    private func isSigned(_ index: Int, _ left: inout Int) -> Bool {
        guard tensors[index].isUnsignedBytes, let zero = tensors[index].zeroPoint, let bytes = constant(index),
            bytes.count <= left
        else { return false }
        left -= bytes.count
        return bytes.withUnsafeBufferPointer { bytes in bytes.allSatisfy { (-128...127).contains(Int($0) - zero) } }
    }

    /// A list of tensors; empty if it is missing.
    private static func indices(
        _ table: FlatBuffer.Table, _ field: Int, in range: Range<Int>
    ) throws(FormatError) -> [Int] {
        let values = try table.integers(field, maximum: maximumOperands) ?? []
        guard values.allSatisfy(range.contains) else { throw FormatError("refers to a tensor that does not exist") }
        return values
    }

    private static func tensor(_ table: FlatBuffer.Table) throws(FormatError) -> Tensor {
        let quantization = try table.table(4)
        func only<T: FixedWidthInteger>(_ field: Int, _ type: T.Type) throws(FormatError) -> T? {
            // A tensor may have many scales, one for each channel, which are not read.
            guard try quantization?.vector(field, elementBytes: MemoryLayout<T>.size)?.count == 1 else { return nil }
            return try quantization?.numbers(field, type)?.first
        }
        let scale = try only(2, UInt32.self), zero = try only(3, Int64.self)
        let axes = try table.vector(0, elementBytes: 4)?.count ?? 0
        return Tensor(
            table: table, shape: axes <= 8 ? try table.integers(0) ?? [] : [],
            type: try table.number(1, UInt8.self) ?? 0, buffer: Int(try table.number(2, UInt32.self) ?? 0),
            // The scales of real models are well within these limits.
            scale: scale.map { Float(bitPattern: $0) }.flatMap { $0 > 1e-20 && $0 < 1e20 ? $0 : nil },
            zeroPoint: zero.flatMap { (0...255).contains($0) ? Int($0) : nil },
            scaleCount: try quantization?.vector(2, elementBytes: 4)?.count ?? 0)
    }
}

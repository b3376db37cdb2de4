import FileFormats
import Testing

/// A small TensorFlow Lite file, written table by table. Field numbers: schema.fbs.
struct TinyTFLite {
    typealias Node = FlatBufferFront.Node
    typealias Value = FlatBufferFront.Value

    enum Kind: UInt8 {
        case float = 0, int32 = 2, uint8 = 3, int64 = 4, string = 5, bool = 6, int16 = 7, int8 = 9, resource = 13
    }

    /// The operators that the tests use, by their codes in schema.fbs.
    enum Code: Int {
        case add = 0, averagePool = 1, convolution = 3, dequantize = 6, fullyConnected = 9, reshape = 22
        case custom = 32, cast = 53, argMax = 56, shape = 77, logistic = 14, range = 96, unique = 103, where_ = 109
        case quantize = 114, pack = 83, while_ = 119, suppression4 = 120, callOnce = 129, varHandle = 142
        case readVariable = 143, assignVariable = 144, randomUniform = 148, randomNormal = 146, multinomial = 149
        case lstm = 44, svdf = 27, mul = 18, greater = 61, transposeConvolution = 67, tile = 69, resizeNearest = 97
    }

    struct Subgraph {
        var tensors: [[Int: Value]] = []
        var operators: [[Int: Value]] = []
        var inputs: [Int]? = [], outputs: [Int]? = []

        /// Adds a tensor and returns its index.
        mutating func tensor(
            _ kind: Kind = .float, _ shape: [Int] = [1, 4], name: String? = nil, buffer: Int = 0, scale: Float? = nil,
            zero: Int64 = 0
        ) -> Int {
            var fields: [Int: Value] = [
                0: .integers(shape), 1: .number(kind.rawValue), 2: .number(UInt32(buffer)),
                3: .offset(.string(name ?? "t\(tensors.count)")),
            ]
            if let scale {
                fields[4] = .offset(
                    .table([
                        2: .integers([Int(Int32(bitPattern: scale.bitPattern))]),
                        3: .offset(
                            .numbers(count: 1, alignment: 8, withUnsafeBytes(of: zero.littleEndian, Array.init))),
                    ]))
            }
            tensors.append(fields)
            return tensors.count - 1
        }
    }

    var main = Subgraph()
    /// Subgraphs after the main one.
    var others: [Subgraph] = []
    /// The data of buffers after the first one, which is empty.
    var buffers: [[UInt8]] = []
    /// More fields of the model.
    var fields: [Int: Value] = [:]
    private var codes: [[Int: Value]] = []

    /// Adds a buffer and returns its index.
    mutating func buffer(_ bytes: [UInt8] = [0, 0, 128, 63]) -> Int {
        buffers.append(bytes)
        return buffers.count
    }

    /// A constant of the main subgraph.
    mutating func constant(
        _ kind: Kind = .float, _ shape: [Int] = [1], _ bytes: [UInt8] = [0, 0, 128, 63], scale: Float? = nil
    ) -> Int {
        main.tensor(kind, shape, buffer: buffer(bytes), scale: scale)
    }

    /// An operator for a subgraph.
    /// - Parameter options: the type of the table of options, and its fields.
    mutating func node(
        _ code: Code, _ inputs: [Int], _ outputs: [Int], options: (UInt8, [Int: Value])? = nil, custom: String? = nil
    ) -> [Int: Value] {
        var entry: [Int: Value] = [
            0: .number(Int8(truncatingIfNeeded: min(code.rawValue, 127))), 2: .number(Int32(1)),
            3: .number(Int32(code.rawValue)),
        ]
        if let custom { entry[1] = .offset(.string(custom)) }
        codes.append(entry)
        var fields: [Int: Value] = [
            0: .number(UInt32(codes.count - 1)), 1: .integers(inputs), 2: .integers(outputs),
        ]
        if let (type, table) = options {
            fields[3] = .number(type)
            fields[4] = .offset(.table(table))
        }
        return fields
    }

    /// Adds an operator to the main subgraph.
    mutating func add(
        _ code: Code, _ inputs: [Int], _ outputs: [Int], options: (UInt8, [Int: Value])? = nil, custom: String? = nil
    ) {
        main.operators.append(node(code, inputs, outputs, options: options, custom: custom))
    }

    /// Adds an operator with one new output, and returns the output.
    mutating func chain(
        _ code: Code, _ inputs: [Int], _ kind: Kind = .float, name: String? = nil, scale: Float? = nil,
        options: (UInt8, [Int: Value])? = nil
    ) -> Int {
        let output = main.tensor(kind, name: name, scale: scale)
        add(code, inputs, [output], options: options)
        return output
    }

    /// A list of signatures with one entry.
    mutating func addSignature() {
        fields[7] = .offset(.vector([.table([2: .offset(.string("serving_default"))])]))
    }

    func bytes() throws -> [UInt8] {
        let graphs = ([main] + others).map { graph in
            var fields: [Int: Value] = [
                0: .offset(.vector(graph.tensors.map { .table($0) })),
                3: .offset(.vector(graph.operators.map { .table($0) })),
            ]
            if let inputs = graph.inputs { fields[1] = .integers(inputs) }
            if let outputs = graph.outputs { fields[2] = .integers(outputs) }
            return Node.table(fields)
        }
        var model: [Int: Value] = [
            0: .number(UInt32(3)), 1: .offset(.vector(codes.map { .table($0) })), 2: .offset(.vector(graphs)),
            4: .offset(
                .vector(
                    [.table([:])]
                        + buffers.map { .table([0: .offset(.numbers(count: $0.count, alignment: 16, $0))]) })),
        ]
        model.merge(fields) { $1 }
        return try FlatBufferFront.writing(.table(model), identifier: "TFL3", before: [], limit: 1 << 20)
    }
}

/// The parts of a TensorFlow Lite file that the tests compare, read without EngineImporters.
struct ReadTFLite {
    let inputs: [Int], outputs: [Int]
    /// The inputs and outputs of each operator of the main subgraph.
    let operators: [(inputs: [Int], outputs: [Int])]
    let names: [String]
    let signatures: Int, subgraphs: Int

    init(_ bytes: [UInt8]) throws {
        let model = try FlatBuffer(ByteSource(bytes), identifier: "TFL3").root()
        let graphs = try #require(try model.tables(2))
        inputs = try graphs[0].integers(1) ?? []
        outputs = try graphs[0].integers(2) ?? []
        operators = try (graphs[0].tables(3) ?? []).map { (try $0.integers(1) ?? [], try $0.integers(2) ?? []) }
        names = try (graphs[0].tables(0) ?? []).map { try $0.text(3) ?? "" }
        signatures = try model.count(7)
        subgraphs = graphs.count
    }
}

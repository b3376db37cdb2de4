public import Foundation

/// A TensorFlow Lite file made of a few operators, for tests. Field numbers: TensorFlow Lite's schema.fbs.
public struct TFLiteModel: Sendable {
    /// A tensor: its shape (-1 is open), its type's number in the schema, and its bytes if it is constant.
    public struct Tensor: Sendable {
        let name: String, shape: [Int], type: UInt8
        var constant: [UInt8]?
        /// The scale and zero point of 8-bit tensors.
        var quantization: (scale: Float, zeroPoint: Int)?

        /// 32-bit floats are 0, 32-bit integers 2, unsigned bytes 3, signed bytes 9.
        public init(
            _ name: String, _ shape: [Int], type: UInt8 = 0, constant: [UInt8]? = nil,
            quantization: (scale: Float, zeroPoint: Int)? = nil
        ) {
            self.name = name
            self.shape = shape
            self.type = type
            self.constant = constant
            self.quantization = quantization
        }
    }

    /// An operator: its number, the indices of its tensors (-1 is left out), its options, and the name of one that is
    /// not TensorFlow Lite's (32).
    public struct Operator: Sendable {
        let code: Int, version: Int, inputs: [Int], outputs: [Int]
        /// The type's number of the options, and their fields.
        let options: (type: UInt8, fields: [(Int, Scalar)])?
        let name: String

        /// An operator with the given values.
        public init(
            _ code: Int, version: Int = 1, _ inputs: [Int], _ outputs: [Int],
            options: (type: UInt8, fields: [(Int, Scalar)])? = nil, name: String = ""
        ) {
            self.code = code
            self.version = version
            self.inputs = inputs
            self.outputs = outputs
            self.options = options
            self.name = name
        }

        /// The fields that operators share in the file's table of operators.
        fileprivate var kind: Kind { Kind(code: code, version: version, name: name) }

        fileprivate struct Kind: Hashable, Comparable {
            let code: Int, version: Int, name: String

            static func < (a: Kind, b: Kind) -> Bool {
                (a.code, a.version, a.name) < (b.code, b.version, b.name)
            }
        }
    }

    /// A number in a table.
    public enum Scalar: Sendable {
        case byte(UInt8)
        case int(Int32)
        case float(Float)
    }

    let tensors: [Tensor], operators: [Operator], inputs: [Int], outputs: [Int]

    /// A file with one graph; inputs and outputs are indices of tensors.
    public init(tensors: [Tensor], operators: [Operator], inputs: [Int], outputs: [Int]) {
        self.tensors = tensors
        self.operators = operators
        self.inputs = inputs
        self.outputs = outputs
    }

    /// A row of poolings over wide windows, and the mean of each of three channels: for a picture of one color its
    /// color.
    /// - Parameter pooling: the operator: 1 is AVERAGE_POOL_2D; 12 is L2_POOL_2D, which only LiteRT runs, and can stop
    ///   after each.
    public static func slow(layers: Int, side: Int = 256, window: Int = 63, pooling: Int = 12) -> TFLiteModel {
        var tensors = [Tensor("image", [1, side, side, 3])]
        var operators: [Operator] = []
        for layer in 0..<layers {
            tensors.append(Tensor("x\(layer + 1)", [1, side, side, 3]))
            // Pool2DOptions is 5: padding (0 is SAME), strides, sides of the window.
            operators.append(
                Operator(
                    pooling, [layer], [layer + 1],
                    options: (
                        5, [(1, .int(1)), (2, .int(1)), (3, .int(Int32(window))), (4, .int(Int32(window)))]
                    )))
        }
        let axes: [Int32] = [1, 2]
        tensors.append(Tensor("axes", [2], type: 2, constant: axes.withUnsafeBytes { [UInt8]($0) }))
        tensors.append(Tensor("mean", [1, 3]))
        // MEAN is 40.
        operators.append(Operator(40, [layers, layers + 1], [layers + 2], options: (27, [])))
        return TFLiteModel(tensors: tensors, operators: operators, inputs: [0], outputs: [layers + 2])
    }

    /// The file's bytes.
    public var bytes: Data {
        let kinds = Set(operators.map(\.kind)).sorted()
        let constants = tensors.compactMap(\.constant)
        var next = 0
        let tables = tensors.map { tensor -> Node in
            var fields: [(Int, Node)] = [
                (0, .numbers(tensor.shape.map { Int32(max(1, $0)) })), (1, .scalar(.byte(tensor.type))),
                (3, .text(tensor.name)),
            ]
            if tensor.constant != nil {
                next += 1
                fields.append((2, .scalar(.int(Int32(next)))))
            }
            if let (scale, zeroPoint) = tensor.quantization {
                fields.append(
                    (4, .table([(2, .floats([scale])), (3, .longs([Int64(zeroPoint)]))])))
            }
            if tensor.shape.contains(-1) { fields.append((7, .numbers(tensor.shape.map { Int32($0) }))) }
            return .table(fields)
        }
        let nodes = operators.map { node -> Node in
            var fields: [(Int, Node)] = [
                (0, .scalar(.int(Int32(kinds.firstIndex(of: node.kind) ?? 0)))),
                (1, .numbers(node.inputs.map { Int32($0) })), (2, .numbers(node.outputs.map { Int32($0) })),
            ]
            if let options = node.options {
                fields.append((3, .scalar(.byte(options.type))))
                fields.append((4, .table(options.fields.map { ($0.0, .scalar($0.1)) })))
            }
            return .table(fields)
        }
        let graph = Node.table([
            (0, .list(tables)), (1, .numbers(inputs.map { Int32($0) })), (2, .numbers(outputs.map { Int32($0) })),
            (3, .list(nodes)), (4, .text("main")),
        ])
        let model = Node.table([
            (0, .scalar(.int(3))),
            (
                1,
                .list(
                    kinds.map { kind in
                        .table(
                            [
                                (0, .scalar(.byte(UInt8(min(kind.code, 127))))),
                                (2, .scalar(.int(Int32(kind.version)))),
                                (3, .scalar(.int(Int32(kind.code)))),
                            ] + (kind.name.isEmpty ? [] : [(1, .text(kind.name))]))
                    })
            ),
            (2, .list([graph])),
            (4, .list([.table([])] + constants.map { .table([(0, .data($0))]) })),
        ])
        var writer = Writer()
        writer.write(model)
        return Data(writer.bytes)
    }

    /// A part of a FlatBuffer.
    private indirect enum Node {
        case scalar(Scalar)
        case table([(Int, Node)])
        case list([Node])
        case numbers([Int32]), longs([Int64]), floats([Float])
        case data([UInt8])
        case text(String)
    }

    /// Writes a FlatBuffer from the front: offsets lead to parts that are written later.
    private struct Writer {
        var bytes: [UInt8] = []

        /// Writes a file with this root, and the identifier `TFL3`.
        mutating func write(_ root: Node) {
            append(UInt32(0))
            bytes += Array("TFL3".utf8)
            point(at: 0, to: root)
        }

        private mutating func append<T>(_ value: T) { withUnsafeBytes(of: value) { bytes += $0 } }
        private mutating func align(_ size: Int, after lead: Int = 0) {
            while (bytes.count + lead) % size != 0 { bytes.append(0) }
        }

        /// Writes a part, and its distance to the place that refers to it.
        private mutating func point(at place: Int, to node: Node) {
            let position = part(node)
            withUnsafeBytes(of: UInt32(position - place)) { bytes.replaceSubrange(place..<place + 4, with: $0) }
        }

        /// - Returns: the position of the part.
        private mutating func part(_ node: Node) -> Int {
            switch node {
            case .scalar: return bytes.count
            case .table(let fields): return table(fields)
            case .list(let nodes):
                align(4)
                let position = bytes.count
                append(UInt32(nodes.count))
                for _ in nodes { append(UInt32(0)) }
                for (index, node) in nodes.enumerated() { point(at: position + 4 + 4 * index, to: node) }
                return position
            case .numbers(let values): return vector(values)
            case .longs(let values): return vector(values)
            case .floats(let values): return vector(values)
            case .data(let values):
                // Constants are aligned to 16 bytes.
                align(16, after: 4)
                return vector(values)
            case .text(let text):
                let position = vector(Array(text.utf8))
                bytes.append(0)
                return position
            }
        }

        private mutating func vector<T>(_ values: [T]) -> Int {
            align(max(4, MemoryLayout<T>.size), after: MemoryLayout<T>.size == 1 ? 0 : 4)
            if MemoryLayout<T>.size == 1 { align(4) }
            let position = bytes.count
            append(UInt32(values.count))
            for value in values { append(value) }
            return position
        }

        private mutating func table(_ fields: [(Int, Node)]) -> Int {
            let count = (fields.map(\.0).max() ?? -1) + 1
            align(4)
            let list = bytes.count
            append(UInt16(4 + 2 * count))
            append(UInt16(4 + 4 * fields.count))
            for _ in 0..<count { append(UInt16(0)) }
            align(4)
            let position = bytes.count
            append(Int32(position - list))
            var places: [(Int, Node)] = []
            for (slot, (field, node)) in fields.enumerated() {
                let offset = UInt16(4 + 4 * slot)
                withUnsafeBytes(of: offset) {
                    bytes.replaceSubrange(list + 4 + 2 * field..<list + 6 + 2 * field, with: $0)
                }
                switch node {
                case .scalar(.byte(let value)): append(UInt32(value))
                case .scalar(.int(let value)): append(value)
                case .scalar(.float(let value)): append(value)
                default:
                    places.append((bytes.count, node))
                    append(UInt32(0))
                }
            }
            for (place, node) in places { point(at: place, to: node) }
            return position
        }
    }
}

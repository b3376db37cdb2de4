public import Foundation

/// Writes small ONNX files (onnx.proto): graphs of nodes with attributes of integers, numbers and texts, for tests that
/// need particular operators.
public struct ONNXFile: Sendable {
    /// A node: its operator, the names of its inputs and outputs, and its attributes.
    public struct Node: Sendable {
        let operation: String, inputs: [String], outputs: [String]
        let integers: [(String, [Int])], texts: [(String, String)], domain: String
        private(set) var numbers: [(String, [Float])] = [], lists: [(String, [String])] = []

        /// Creates a node.
        /// - Parameter integers: attributes; one integer makes a number, several make a list.
        public init(
            _ operation: String, _ inputs: [String], _ outputs: [String], integers: [(String, [Int])] = [],
            texts: [(String, String)] = [], domain: String = ""
        ) {
            self.operation = operation
            self.inputs = inputs
            self.outputs = outputs
            self.integers = integers
            self.texts = texts
            self.domain = domain
        }

        /// The node with more attributes: lists of numbers, and of texts.
        public func with(numbers: [(String, [Float])] = [], lists: [(String, [String])] = []) -> Node {
            var node = self
            node.numbers += numbers
            node.lists += lists
            return node
        }
    }

    private let nodes: [Node]
    private let inputs: [(String, [Int])], outputs: [(String, [Int])]
    private let constants: [(String, [Float])]
    private let weights: [(name: String, count: Int, file: String)]
    private let maps: [String]
    private let opset: Int
    /// Constants with axes: their types are TensorProto's, and their values bytes.
    private var tensors: [(name: String, shape: [Int], type: Int, raw: [UInt8])] = []

    /// TensorProto's type of the inputs: 32-bit floats, or integers.
    private var inputType = 1

    /// The file with inputs of 32-bit integers.
    public var withIntegerInputs: ONNXFile {
        var file = self
        file.inputType = 6
        return file
    }

    /// The file with a constant of 32-bit floats in this shape; none for a scalar.
    public func with(_ name: String, _ shape: [Int], _ values: [Float]) -> ONNXFile {
        var file = self
        file.tensors.append((name, shape, 1, values.withUnsafeBytes { [UInt8]($0) }))
        return file
    }

    /// The file with a constant of 64-bit integers in this shape.
    public func with(_ name: String, _ shape: [Int], integers: [Int64]) -> ONNXFile {
        var file = self
        file.tensors.append((name, shape, 7, integers.withUnsafeBytes { [UInt8]($0) }))
        return file
    }

    /// The file with a constant of unsigned bytes in this shape; none for a scalar.
    public func with(_ name: String, _ shape: [Int], bytes: [UInt8]) -> ONNXFile {
        var file = self
        file.tensors.append((name, shape, 2, bytes))
        return file
    }

    /// A file with inputs and outputs of 32-bit floats in these shapes, -1 for an open axis.
    /// - Parameters:
    ///   - weights: constants of `count` numbers, which are the bytes of another file.
    ///   - maps: further outputs, which are sequences of numbers by label, as of ZipMap.
    public init(
        _ nodes: [Node], inputs: [(String, [Int])], outputs: [(String, [Int])], constants: [(String, [Float])] = [],
        weights: [(name: String, count: Int, file: String)] = [], maps: [String] = [], opset: Int = 19
    ) {
        self.nodes = nodes
        self.inputs = inputs
        self.outputs = outputs
        self.constants = constants
        self.weights = weights
        self.maps = maps
        self.opset = opset
    }

    /// A row of poolings over wide windows that gives the mean of each of three channels, with a selectable amount of
    /// arithmetic.
    /// - Parameter isFlat: whether the means have no axes for rows and columns.
    public static func slow(layers: Int, side: Int = 256, window: Int = 63, isFlat: Bool = false) -> ONNXFile {
        let pad = (window - 1) / 2
        var nodes = (0..<layers).map { index in
            Node(
                "AveragePool", [index == 0 ? "image" : "x\(index)"], ["x\(index + 1)"],
                integers: [("kernel_shape", [window, window]), ("pads", [pad, pad, pad, pad])])
        }
        nodes.append(Node("GlobalAveragePool", ["x\(layers)"], [isFlat ? "means" : "mean"]))
        if isFlat { nodes.append(Node("Flatten", ["means"], ["mean"])) }
        return ONNXFile(
            nodes, inputs: [("image", [1, 3, side, side])], outputs: [("mean", isFlat ? [1, 3] : [1, 3, 1, 1])])
    }

    /// The file's bytes.
    public var bytes: Data {
        var graph: [UInt8] = []
        for node in nodes { graph += field(1, bytes(of: node)) }
        graph += field(2, Array("graph".utf8))
        for (name, values) in constants {
            let raw = values.withUnsafeBytes { [UInt8]($0) }
            graph += field(
                5,
                field(1, varint(values.count), isBytes: false) + number(2, 1) + field(8, Array(name.utf8))
                    + field(9, raw))
        }
        for (name, shape, type, raw) in tensors {
            let extents = shape.flatMap { field(1, varint($0), isBytes: false) }
            graph += field(5, extents + number(2, type) + field(8, Array(name.utf8)) + field(9, raw))
        }
        for (name, count, file) in weights {
            // TensorProto: external_data = 13 (StringStringEntryProto), data_location = 14 (EXTERNAL is 1).
            let entry = field(1, Array("location".utf8)) + field(2, Array(file.utf8))
            graph += field(
                5,
                field(1, varint(count), isBytes: false) + number(2, 1) + field(8, Array(name.utf8)) + field(13, entry)
                    + number(14, 1))
        }
        for (name, shape) in inputs { graph += field(11, value(name, shape, type: inputType)) }
        for (name, shape) in outputs { graph += field(12, value(name, shape)) }
        for name in maps { graph += field(12, map(name)) }
        var model = number(1, 9) + field(7, graph) + field(8, number(2, opset))
        for domain in Set(nodes.map(\.domain)) where !domain.isEmpty {
            model += field(8, field(1, Array(domain.utf8)) + number(2, 1))
        }
        return Data(model)
    }

    private func bytes(of node: Node) -> [UInt8] {
        var bytes: [UInt8] = []
        for name in node.inputs { bytes += field(1, Array(name.utf8)) }
        for name in node.outputs { bytes += field(2, Array(name.utf8)) }
        bytes += field(4, Array(node.operation.utf8))
        for (name, values) in node.integers {
            // AttributeProto: i = 3, ints = 8, type = 20 (INT 2, INTS 7).
            var attribute = field(1, Array(name.utf8))
            if values.count == 1 {
                attribute += number(3, values[0]) + number(20, 2)
            } else {
                for value in values { attribute += number(8, value) }
                attribute += number(20, 7)
            }
            bytes += field(5, attribute)
        }
        for (name, text) in node.texts {
            bytes += field(5, field(1, Array(name.utf8)) + field(4, Array(text.utf8)) + number(20, 3))
        }
        for (name, values) in node.numbers {
            // Packed: floats = 7 (FLOATS is 6); strings = 9 (STRINGS is 8).
            let raw = values.withUnsafeBytes { [UInt8]($0) }
            bytes += field(5, field(1, Array(name.utf8)) + field(7, raw) + number(20, 6))
        }
        for (name, texts) in node.lists {
            let entries = texts.flatMap { field(9, Array($0.utf8)) }
            bytes += field(5, field(1, Array(name.utf8)) + entries + number(20, 8))
        }
        return node.domain.isEmpty ? bytes : bytes + field(7, Array(node.domain.utf8))
    }

    /// ValueInfoProto with a tensor, by default of 32-bit floats.
    private func value(_ name: String, _ shape: [Int], type: Int = 1) -> [UInt8] {
        var extents: [UInt8] = []
        for extent in shape { extents += field(1, extent < 0 ? field(2, Array("n".utf8)) : number(1, extent)) }
        let tensor = number(1, type) + field(2, extents)
        return field(1, Array(name.utf8)) + field(2, field(1, tensor))
    }

    /// ValueInfoProto with a sequence of maps from strings to 32-bit floats.
    private func map(_ name: String) -> [UInt8] {
        let float = field(1, number(1, 1)), string = 8
        let map = field(5, number(1, string) + field(2, float))
        return field(1, Array(name.utf8)) + field(2, field(4, field(1, map)))
    }

    private func number(_ number: Int, _ value: Int) -> [UInt8] { varint(number << 3) + varint(value) }

    private func field(_ number: Int, _ bytes: [UInt8], isBytes: Bool = true) -> [UInt8] {
        isBytes ? varint(number << 3 | 2) + varint(bytes.count) + bytes : varint(number << 3) + bytes
    }

    private func varint(_ value: Int) -> [UInt8] {
        var bytes: [UInt8] = [], rest = UInt64(bitPattern: Int64(value))
        while rest >= 0x80 {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }
}

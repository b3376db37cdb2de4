package import FileFormats
internal import Glibc

/// Reads the facts of an ONNX file (onnx.proto) that ONNX Runtime does not report.
package enum ONNXGraph {
    /// A node's operator, its outputs, and the ranges of its attributes in the file.
    package struct Node {
        package var operation = "", domain = ""
        var outputs: [String] = []
        var attributes: [Range<Int>] = []
    }

    /// An attribute that is an integer, text, or a list of integers or texts.
    package struct Attribute {
        package var name = "", integer: Int64?, text: String?
        var integers: [Int64] = [], texts: [String] = []
    }

    private static let maximumNodes = 200_000, maximumValues = 1_000_000

    /// Calls `take` with the nodes of the main graph; in a damaged file, with those before the damage.
    package static func nodes(_ source: ByteSource, _ take: (Node) throws(FormatError) -> Void) throws(FormatError) {
        var count = 0
        var model = ProtobufWalk(source, 0..<source.count)
        while let field = try model.next() {
            guard field.number == 7, case .bytes(let range) = field.value else { continue }
            var graph = ProtobufWalk(source, range)
            while let field = try graph.next() {
                guard field.number == 1, case .bytes(let range) = field.value else { continue }
                count += 1
                guard count <= maximumNodes else { throw FormatError("has more than \(maximumNodes) nodes") }
                try take(try node(range, source))
            }
        }
    }

    /// True if an input of the main graph has elements of this type (TensorProto.DataType); false in a damaged file.
    package static func hasInput(of type: UInt64, _ source: ByteSource) -> Bool {
        // ModelProto.graph, GraphProto.input, ValueInfoProto.type, TypeProto.tensor_type, Tensor.elem_type.
        func find(_ path: ArraySlice<Int>, _ range: Range<Int>) -> Bool {
            var walk = ProtobufWalk(source, range)
            while let field = (try? walk.next()) ?? nil {
                guard field.number == path.first ?? 1 else { continue }
                switch field.value {
                case .bytes(let part) where !path.isEmpty: if find(path.dropFirst(), part) { return true }
                case .varint(let value) where path.isEmpty: if value == type { return true }
                default: break
                }
            }
            return false
        }
        return find([7, 11, 2, 1], 0..<source.count)
    }

    /// The integer attribute of a node; nil if the node does not have it, or in a damaged file.
    package static func integer(_ name: String, of node: Node, _ source: ByteSource) -> Int64? {
        node.attributes.lazy.compactMap { try? attribute($0, source) }.first { $0.name == name }?.integer
    }

    package static func node(_ range: Range<Int>, _ source: ByteSource) throws(FormatError) -> Node {
        var node = Node()
        var walk = ProtobufWalk(source, range)
        while let field = try walk.next() {
            guard case .bytes(let part) = field.value else { continue }
            switch field.number {
            case 2: node.outputs.append(try text(part, source))
            case 4: node.operation = try text(part, source)
            case 5: node.attributes.append(part)
            case 7: node.domain = try text(part, source)
            default: break
            }
        }
        return node
    }

    package static func attribute(_ range: Range<Int>, _ source: ByteSource) throws(FormatError) -> Attribute {
        var attribute = Attribute()
        var walk = ProtobufWalk(source, range)
        while let field = try walk.next() {
            guard attribute.integers.count + attribute.texts.count < maximumValues else { break }
            switch (field.number, field.value) {
            case (1, .bytes(let part)): attribute.name = try text(part, source)
            case (3, .varint(let value)): attribute.integer = Int64(bitPattern: value)
            case (4, .bytes(let part)): attribute.text = try text(part, source)
            case (8, .varint(let value)): attribute.integers.append(Int64(bitPattern: value))
            case (8, .bytes(let part)):
                // Packed encoding.
                try source.bytes(at: part.lowerBound, count: part.count).withUnsafeBytes { bytes in
                    var place = 0
                    while let (value, length) = ProtobufField.varint(bytes, at: place) {
                        attribute.integers.append(Int64(bitPattern: value))
                        place += length
                    }
                }
            case (9, .bytes(let part)): attribute.texts.append(try text(part, source))
            default: break
            }
        }
        return attribute
    }

    private static func text(_ range: Range<Int>, _ source: ByteSource) throws(FormatError) -> String {
        String(decoding: try source.bytes(at: range.lowerBound, count: range.count), as: UTF8.self)
    }
}

/// The labels of the outputs of ZipMap nodes, which are sequences of maps by label.
package enum ONNXClasses {
    /// The labels by the output's name, in the order of the maps' keys in ONNX Runtime: by number, or by bytes.
    package static func read(_ source: ByteSource) -> [String: ClassLabelList] {
        var classes: [String: ClassLabelList] = [:]
        // The engine reports damage.
        try? ONNXGraph.nodes(source) { (node) throws(FormatError) in
            guard node.operation == "ZipMap", let output = node.outputs.first else { return }
            for range in node.attributes {
                let attribute = try ONNXGraph.attribute(range, source)
                if attribute.name == "classlabels_int64s", !attribute.integers.isEmpty {
                    classes[output] = .integers(Array(Set(attribute.integers)).sorted())
                } else if attribute.name == "classlabels_strings", !attribute.texts.isEmpty {
                    classes[output] = .strings(
                        Array(Set(attribute.texts)).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
                }
            }
        }
        return classes
    }
}

package import EngineAPI
package import FileFormats
internal import Glibc
internal import ModelFacts

/// A part of the graph of an ONNX file (onnx.proto) as a model of its own: the nodes and weights that some outputs
/// need.
package struct ONNXCut {
    /// The names of the inputs that the part needs.
    package let inputs: [String]

    /// A piece of the new file.
    private enum Piece {
        case bytes([UInt8])
        /// A range of the original file.
        case range(Range<Int>)

        var count: Int {
            switch self {
            case .bytes(let bytes): bytes.count
            case .range(let range): range.count
            }
        }
    }

    private let pieces: [Piece]
    private let file: OpenFile

    private static let maximumNodes = 200_000
    /// The maximum size of a file in which a length is encoded as an `int`.
    private static let maximumBytes = 2 << 30

    /// Finds the part. Blocks: reads the graph, but not the weights.
    /// - Parameters:
    ///   - outputs: the outputs of the graph that the part has.
    ///   - borders: outputs of the graph that are inputs of the part.
    package init(_ path: String, outputs: [String], from borders: [String] = []) throws(FormatError) {
        do throws(FileFailure) {
            file = try OpenFile(path)
        } catch {
            throw FormatError("cannot be read: \(error.reason)")
        }
        let file = file
        let source = ByteSource(count: file.size) { file.bytes($0) }
        let (before, graph) = try Self.graph(source)
        var parts = try Parts(graph, source)
        try parts.reach(outputs, from: Set(borders))
        inputs = parts.neededInputs
        let inside = parts.pieces(outputs, borders)
        let size = inside.reduce(0) { $0 + $1.count }
        pieces = before + [.bytes(ProtobufWriter.head(7, length: size))] + inside
        guard pieces.reduce(0, { $0 + $1.count }) < Self.maximumBytes else {
            throw FormatError("has a part of more than 2 GiB")
        }
    }

    /// The names of the outputs of a file's graph. Blocks.
    package static func outputs(of path: String) throws(FormatError) -> [String] {
        guard let file = try? OpenFile(path),
            let ports = ONNXReader.ports(ByteSource(count: file.size) { file.bytes($0) })
        else { throw FormatError("cannot be read") }
        return ports.outputs
    }

    /// Writes the part as a new file. Blocks.
    package func write(to path: String) throws(FileFailure) {
        let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw FileFailure(code: errno) }
        defer { close(number) }
        for piece in pieces {
            switch piece {
            case .bytes(let bytes): try Self.write(bytes, to: number)
            case .range(let range):
                for start in stride(from: range.lowerBound, to: range.upperBound, by: 1 << 20) {
                    let part = start..<min(start + 1 << 20, range.upperBound)
                    let bytes = file.bytes(part)
                    guard bytes.count == part.count else { throw FileFailure(code: EIO) }
                    try Self.write(bytes, to: number)
                }
            }
        }
    }

    private static func write(_ bytes: [UInt8], to number: Int32) throws(FileFailure) {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress.map { $0 + done }, $0.count - done) }
            guard count > 0 || count < 0 && errno == EINTR else { throw FileFailure(code: count < 0 ? errno : EIO) }
            done += max(0, count)
        }
    }

    /// The other fields of the model, and the range of its graph.
    private static func graph(_ source: ByteSource) throws(FormatError) -> (before: [Piece], graph: Range<Int>) {
        var before: [Piece] = [], graph: Range<Int>?
        var walk = ProtobufWalk(source, 0..<source.count), start = 0
        while let field = try walk.next() {
            if field.number == 7, case .bytes(let range) = field.value {
                graph = range
            } else {
                before.append(.range(start..<field.end))
            }
            start = field.end
        }
        guard let graph else { throw FormatError("has no graph") }
        return (before, graph)
    }

    /// The parts of a graph.
    private struct Parts {
        private struct Node {
            let field: Range<Int>
            var inputs: [String] = [], outputs: [String] = []
        }

        private struct Named {
            let field: Range<Int>, content: Range<Int>
            let name: String
            var isExternal = false
        }

        private var nodes: [Node] = []
        private var weights: [Named] = [], sparseWeights: [Range<Int>] = [], inputs: [Named] = [], outputs: [Named] = []
        /// The name of the graph, and its documentation.
        private var others: [Range<Int>] = []
        private var needed: Set<String> = [], kept: Set<Int> = []

        /// GraphProto: node = 1, name = 2, initializer = 5, doc_string = 10, input = 11, output = 12,
        /// sparse_initializer = 15. The other fields describe values or their quantization.
        init(_ graph: Range<Int>, _ source: ByteSource) throws(FormatError) {
            var walk = ProtobufWalk(source, graph), start = graph.lowerBound
            while let field = try walk.next() {
                let range = start..<field.end
                start = field.end
                guard case .bytes(let content) = field.value else { continue }
                switch field.number {
                case 1:
                    guard nodes.count < ONNXCut.maximumNodes else {
                        throw FormatError("has more than \(ONNXCut.maximumNodes) nodes")
                    }
                    nodes.append(try Self.node(range, content, source))
                case 5: weights.append(try Self.named(range, content, field: 8, source))
                case 11: inputs.append(try Self.named(range, content, field: 1, source))
                case 12: outputs.append(try Self.named(range, content, field: 1, source))
                case 15: sparseWeights.append(range)
                case 2, 10: others.append(range)
                default: break
                }
            }
        }

        /// Finds the nodes that some values need, back to the inputs or to `borders`.
        mutating func reach(_ wanted: [String], from borders: Set<String>) throws(FormatError) {
            for name in wanted where !outputs.contains(where: { $0.name == name }) {
                throw FormatError("has no output \"\(name)\"")
            }
            var makers: [String: Int] = [:]
            for (index, node) in nodes.enumerated() { for output in node.outputs { makers[output] = index } }
            var open = wanted
            while let name = open.popLast() {
                guard needed.insert(name).inserted, !borders.contains(name), let maker = makers[name],
                    kept.insert(maker).inserted
                else { continue }
                open += nodes[maker].inputs
            }
            if let weight = weights.first(where: { $0.isExternal && needed.contains($0.name) }) {
                throw FormatError(
                    "has weights in other files (\"\(weight.name)\"), and both sides: export them as text_model.onnx and "
                        + "vision_model.onnx")
            }
        }

        var neededInputs: [String] {
            let constants = Set(weights.map(\.name))
            return inputs.map(\.name).filter { needed.contains($0) && !constants.contains($0) }
        }

        func pieces(_ wanted: [String], _ borders: [String]) -> [Piece] {
            func ranges(_ named: [Named]) -> [Piece] {
                named.filter { needed.contains($0.name) }.map { .range($0.field) }
            }
            var pieces = nodes.indices.filter(kept.contains).map { Piece.range(nodes[$0].field) }
            pieces += others.map { .range($0) } + ranges(weights) + sparseWeights.map { .range($0) } + ranges(inputs)
            for output in outputs where borders.contains(output.name) && needed.contains(output.name) {
                pieces += [.bytes(ProtobufWriter.head(11, length: output.content.count)), .range(output.content)]
            }
            return pieces + outputs.filter { wanted.contains($0.name) }.map { .range($0.field) }
        }

        /// NodeProto: input = 1, output = 2, attribute = 5; AttributeProto: g = 6, graphs = 11. The values that the
        /// nodes of an inner graph take may be those of the outer graph.
        private static func node(
            _ field: Range<Int>, _ content: Range<Int>, _ source: ByteSource, depth: Int = 0
        ) throws(FormatError) -> Node {
            guard depth < 16 else { throw FormatError("has graphs at more than 16 levels") }
            var node = Node(field: field)
            var walk = ProtobufWalk(source, content)
            while let member = try walk.next() {
                guard case .bytes(let part) = member.value else { continue }
                switch member.number {
                case 1: node.inputs.append(try text(part, source))
                case 2: node.outputs.append(try text(part, source))
                case 5:
                    var attribute = ProtobufWalk(source, part)
                    while let inner = try attribute.next() {
                        guard inner.number == 6 || inner.number == 11, case .bytes(let graph) = inner.value else {
                            continue
                        }
                        var nodes = ProtobufWalk(source, graph)
                        while let field = try nodes.next() {
                            // An output of an inner graph may be a value of the outer graph, too.
                            if field.number == 12, case .bytes(let output) = field.value {
                                node.inputs.append(try named(output, output, field: 1, source).name)
                            }
                            guard field.number == 1, case .bytes(let range) = field.value else { continue }
                            node.inputs += try self.node(range, range, source, depth: depth + 1).inputs
                        }
                    }
                default: break
                }
            }
            return node
        }

        /// A message with a name. TensorProto: name = 8, data_location = 14 (1: external); ValueInfoProto: name = 1.
        private static func named(
            _ field: Range<Int>, _ content: Range<Int>, field number: Int, _ source: ByteSource
        ) throws(FormatError) -> Named {
            var name = "", isExternal = false
            var walk = ProtobufWalk(source, content)
            while let member = try walk.next() {
                switch (member.number, member.value) {
                case (number, .bytes(let part)): name = try text(part, source)
                case (14, .varint(1)): isExternal = true
                default: break
                }
            }
            return Named(field: field, content: content, name: name, isExternal: isExternal)
        }

        private static func text(_ range: Range<Int>, _ source: ByteSource) throws(FormatError) -> String {
            String(decoding: try source.bytes(at: range.lowerBound, count: range.count), as: UTF8.self)
        }
    }
}

package import FileFormats

/// Finds the last operations of a TensorFlow graph's outputs (tensorflow/core/protobuf/{saved_model,meta_graph}.proto,
/// tensorflow/core/framework/{graph, function,node_def}.proto): in a SavedModel by its signature, through the functions
/// in which Keras wraps a model; in a frozen graph by the nodes without a consumer. Weights are skipped.
package enum TensorFlowReader {
    private static let maximumNodes = 200_000, maximumFunctions = 20_000, maximumOutputs = 16, maximumName = 65_536

    /// - Parameter name: `saved_model.pb`.
    package static func savedModel(_ source: ByteSource, name: String) -> FactSheet {
        read(source, name: name) { (source: ByteSource) throws(FormatError) -> [(String, GraphEnding)] in
            var walk = ProtobufWalk(source, 0..<source.count)
            while let field = try walk.next() {
                // SavedModel.meta_graphs; the first one is served.
                if field.number == 2, case .bytes(let range) = field.value { return try metaGraph(range, source) }
            }
            return []
        }
    }

    /// Reads a frozen graph: `*.pb`.
    package static func frozenGraph(_ source: ByteSource, name: String) -> FactSheet {
        read(source, name: name) { (source: ByteSource) throws(FormatError) -> [(String, GraphEnding)] in
            var graph = try TensorFlowGraph(0..<source.count, source)
            let taken = Set(graph.nodes.values.flatMap(\.inputs).map { TensorFlowGraph.node(of: $0) })
            let ends = graph.nodes.keys.filter { name in
                guard let node = graph.nodes[name], !taken.contains(name) else { return false }
                return !["NoOp", "Const", "Placeholder", "Assert"].contains(node.operation)
            }.sorted()
            var endings: [(String, GraphEnding)] = []
            for name in ends.prefix(maximumOutputs) {
                if let ending = try graph.ending(of: name, source) { endings.append((name, ending)) }
            }
            return endings
        }
    }

    /// The number of a SavedModel's layers with both operands rounded to 8 bits (`FakeQuantWithMinMaxVars` and similar
    /// operators, left by training for quantization); 0 if it cannot be read.
    package static func integerLayers(_ source: ByteSource) -> Int {
        do throws(FormatError) {
            var walk = ProtobufWalk(source, 0..<source.count)
            while let field = try walk.next() {
                guard field.number == 2, case .bytes(let metaGraph) = field.value else { continue }
                var inner = ProtobufWalk(source, metaGraph)
                while let member = try inner.next() {
                    guard member.number == 2, case .bytes(let range) = member.value else { continue }
                    var graph = try TensorFlowGraph(range, source)
                    return try graph.integerLayers(source)
                }
            }
        } catch {
            // The engine reports what is wrong with the file.
        }
        return 0
    }

    private static func read(
        _ source: ByteSource, name: String,
        _ body: (ByteSource) throws(FormatError) -> [(String, GraphEnding)]
    ) -> FactSheet {
        var sheet = FactSheet()
        do throws(FormatError) {
            sheet.endings = try body(source).map {
                OutputEnding(output: $0.0, fact: Fact($0.1, source: name, key: "the last operator"))
            }
        } catch {
            sheet.problems.append(FactProblem(source: name, reason: error.reason))
        }
        return sheet
    }

    /// MetaGraphDef: graph_def = 2, signature_def = 5.
    private static func metaGraph(
        _ range: Range<Int>, _ source: ByteSource
    ) throws(FormatError) -> [(String, GraphEnding)] {
        var graphs: [Range<Int>] = []
        var signatures: [String: Range<Int>] = [:]
        var walk = ProtobufWalk(source, range)
        while let field = try walk.next() {
            guard case .bytes(let part) = field.value else { continue }
            if field.number == 2 { graphs.append(part) }
            if field.number == 5, signatures.count < 1_000, let (name, value) = try entry(part, source) {
                signatures[name] = value
            }
        }
        let usable = signatures.keys.filter { $0 != "__saved_model_init_op" }.sorted()
        guard let graph = graphs.first,
            let name = usable.first(where: { $0 == "serving_default" }) ?? usable.first,
            let signature = signatures[name]
        else { return [] }
        var outputs: [(key: String, tensor: String)] = []
        var fields = ProtobufWalk(source, signature)
        while let field = try fields.next() {
            // SignatureDef.outputs = 2, a map to TensorInfo, with name = 1.
            guard field.number == 2, outputs.count < maximumOutputs, case .bytes(let part) = field.value,
                let (key, info) = try entry(part, source)
            else { continue }
            var inner = ProtobufWalk(source, info)
            while let member = try inner.next() {
                if member.number == 1, case .bytes(let text) = member.value {
                    outputs.append((key, try self.text(text, source)))
                }
            }
        }
        var trace = try TensorFlowGraph(graph, source)
        var endings: [(String, GraphEnding)] = []
        for output in outputs {
            if let ending = try trace.ending(of: output.tensor, source) { endings.append((output.key, ending)) }
        }
        return endings
    }

    /// A map's entry: key = 1, value = 2.
    fileprivate static func entry(
        _ range: Range<Int>, _ source: ByteSource
    ) throws(FormatError) -> (key: String, value: Range<Int>)? {
        var key: String?, value: Range<Int>?
        var walk = ProtobufWalk(source, range)
        while let field = try walk.next() {
            guard case .bytes(let part) = field.value else { continue }
            if field.number == 1 { key = try text(part, source) }
            if field.number == 2 { value = part }
        }
        guard let key, let value else { return nil }
        return (key, value)
    }

    fileprivate static func text(_ range: Range<Int>, _ source: ByteSource) throws(FormatError) -> String {
        String(
            decoding: try source.bytes(at: range.lowerBound, count: range.count, maximum: maximumName), as: UTF8.self)
    }

    /// A graph's nodes, and the functions that they call.
    private struct TensorFlowGraph {
        struct Node {
            var operation = ""
            var inputs: [String] = []
            /// The called function, if the node is a call.
            var function: String?
        }

        /// A function's nodes, the names of its outputs in order, and the tensor of each.
        private struct Function {
            var nodes: [String: Node] = [:]
            var outputs: [String] = []
            var results: [String: String] = [:]
        }

        private(set) var nodes: [String: Node] = [:]
        private var functions: [String: Range<Int>] = [:]
        private var left = maximumNodes

        /// GraphDef: node = 1, library = 2.
        init(_ range: Range<Int>, _ source: ByteSource) throws(FormatError) {
            var walk = ProtobufWalk(source, range)
            while let field = try walk.next() {
                guard case .bytes(let part) = field.value else { continue }
                if field.number == 1 { try Self.add(part, to: &nodes, &left, source) }
                if field.number == 2 { try library(part, source) }
            }
        }

        /// FunctionDefLibrary.function = 1; FunctionDef.signature = 1, with name = 1.
        private mutating func library(_ range: Range<Int>, _ source: ByteSource) throws(FormatError) {
            var walk = ProtobufWalk(source, range)
            while let field = try walk.next() {
                guard field.number == 1, case .bytes(let function) = field.value else { continue }
                guard functions.count < maximumFunctions else {
                    throw FormatError("has more than \(maximumFunctions) functions")
                }
                var inner = ProtobufWalk(source, function)
                find: while let member = try inner.next() {
                    guard member.number == 1, case .bytes(let signature) = member.value else { continue }
                    var parts = ProtobufWalk(source, signature)
                    while let part = try parts.next() {
                        guard part.number == 1, case .bytes(let text) = part.value else { continue }
                        functions[try TensorFlowReader.text(text, source)] = function
                        break find
                    }
                }
            }
        }

        /// NodeDef: name = 1, op = 2, input = 3, attr = 5.
        private static func add(
            _ range: Range<Int>, to nodes: inout [String: Node], _ left: inout Int, _ source: ByteSource
        ) throws(FormatError) {
            left -= 1
            guard left >= 0 else { throw FormatError("has more than \(maximumNodes) nodes") }
            var node = Node()
            var name = ""
            var walk = ProtobufWalk(source, range)
            while let field = try walk.next() {
                guard case .bytes(let part) = field.value else { continue }
                switch field.number {
                case 1: name = try TensorFlowReader.text(part, source)
                case 2: node.operation = try TensorFlowReader.text(part, source)
                case 3:
                    guard node.inputs.count < 1_024 else { continue }
                    let input = try TensorFlowReader.text(part, source)
                    // Control inputs have no values.
                    if !input.hasPrefix("^") { node.inputs.append(input) }
                case 5:
                    // AttrValue.func = 10, with name = 1.
                    guard let (key, value) = try TensorFlowReader.entry(part, source), key == "f" else { continue }
                    var inner = ProtobufWalk(source, value)
                    while let member = try inner.next() {
                        guard member.number == 10, case .bytes(let function) = member.value else { continue }
                        var parts = ProtobufWalk(source, function)
                        while let part = try parts.next() {
                            if part.number == 1, case .bytes(let text) = part.value {
                                node.function = try TensorFlowReader.text(text, source)
                            }
                        }
                    }
                default: break
                }
            }
            nodes[name] = node
        }

        /// FunctionDef: signature = 1 (output_arg = 3, with name = 1), node_def = 3, ret = 4.
        private mutating func function(
            _ name: String, _ source: ByteSource
        ) throws(FormatError) -> Function? {
            guard let range = functions[name] else { return nil }
            var function = Function()
            var walk = ProtobufWalk(source, range)
            while let field = try walk.next() {
                guard case .bytes(let part) = field.value else { continue }
                switch field.number {
                case 1:
                    var inner = ProtobufWalk(source, part)
                    while let member = try inner.next() {
                        guard member.number == 3, case .bytes(let argument) = member.value else { continue }
                        var parts = ProtobufWalk(source, argument)
                        while let text = try parts.next() {
                            if text.number == 1, case .bytes(let range) = text.value {
                                function.outputs.append(try TensorFlowReader.text(range, source))
                            }
                        }
                    }
                case 3: try Self.add(part, to: &function.nodes, &left, source)
                case 4:
                    if let (key, value) = try TensorFlowReader.entry(part, source) {
                        function.results[key] = try TensorFlowReader.text(value, source)
                    }
                default: break
                }
            }
            return function
        }

        /// The node of a tensor: `node`, `node:1`, and in functions `node:output:1`.
        static func node(of tensor: String) -> String {
            tensor.split(separator: ":", omittingEmptySubsequences: false).first.map(String.init) ?? tensor
        }

        private static func place(of tensor: String) -> Int {
            let parts = tensor.split(separator: ":")
            return parts.count > 1 ? parts.last.flatMap { Int($0) } ?? 0 : 0
        }

        /// The number of integer layers in the graph and in its functions.
        mutating func integerLayers(_ source: ByteSource) throws(FormatError) -> Int {
            var count = Self.integerLayers(nodes)
            for name in functions.keys.sorted() {
                count += Self.integerLayers(try function(name, source)?.nodes ?? [:])
            }
            return count
        }

        private static func integerLayers(_ nodes: [String: Node]) -> Int {
            var layers = IntegerLayers()
            for (name, node) in nodes {
                layers.add(
                    GraphTrace.Node(operation: node.operation, inputs: node.inputs.map { self.node(of: $0) }),
                    makes: [name])
                if node.operation.hasPrefix("FakeQuantWithMinMax") || node.operation.hasPrefix("QuantizeAndDequantize")
                {
                    layers.addQuantized(name)
                }
            }
            return layers.count
        }

        /// The ending of a tensor; calls are followed into their functions.
        mutating func ending(of tensor: String, _ source: ByteSource) throws(FormatError) -> GraphEnding? {
            var wanted = tensor
            var scope = nodes
            var isOpen = false
            // Limits nested calls to more than Keras' nested models have; a function that calls itself ends here, too.
            for _ in 0..<32 {
                var trace = GraphTrace()
                trace.isOpen = isOpen
                for (name, node) in scope {
                    trace.makers[name] = GraphTrace.Node(
                        operation: node.operation, inputs: node.inputs.map { Self.node(of: $0) })
                }
                guard let (name, place) = Self.call(from: wanted, in: scope), let called = scope[name]?.function else {
                    return trace.ending(of: Self.node(of: wanted))
                }
                isOpen = !trace.takesSourcesOnly(name)
                guard let function = try function(called, source), function.outputs.indices.contains(place),
                    let result = function.results[function.outputs[place]]
                else { return nil }
                (wanted, scope) = (result, function.nodes)
            }
            return nil
        }

        /// The call that makes a tensor, with the index of the output; nil if another operator makes it.
        private static func call(from tensor: String, in scope: [String: Node]) -> (name: String, place: Int)? {
            var wanted = tensor
            for _ in 0..<64 {
                let name = node(of: wanted), place = place(of: wanted)
                guard let node = scope[name] else { return nil }
                switch node.operation {
                case "StatefulPartitionedCall", "PartitionedCall": return (name, place)
                case "Identity", "StopGradient", "Snapshot", "Cast", "Reshape", "Squeeze", "ExpandDims":
                    guard let first = node.inputs.first else { return nil }
                    wanted = first
                case "IdentityN":
                    guard node.inputs.indices.contains(place) else { return nil }
                    wanted = node.inputs[place]
                default: return nil
                }
            }
            return nil
        }
    }
}

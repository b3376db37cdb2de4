/// Builds a graph node by node. Operations have the names of OpenVINO's opsets (https://docs.openvino.ai, "Available
/// Operations"); the common ones are methods in `Operations*.swift`, which also infer the shapes of their outputs.
///
/// Not thread-safe. Operations do not repeat the checks that the engine does when it reads the graph.
package final class GraphBuilder {
    package private(set) var graph = Graph()
    private var constants: [ConstantKey: Graph.Value] = [:]
    /// The cache of `numbers(of:)`, by node; nil for nodes with unknown numbers.
    var knownNumbers: [Int: [Double]?] = [:]
    /// In the body of a loop: the parameters that count its rounds, by node, and the number of rounds.
    var counters: [Int: Counter] = [:]
    var rounds = 0
    /// The location in the file of the layer or operation being added. Names of nodes begin with it; the engine's
    /// messages and profiles show them.
    package var place = ""

    /// The first value that is too large to compute, as a problem. A file of a few bytes can request any amount of
    /// memory.
    package private(set) var oversized: Problem?
    /// For each node: whether it follows from constants only, and the number of its elements.
    private var sizes: [(isConstant: Bool, elements: Int)] = []
    /// The maximum number of elements of a value: 1 GB of 32-bit floats.
    package static let maximumElements = 1 << 28
    /// The maximum number of elements that are computed from fewer constant ones: the engine computes them when it
    /// compiles, and keeps them.
    private static let maximumMadeElements = 1 << 24

    /// Identifies small constants (axes, scalars, shapes), which are stored once.
    private struct ConstantKey: Hashable {
        let type: Graph.ElementType
        let shape: [Int]
        let bytes: [UInt8]
    }
    private static let sharedConstantBytes = 64

    /// The number of operations and constants so far.
    package var nodeCount: Int { graph.nodes.count }

    package init() {}

    /// Adds an operation with several outputs, each with its type and shape. `opset` is the version of the operation.
    package func operation(
        _ type: String, _ opset: Int, _ inputs: [Graph.Value],
        _ attributes: KeyValuePairs<String, Graph.Attribute> = [:],
        outputs: [(type: Graph.ElementType, shape: [Int?])]
    ) -> [Graph.Value] {
        nodes(type, opset, inputs, attributes.map { ($0.key, $0.value) }, outputs: outputs)
    }

    /// Adds an operation with one output. `type` defaults to that of the first input.
    package func operation(
        _ type: String, _ opset: Int, _ inputs: [Graph.Value],
        _ attributes: KeyValuePairs<String, Graph.Attribute> = [:],
        type elementType: Graph.ElementType? = nil, shape: [Int?]
    ) -> Graph.Value {
        nodes(
            type, opset, inputs, attributes.map { ($0.key, $0.value) },
            outputs: [(elementType ?? inputs.first?.type ?? .f32, shape)])[0]
    }

    /// Adds a node with a list of attributes.
    func nodes(
        _ type: String, _ opset: Int, _ inputs: [Graph.Value], _ attributes: [(key: String, value: Graph.Attribute)],
        outputs: [(type: Graph.ElementType, shape: [Int?])]
    ) -> [Graph.Value] {
        let node = graph.nodes.count
        note(type, inputs, outputs.map(\.shape))
        // Treat extents beyond 32 bits as open, so that arithmetic on extents cannot overflow. The engine computes
        // them.
        let outputs = outputs.map { output in
            (type: output.type, shape: output.shape.map { $0.flatMap { $0 > Int(Int32.max) ? nil : $0 } })
        }
        graph.nodes.append(
            Graph.Node(
                name: place, type: type, opset: opset, attributes: attributes, inputs: inputs,
                outputs: outputs.map { Graph.Output(type: $0.type, shape: $0.shape) }))
        return outputs.enumerated().map { port, output in
            Graph.Value(node: node, port: port, type: output.type, shape: output.shape)
        }
    }

    /// Adds a Loop.
    func repeating(_ loop: Graph.Loop, _ inputs: [Graph.Value], outputs: [(type: Graph.ElementType, shape: [Int?])])
        -> [Graph.Value]
    {
        let values = nodes("Loop", 5, inputs, [], outputs: outputs)
        graph.nodes[graph.nodes.count - 1].loop = loop
        return values
    }

    /// Records the size of the next node's outputs in `sizes`, and sets `oversized` if they are too large.
    private func note(_ type: String, _ inputs: [Graph.Value], _ shapes: [[Int?]]) {
        // Open extents count as 1; a product beyond 2^62 is too large.
        let elements = shapes.map { elementCount($0.map { $0 ?? 1 }) ?? .max }.max() ?? 0
        let isConstant = type != "Parameter" && inputs.allSatisfy { sizes[$0.node].isConstant }
        var limit = Self.maximumElements
        if isConstant {
            let given = Set(inputs.map(\.node)).reduce(0) { (sum: Int, node: Int) -> Int in
                let (total, overflow) = sum.addingReportingOverflow(sizes[node].elements)
                return overflow ? .max : total
            }
            limit = type == "Const" ? .max : max(given, Self.maximumMadeElements)
        }
        if elements > limit, oversized == nil, let shape = shapes.first {
            oversized = Problem(
                "a tensor of shape \(shapeText(shape)) is too large: more than \(limit) elements",
                at: place.isEmpty ? "" : "\"\(place)\"")
        }
        sizes.append((isConstant, elements))
    }

    /// Adds an input of the graph. `nil` extents are open: requests choose them.
    package func parameter(_ name: String, type: Graph.ElementType, shape: [Int?]) -> Graph.Value {
        let outer = place
        place = name
        let value = operation("Parameter", 1, [], type: type, shape: shape)
        place = outer
        graph.nodes[value.node].name = name
        graph.nodes[value.node].outputs[0].names = [name]
        return value
    }

    /// Adds an output of the graph. One value may be the result for several names.
    package func result(_ name: String, _ value: Graph.Value) {
        var value = value
        // A tensor with two names could be found by both, but reports only one of them. A conversion to its own type
        // makes another tensor and costs nothing.
        if graph.nodes[value.node].type == "Parameter" || !graph.nodes[value.node].outputs[value.port].names.isEmpty {
            value = operation(
                "Convert", 1, [value], ["destination_type": .text(value.type.rawValue)], shape: value.shape)
        }
        graph.nodes[value.node].outputs[value.port].names = [name]
        _ = operation("Result", 1, [value], outputs: [])
        graph.nodes[graph.nodes.count - 1].name = name
    }

    /// Adds a constant of `shape` ([] for a scalar) from the bytes of its elements, little-endian.
    ///
    /// Throws if the number of bytes does not match the shape.
    package func constant(_ type: Graph.ElementType, shape: [Int], bytes: Bytes) throws(Problem) -> Graph.Value {
        guard let count = elementCount(shape), let size = checkedProduct(count, type.width) else {
            throw Problem("a constant of shape \(shape) is too large")
        }
        guard size == bytes.count else {
            throw Problem("a constant of shape \(shape) needs \(size) bytes as \(type), found \(bytes.count)")
        }
        return add(type, shape, bytes)
    }

    /// Floats of a file: `f32` as they are; `f16` with half the memory and a `Convert`, which the engine folds.
    package func floats(_ type: Graph.ElementType, shape: [Int], bytes: Bytes) throws(Problem) -> Graph.Value {
        let value = try constant(type, shape: shape, bytes: bytes)
        return type == .f32 ? value : convert(value, to: .f32)
    }

    /// A constant of floats. Throws if their number does not match `shape`.
    package func floats(_ values: [Float], shape: [Int]) throws(Problem) -> Graph.Value {
        try constant(.f32, shape: shape, bytes: Bytes(of: values))
    }

    /// A constant of floats, of shape [count].
    package func floats(_ values: [Float]) -> Graph.Value { add(.f32, [values.count], Bytes(of: values)) }
    /// A float constant of shape []. Not named `scalar`, because a literal 0 would be an integer.
    package func float(_ value: Float) -> Graph.Value { add(.f32, [], Bytes(of: [value])) }
    /// An integer constant of shape [].
    package func scalar(_ value: Int, type: Graph.ElementType = .i64) -> Graph.Value {
        type == .i32
            ? add(.i32, [], Bytes(of: [Int32(clamping: value)])) : add(.i64, [], Bytes(of: [Int64(value)]))
    }
    /// A constant of i64, of shape [count]: axes, shapes, permutations.
    package func integers(_ values: [Int]) -> Graph.Value {
        add(.i64, [values.count], Bytes(of: values.map { Int64($0) }))
    }

    private func add(_ type: Graph.ElementType, _ shape: [Int], _ bytes: Bytes) -> Graph.Value {
        var key: ConstantKey?
        if bytes.count <= Self.sharedConstantBytes {
            let lookup = ConstantKey(type: type, shape: shape, bytes: bytes.elements())
            if let value = constants[lookup] { return value }
            key = lookup
        }
        let value = operation("Const", 1, [], type: type, shape: shape)
        graph.nodes[value.node].data = bytes
        if let key { constants[key] = value }
        return value
    }
}

/// The number of elements of a shape; `nil` if an extent is negative, or the number exceeds 2^62.
package func elementCount(_ shape: [Int]) -> Int? {
    var count = 1
    for extent in shape {
        guard extent >= 0, let product = checkedProduct(count, extent) else { return nil }
        count = product
    }
    return count
}

/// The product of two non-negative numbers; `nil` if it exceeds 2^62.
package func checkedProduct(_ left: Int, _ right: Int) -> Int? {
    let (product, overflow) = left.multipliedReportingOverflow(by: right)
    return overflow || product < 0 || product > 1 << 62 ? nil : product
}

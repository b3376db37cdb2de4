/// A computation in OpenVINO's terms: operations of its opsets, connected by values. Independent of Core ML.
///
/// Built by `GraphBuilder`, written by `IRWriter`.
package struct Graph: Sendable {
    /// In the order of addition, which is topological: the inputs of a node come from earlier nodes.
    package internal(set) var nodes: [Node] = []

    /// The element types, by the names of OpenVINO's IR.
    package enum ElementType: String, Sendable {
        case f32, f16, f64, i8, u8, i16, u16, i32, i64, u32, u64, boolean

        /// The size of one element in bytes.
        package var width: Int {
            switch self {
            case .i8, .u8, .boolean: 1
            case .f16, .i16, .u16: 2
            case .f32, .i32, .u32: 4
            case .f64, .i64, .u64: 8
            }
        }

        package var isFloat: Bool { self == .f32 || self == .f16 || self == .f64 }
    }

    /// An output of a node, to use as the input of a later node. Valid only with the builder that created it.
    package struct Value: Sendable {
        let node: Int
        let port: Int
        package let type: ElementType
        /// The extents; `nil` for those known only at run time. The rank is always known.
        package let shape: [Int?]

        package var rank: Int { shape.count }
        /// True if both are the same output of the same node.
        func isSame(as other: Value) -> Bool { node == other.node && port == other.port }
        /// The shape if all extents are known, else nil.
        package var staticShape: [Int]? {
            let known = shape.compactMap { $0 }
            return known.count == shape.count ? known : nil
        }
    }

    struct Output: Sendable {
        var type: ElementType
        var shape: [Int?]
        /// The names of the tensor, for inputs and results.
        var names: [String] = []
    }

    package struct Node: Sendable {
        var name: String
        var type: String
        var opset: Int
        var attributes: [(key: String, value: Attribute)]
        var inputs: [Value]
        var outputs: [Output]
        /// The bytes of a constant, little-endian.
        var data: Bytes?
        /// The conversion from `data` to the elements of a constant; nil if `data` has the elements.
        var expansion: Expansion?
        /// The body of a Loop; nil for other operations.
        var loop: Loop?

        /// The size of a constant's elements in bytes.
        var byteCount: Int {
            let count = data?.count ?? 0
            return expansion.map { count / $0.stored.width * ElementType.f32.width } ?? count
        }
    }

    /// The value of an attribute as text in the IR.
    package enum Attribute: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
        ExpressibleByBooleanLiteral,
        ExpressibleByFloatLiteral, ExpressibleByArrayLiteral
    {
        case text(String)
        case integer(Int)
        case integers([Int])
        case float(Float)
        case floats([Float])
        case texts([String])
        case bool(Bool)

        func isText(_ text: String) -> Bool { if case .text(text) = self { true } else { false } }

        package init(stringLiteral value: String) { self = .text(value) }
        package init(integerLiteral value: Int) { self = .integer(value) }
        package init(booleanLiteral value: Bool) { self = .bool(value) }
        package init(floatLiteral value: Float) { self = .float(value) }
        package init(arrayLiteral elements: Int...) { self = .integers(elements) }
    }

    /// The inputs in the order of addition: name, type, shape.
    package var parameters: [(name: String, type: ElementType, shape: [Int?])] {
        nodes.compactMap { node in
            guard node.type == "Parameter", let output = node.outputs.first else { return nil }
            return (output.names.first ?? node.name, output.type, output.shape)
        }
    }

    /// The results in the order of addition: name, type, shape as far as it is known.
    package var results: [(name: String, type: ElementType, shape: [Int?])] {
        nodes.compactMap { node in
            guard node.type == "Result", let value = node.inputs.first else { return nil }
            return (node.name, value.type, value.shape)
        }
    }
}

// MARK: Parts of a graph

extension Graph {
    /// The nodes that `roots` depend on, in any round of a loop with these inputs.
    func needed(_ roots: [Int], _ inputs: [LoopInput] = []) -> Set<Int> {
        var needed: Set<Int> = []
        var open = roots
        let next = Dictionary(inputs.map { ($0.parameter.node, $0.next?.node) }) { first, _ in first }
        while let id = open.popLast() {
            guard needed.insert(id).inserted else { continue }
            open += nodes[id].inputs.map(\.node)
            if let again = next[id] ?? nil { open.append(again) }
        }
        return needed
    }

    /// A copy without the nodes that no result needs. Parameters stay.
    func pruned() -> Graph {
        let kept = needed(nodes.indices.filter { ["Result", "Parameter"].contains(nodes[$0].type) })
        var graph = self
        graph.nodes = nodes.kept(nodes.indices.filter(kept.contains)).nodes
        return graph
    }
}

extension [Graph.Node] {
    /// The nodes of `order` only, which must be topological, and their new indices by the old ones.
    func kept(_ order: [Int]) -> (nodes: [Graph.Node], places: [Int: Int]) {
        let places = Dictionary(uniqueKeysWithValues: order.enumerated().map { ($1, $0) })
        let kept = order.map { id in
            var node = self[id]
            node.inputs = node.inputs.map {
                Graph.Value(node: places[$0.node] ?? 0, port: $0.port, type: $0.type, shape: $0.shape)
            }
            return node
        }
        return (kept, places)
    }
}

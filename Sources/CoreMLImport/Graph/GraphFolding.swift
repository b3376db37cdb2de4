extension Graph {
    /// The conversion of a constant's memory to its elements.
    struct Expansion: Sendable {
        /// The type of the numbers in memory, `f16` or `f32`. The elements are f32.
        var stored: ElementType
        /// Factors: the elements are divided into as many equal parts, each multiplied by its factor. Empty for no
        /// factors.
        var factors: [Float] = []
    }

    /// The graph with operations on large constants folded: 16-bit floats become 32-bit ones when they are written, and
    /// factors after convolutions are multiplied into the weights.
    ///
    /// The engine also folds both at compile time, but then holds the results in addition to the original weights.
    package func folded() -> Graph {
        var folding = GraphFolding(self)
        return folding.run()
    }
}

/// A graph during folding.
private struct GraphFolding {
    private var nodes: [Graph.Node]
    /// The number of inputs that use each node's output.
    private var uses: [Int]
    /// The replacements of nodes that are no longer needed.
    private var replaced: [Int: Graph.Value] = [:]

    init(_ graph: Graph) {
        nodes = graph.nodes
        uses = [Int](repeating: 0, count: nodes.count)
        for node in nodes {
            for input in node.inputs { uses[input.node] += 1 }
        }
    }

    mutating func run() -> Graph {
        for id in nodes.indices {
            nodes[id].inputs = nodes[id].inputs.map { $0.port == 0 ? replaced[$0.node] ?? $0 : $0 }
            guard nodes[id].outputs.count == 1 else { continue }
            // A named value is a result and must not change.
            let isNamed = !nodes[id].outputs[0].names.isEmpty
            switch nodes[id].type {
            case "Convert" where !isNamed: widen(id)
            case "Multiply" where !isNamed: scaleWeights(id)
            case "Add": joinAdditions(id)
            default: break
            }
        }
        return compacted()
    }

    /// True if only one input uses the value, which can then be changed.
    private func isSole(_ value: Graph.Value) -> Bool {
        uses[value.node] == 1 && nodes[value.node].outputs.count == 1 && nodes[value.node].outputs[0].names.isEmpty
    }

    private mutating func replace(_ id: Int, by value: Graph.Value) {
        replaced[id] = value
        uses[value.node] = uses[id]
    }

    // MARK: Rules

    /// Removes the conversion of a constant of 16-bit floats to 32 bits.
    private mutating func widen(_ id: Int) {
        guard let input = nodes[id].inputs.first, nodes[id].outputs[0].type == .f32, input.type == .f16,
            nodes[input.node].type == "Const", isSole(input)
        else { return }
        nodes[input.node].expansion = Graph.Expansion(stored: .f16)
        nodes[input.node].outputs[0].type = .f32
        replace(id, by: Graph.Value(node: input.node, port: 0, type: .f32, shape: input.shape))
    }

    /// Multiplies a factor for each channel into the weights of a convolution, and into its bias.
    private mutating func scaleWeights(_ id: Int) {
        guard nodes[id].inputs.count == 2 else { return }
        for (value, other) in [(0, 1), (1, 0)] {
            let (scaled, factor) = (nodes[id].inputs[value], nodes[id].inputs[other])
            guard isSole(scaled) else { continue }
            if let convolution = convolution(scaled) {
                guard let factors = channels(of: factor, convolution) else { continue }
                multiply(convolution.weights, by: factors)
                return replace(id, by: scaled)
            }
            guard let (convolution, sum, bias) = addition(scaled), isSole(sum),
                let factors = channels(of: factor, convolution), let biases = channels(of: bias, convolution)
            else { continue }
            multiply(convolution.weights, by: factors)
            nodes[scaled.node].inputs = [sum, constant(zip(biases, factors).map(*), rank: convolution.rank)]
            return replace(id, by: scaled)
        }
    }

    /// Merges two consecutive biases of a convolution.
    private mutating func joinAdditions(_ id: Int) {
        guard nodes[id].inputs.count == 2 else { return }
        for (value, other) in [(0, 1), (1, 0)] {
            let (inner, second) = (nodes[id].inputs[value], nodes[id].inputs[other])
            guard isSole(inner), let (convolution, sum, first) = addition(inner),
                let one = channels(of: first, convolution), let two = channels(of: second, convolution)
            else { continue }
            nodes[id].inputs = [sum, constant(zip(one, two).map(+), rank: convolution.rank)]
            return
        }
    }

    // MARK: Patterns

    private struct Convolution {
        /// The constant with the weights, which has no other user.
        let weights: Int
        let channels: Int
        let rank: Int
    }

    private func convolution(_ value: Graph.Value) -> Convolution? {
        let node = nodes[value.node]
        guard node.type == "Convolution" || node.type == "GroupConvolution", node.inputs.count == 2,
            value.rank >= 3, let channels = value.shape[1], channels > 0
        else { return nil }
        var weights = node.inputs[1]
        // With groups, the weights are reshaped to an axis for the groups: the elements keep their order.
        while nodes[weights.node].type == "Reshape", isSole(weights), let input = nodes[weights.node].inputs.first {
            weights = input
        }
        guard nodes[weights.node].type == "Const", isSole(weights), weights.type == .f32,
            let count = weights.staticShape.flatMap(elementCount), count % channels == 0
        else { return nil }
        return Convolution(weights: weights.node, channels: channels, rank: value.rank)
    }

    private func addition(_ value: Graph.Value) -> (Convolution, sum: Graph.Value, bias: Graph.Value)? {
        let node = nodes[value.node]
        guard node.type == "Add", node.inputs.count == 2 else { return nil }
        for (first, second) in [(0, 1), (1, 0)] {
            if let convolution = convolution(node.inputs[first]) {
                return (convolution, node.inputs[first], node.inputs[second])
            }
        }
        return nil
    }

    /// The numbers of a constant with one number for each channel, or one for all.
    private func channels(of value: Graph.Value, _ convolution: Convolution) -> [Float]? {
        let node = nodes[value.node]
        guard node.type == "Const", value.type == .f32, let data = node.data, let shape = value.staticShape,
            shape.count <= convolution.rank, let count = elementCount(shape)
        else { return nil }
        var floats: [Float]
        if let expansion = node.expansion {
            guard expansion.factors.isEmpty, expansion.stored == .f16 else { return nil }
            floats = data.elements(UInt16.self).map { Float(Float16(bitPattern: $0)) }
        } else {
            floats = data.elements()
        }
        if count == 1, floats.count == 1 { return Array(repeating: floats[0], count: convolution.channels) }
        let full = Array(repeating: 1, count: convolution.rank - shape.count) + shape
        var expected = Array(repeating: 1, count: convolution.rank)
        expected[1] = convolution.channels
        return full == expected && floats.count == convolution.channels ? floats : nil
    }

    // MARK: Changes

    private mutating func multiply(_ constant: Int, by factors: [Float]) {
        var expansion = nodes[constant].expansion ?? Graph.Expansion(stored: .f32)
        expansion.factors = expansion.factors.isEmpty ? factors : zip(expansion.factors, factors).map(*)
        nodes[constant].expansion = expansion
    }

    /// A constant with one number for each channel.
    private mutating func constant(_ values: [Float], rank: Int) -> Graph.Value {
        var shape = Array(repeating: 1, count: rank)
        shape[1] = values.count
        nodes.append(
            Graph.Node(
                name: "", type: "Const", opset: 1, attributes: [], inputs: [],
                outputs: [Graph.Output(type: .f32, shape: shape)], data: Bytes(of: values)))
        uses.append(1)
        return Graph.Value(node: nodes.count - 1, port: 0, type: .f32, shape: shape)
    }

    /// The graph with the nodes that results need, and all parameters. Constants come first, which keeps the order
    /// topological.
    private func compacted() -> Graph {
        var graph = Graph()
        graph.nodes = nodes
        let needed = graph.needed(nodes.indices.filter { ["Result", "Parameter"].contains(nodes[$0].type) }).sorted()
        let order = needed.filter { nodes[$0].type == "Const" } + needed.filter { nodes[$0].type != "Const" }
        graph.nodes = nodes.kept(order).nodes
        return graph
    }
}

/// A recurrent layer: a cell repeated over a sequence, in one direction or both.
struct RecurrentLayer {
    let cell: Cell
    /// One direction, or forward and backward.
    let directions: [Direction]

    enum Cell {
        /// One gate, the state.
        case simple
        /// Gates: update, reset, output.
        case gated
        /// Gates: forget, input, block input, output.
        /// - Parameters:
        ///   - isCoupled: the forget gate is one minus the input gate.
        ///   - clip: the limit of the cell's state; nil if it has no limit, or cannot reach it.
        case lstm(isCoupled: Bool, clip: Float?)

        var stateCount: Int { if case .lstm = self { 2 } else { 1 } }
        fileprivate var type: String {
            switch self {
            case .simple: "RNNSequence"
            case .gated: "GRUSequence"
            case .lstm: "LSTMSequence"
            }
        }
    }

    /// The weights of one direction; rows of gates are in the order of `Cell`.
    struct Direction {
        /// [gates · hidden, features].
        var input: Graph.Value
        /// [gates · hidden, hidden].
        var state: Graph.Value
        /// [gates · hidden].
        var bias: Graph.Value
        /// The functions of the gates; for an LSTM, also of the block input and of the output.
        var functions: [GateFunction]
        /// For `gated`: the reset gate applies to the product of the state and its matrix plus this bias [hidden]; nil:
        /// it applies to the state before the product.
        var resetBias: Graph.Value?
        /// The peepholes of the gates input, forget, output; empty if the cell has no peepholes.
        var peepholes: [Graph.Value] = []

        var hidden: Int { (state.shape.last ?? nil) ?? 0 }
    }

    /// The engine's names of the functions; nil if none of its operations computes the cell.
    fileprivate var engineFunctions: [String]? {
        if case .lstm(let isCoupled, let clip) = cell, isCoupled || clip != nil { return nil }
        guard directions.allSatisfy({ $0.peepholes.isEmpty }) else { return nil }
        let names = directions.map { $0.functions.compactMap(\.engineName) }
        guard names.allSatisfy({ $0 == names[0] && $0.count == directions[0].functions.count }) else { return nil }
        return names.first
    }
}

/// An activation function of a recurrent layer.
struct GateFunction: Sendable {
    /// The engine's name; nil if its recurrent operations lack the function.
    let engineName: String?
    let apply: @Sendable (GraphBuilder, Graph.Value) throws(Problem) -> Graph.Value

    static let sigmoid = Self(engineName: "sigmoid") { (graph, x) throws(Problem) in graph.unary("Sigmoid", x) }
    static let tanh = Self(engineName: "tanh") { (graph, x) throws(Problem) in graph.unary("Tanh", x) }
    static let relu = Self(engineName: "relu") { (graph, x) throws(Problem) in graph.unary("ReLU", x) }
    static let linear = Self(engineName: nil) { (_, x) throws(Problem) in x }
    static let hardSigmoid = Self(engineName: nil) { (graph, x) throws(Problem) in
        graph.hardSigmoid(x, alpha: 0.2, beta: 0.5)
    }
}

extension GraphBuilder {
    /// Adds a recurrent layer over `x` [steps, batch, features].
    /// - Parameter states: the initial states, each [batch, directions · hidden].
    /// - Returns: the outputs [steps, batch, directions · hidden], in the order of `x`, and the last states.
    func recurrent(_ layer: RecurrentLayer, over x: Graph.Value, states: [Graph.Value]) throws(Problem) -> (
        outputs: Graph.Value, states: [Graph.Value]
    ) {
        if let functions = layer.engineFunctions {
            return try sequenceOperation(layer, functions, over: x, states: states)
        }
        var found: [(outputs: Graph.Value, states: [Graph.Value])] = []
        for (index, direction) in layer.directions.enumerated() {
            var own: [Graph.Value] = []
            for state in states { own.append(try part(index, of: state, layer)) }
            var result = try steps(layer.cell, direction, over: index == 1 ? reverse(x, axes: [0]) : x, states: own)
            if index == 1 { result.outputs = try reverse(result.outputs, axes: [0]) }
            found.append(result)
        }
        var last: [Graph.Value] = []
        for index in states.indices { last.append(try concat(found.map { $0.states[index] }, axis: 1)) }
        return (try concat(found.map(\.outputs), axis: 2), last)
    }

    /// The part of a state that belongs to one direction.
    func part(_ index: Int, of state: Graph.Value, _ layer: RecurrentLayer) throws(Problem) -> Graph.Value {
        if layer.directions.count == 1 { return state }
        let hidden = layer.directions[0].hidden
        return try slice(state, axes: [1], starts: [index * hidden], ends: [(index + 1) * hidden], steps: [1])
    }

    /// Adds the engine's own recurrent operation.
    private func sequenceOperation(
        _ layer: RecurrentLayer, _ functions: [String], over x: Graph.Value, states: [Graph.Value]
    ) throws(Problem) -> (outputs: Graph.Value, states: [Graph.Value]) {
        let (count, hidden) = (layer.directions.count, layer.directions[0].hidden)
        var inputs = [try transpose(x, [1, 0, 2])]
        for state in states { inputs.append(try reshape(state, to: [0, count, hidden])) }
        // All sequences of the batch have the full length.
        let length = try convert(extent(of: x, axis: 0), to: .i32)
        inputs.append(
            operation("Broadcast", 3, [length, try extent(of: x, axis: 1)], ["mode": "numpy"], shape: [x.shape[1]]))
        var (outer, inner, biases): ([Graph.Value], [Graph.Value], [Graph.Value]) = ([], [], [])
        for direction in layer.directions {
            let bias = try direction.resetBias.map { (own) throws(Problem) in
                try concat([direction.bias, own], axis: 0)
            }
            outer.append(try unsqueeze(direction.input, [0]))
            inner.append(try unsqueeze(direction.state, [0]))
            biases.append(try unsqueeze(bias ?? direction.bias, [0]))
        }
        for list in [outer, inner, biases] { inputs.append(try concat(list, axis: 0)) }
        var attributes: [(key: String, value: Graph.Attribute)] = [
            ("activations", .texts(functions)), ("hidden_size", .integer(hidden)),
            ("direction", count == 2 ? "bidirectional" : "forward"),
        ]
        if case .gated = layer.cell {
            attributes.append(("linear_before_reset", .bool(layer.directions[0].resetBias != nil)))
        }
        let state: [Int?] = [x.shape[1], count, hidden]
        let results = nodes(
            layer.cell.type, 5, inputs, attributes,
            outputs: [(.f32, [x.shape[1], count, x.shape[0], hidden])] + states.map { _ in (.f32, state) })
        var last: [Graph.Value] = []
        for result in results.dropFirst() { last.append(try reshape(result, to: [0, count * hidden])) }
        return (try reshape(transpose(results[0], [2, 0, 1, 3]), to: [0, 0, count * hidden]), last)
    }

    /// Adds one direction as a loop over the steps.
    private func steps(
        _ cell: RecurrentLayer.Cell, _ direction: RecurrentLayer.Direction, over x: Graph.Value, states: [Graph.Value]
    ) throws(Problem) -> (outputs: Graph.Value, states: [Graph.Value]) {
        let projected = try add(matmul(x, direction.input, transposesRight: true), direction.bias)
        switch cell {
        case .simple:
            return try loop(over: projected, states: states, constants: [direction.state]) {
                (graph, step, states, constants) throws(Problem) in
                let sum = try graph.add(step, graph.matmul(states[0], constants[0], transposesRight: true))
                return [try direction.functions[0].apply(graph, sum)]
            }
        case .gated:
            let gates = try split(direction.state, axis: 0, sizes: [Int](repeating: direction.hidden, count: 3))
            let constants = gates + (direction.resetBias.map { [$0] } ?? [])
            return try loop(over: projected, states: states, constants: constants) {
                (graph, step, states, constants) throws(Problem) in
                [try direction.gatedStep(graph, step, states[0], constants)]
            }
        case .lstm(let isCoupled, let clip):
            return try loop(over: projected, states: states, constants: [direction.state] + direction.peepholes) {
                (graph, step, states, constants) throws(Problem) in
                try direction.lstmStep(graph, step, states, constants, isCoupled: isCoupled, clip: clip)
            }
        }
    }
}

extension RecurrentLayer.Direction {
    /// - Parameter constants: the matrices of the gates, then `resetBias` if there is one.
    fileprivate func gatedStep(
        _ graph: GraphBuilder, _ step: Graph.Value, _ state: Graph.Value, _ constants: [Graph.Value]
    ) throws(Problem) -> Graph.Value {
        let inputs = try graph.split(step, axis: -1, sizes: [Int](repeating: hidden, count: 3))
        func product(_ state: Graph.Value, _ gate: Int) throws(Problem) -> Graph.Value {
            try graph.matmul(state, constants[gate], transposesRight: true)
        }
        let update = try functions[0].apply(graph, graph.add(inputs[0], product(state, 0)))
        let reset = try functions[0].apply(graph, graph.add(inputs[1], product(state, 1)))
        let kept =
            try constants.count > 3
            ? graph.multiply(reset, graph.add(product(state, 2), constants[3]))
            : product(graph.multiply(reset, state), 2)
        let fresh = try functions[1].apply(graph, graph.add(inputs[2], kept))
        return try graph.add(fresh, graph.multiply(update, graph.subtract(state, fresh)))
    }

    /// - Parameters:
    ///   - states: the output and the cell state.
    ///   - constants: the matrix of all gates, then the peepholes.
    fileprivate func lstmStep(
        _ graph: GraphBuilder, _ step: Graph.Value, _ states: [Graph.Value], _ constants: [Graph.Value],
        isCoupled: Bool, clip: Float?
    ) throws(Problem) -> [Graph.Value] {
        let sums = try graph.add(step, graph.matmul(states[0], constants[0], transposesRight: true))
        let parts = try graph.split(sums, axis: -1, sizes: [Int](repeating: hidden, count: 4))
        func gate(_ part: Int, peephole: Int, _ cell: Graph.Value) throws(Problem) -> Graph.Value {
            let isPlain = constants.count == 1
            return try functions[0].apply(
                graph,
                isPlain ? parts[part] : graph.add(parts[part], graph.multiply(constants[1 + peephole], cell)))
        }
        let input = try gate(1, peephole: 0, states[1])
        let forget = try isCoupled ? graph.subtract(graph.float(1), input) : gate(0, peephole: 1, states[1])
        let taken = try graph.multiply(input, functions[1].apply(graph, parts[2]))
        var cell = try graph.add(graph.multiply(forget, states[1]), taken)
        if let clip { cell = try graph.clamp(cell, from: -clip, to: clip) }
        // The output gate uses the new cell state.
        return [try graph.multiply(gate(3, peephole: 2, cell), functions[2].apply(graph, cell)), cell]
    }
}

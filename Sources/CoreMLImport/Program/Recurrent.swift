/// Recurrent layers: inputs are [sequence, batch, features].
extension ProgramOperations {
    static let recurrent: [String: Translator] = ["lstm": lstm, "gru": gru, "rnn": rnn]

    /// The functions of gates, by the names of both the file and the engine. They have no numbers of their own: a scaled tanh is tanh
    /// (coremltools, converters/mil/mil/ops/tests/iOS14/test_recurrent.py, `test_numpy_numerical`).
    enum Gate: String {
        case sigmoid
        case tanh
        case relu
        case linear
        case hardSigmoid

        /// True if the engine's recurrent operations have it.
        var isEngine: Bool { self == .sigmoid || self == .tanh || self == .relu }

        func apply(_ graph: GraphBuilder, _ x: Graph.Value) throws(Problem) -> Graph.Value {
            switch self {
            case .sigmoid: graph.unary("Sigmoid", x)
            case .tanh: graph.unary("Tanh", x)
            case .relu: graph.unary("ReLU", x)
            case .linear: x
            case .hardSigmoid: ProgramOperations.hardSigmoid(graph, x, alpha: 0.2, beta: 0.5)
            }
        }
    }

    private static func gate(_ call: ProgramCall, _ name: String, default value: String) throws(Problem) -> Gate {
        try call.choice(
            name, default: value,
            of: [
                "sigmoid": .sigmoid, "tanh": .tanh, "relu": .relu, "linear": .linear, "hard_sigmoid": .hardSigmoid,
                "sigmoid_hard": .hardSigmoid, "scaled_tanh": .tanh,
            ])
    }

    private enum Direction: String {
        case forward
        case reverse
        case bidirectional
    }

    private static func direction(_ call: ProgramCall) throws(Problem) -> Direction {
        try call.choice(
            "direction", default: "forward",
            of: ["forward": .forward, "reverse": .reverse, "bidirectional": .bidirectional])
    }

    /// One direction's weights: rows in the order of the file, one block of `hidden` rows a gate.
    private struct Weights {
        var input: Graph.Value
        var state: Graph.Value
        var bias: Graph.Value?
        var hidden: Int

        /// The rows of gates in another order.
        func ordered(_ graph: GraphBuilder, _ value: Graph.Value, _ order: [Int]) throws(Problem) -> Graph.Value {
            if order == Array(order.indices) { return value }
            let rows = order.flatMap { gate in (0..<hidden).map { Int32(clamping: gate * hidden + $0) } }
            let indices = try graph.constant(.i32, shape: [rows.count], bytes: Bytes(of: rows))
            return try graph.gather(value, indices, axis: 0)
        }
    }

    private static func weights(_ call: ProgramCall, gates: Int, suffix: String = "") throws(Problem) -> Weights {
        let (input, state) = (try call.float("weight_ih" + suffix), try call.float("weight_hh" + suffix))
        guard let shape = state.staticShape, shape.count == 2, shape[1] > 0, shape[1] <= 1 << 20,
            shape[0] == gates * shape[1], let outer = input.staticShape, outer.count == 2, outer[0] == shape[0]
        else {
            throw Problem(
                "weights of shapes \(shapeText(input.shape)) and \(shapeText(state.shape)) do not match \(gates) gates")
        }
        let bias = call.isGiven("bias" + suffix) ? try call.float("bias" + suffix) : nil
        if let bias, bias.shape != [shape[0]] {
            throw Problem("shape \(shapeText(bias.shape)) does not match \(shape[0]) rows", at: "bias" + suffix)
        }
        return Weights(input: input, state: state, bias: bias, hidden: shape[1])
    }

    private static func zeros(_ graph: GraphBuilder, _ count: Int) -> Graph.Value {
        graph.broadcast(graph.float(0), to: [count])
    }

    /// The sequence, in the order of computing.
    private static func sequence(_ call: ProgramCall, _ direction: Direction) throws(Problem) -> Graph.Value {
        let x = try call.float("x")
        guard x.rank == 3 else {
            throw Problem("expected shape [sequence,batch,features], found \(shapeText(x.shape))", at: "x")
        }
        return direction == .reverse ? try call.graph.reverse(x, axes: [0]) : x
    }

    // MARK: With the engine's operations

    /// Runs "LSTMSequence", "GRUSequence" or "RNNSequence" over one or two directions. `states`: [batch, directions · hidden].
    private static func run(
        _ call: ProgramCall, _ type: String, _ x: Graph.Value, states: [Graph.Value], weights: [Weights],
        biases: [Graph.Value],
        order: [Int], _ attributes: KeyValuePairs<String, Graph.Attribute>
    ) throws(Problem) -> [Graph.Value] {
        let graph = call.graph
        let (count, hidden) = (weights.count, weights[0].hidden)
        var inputs = [try graph.transpose(x, [1, 0, 2])]
        for state in states { inputs.append(try graph.reshape(state, to: [0, count, hidden])) }
        // Every sequence of the batch is as long as all.
        let length = try graph.convert(extent(graph, x, axis: 0), to: .i32)
        inputs.append(
            graph.operation(
                "Broadcast", 3, [length, try extent(graph, x, axis: 1)], ["mode": "numpy"], shape: [x.shape[1]]))
        var (outer, inner, added) = ([Graph.Value](), [Graph.Value](), [Graph.Value]())
        for (index, part) in weights.enumerated() {
            outer.append(try graph.unsqueeze(part.ordered(graph, part.input, order), [0]))
            inner.append(try graph.unsqueeze(part.ordered(graph, part.state, order), [0]))
            added.append(try graph.unsqueeze(biases[index], [0]))
        }
        for list in [outer, inner, added] { inputs.append(try graph.concat(list, axis: 0)) }
        let state: [Int?] = [x.shape[1], count, hidden]
        let outputs = graph.nodes(
            type, 5, inputs,
            attributes.map { ($0.key, $0.value) } + [
                ("hidden_size", .integer(hidden)), ("direction", .text(count == 2 ? "bidirectional" : "forward")),
            ],
            outputs: [(.f32, [x.shape[1], count, x.shape[0], hidden])] + states.map { _ in (.f32, state) })
        var results: [Graph.Value] = []
        for output in outputs.dropFirst() { results.append(try graph.reshape(output, to: [0, count * hidden])) }
        let whole = try call.bool("output_sequence")
        let sequence =
            try whole
            ? graph.reshape(graph.transpose(outputs[0], [2, 0, 1, 3]), to: [0, 0, count * hidden])
            : graph.unsqueeze(results[0], [0])
        return [sequence] + results
    }

    // MARK: Step by step

    /// The products of the input's weights with each step of the sequence: [sequence, batch, rows].
    private static func products(_ graph: GraphBuilder, _ x: Graph.Value, _ weights: Weights, bias: Graph.Value?)
        throws(Problem) -> Graph.Value
    {
        let products = try graph.matmul(x, weights.input, transposesRight: true)
        guard let bias else { return products }
        return try graph.add(products, bias)
    }

    private static func gates(_ graph: GraphBuilder, _ value: Graph.Value, _ hidden: Int, _ count: Int) throws(Problem)
        -> [Graph.Value]
    {
        try graph.split(value, axis: -1, sizes: [Int](repeating: hidden, count: count))
    }

    // MARK: LSTM

    private static func lstm(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (graph, direction) = (call.graph, try direction(call))
        let x = try sequence(call, direction)
        let (hidden, cell) = (try call.float("initial_h"), try call.float("initial_c"))
        var parts = [try weights(call, gates: 4)]
        if direction == .bidirectional { parts.append(try weights(call, gates: 4, suffix: "_back")) }
        let functions = [
            try gate(call, "recurrent_activation", default: "sigmoid"),
            try gate(call, "cell_activation", default: "tanh"),
            try gate(call, "activation", default: "tanh"),
        ]
        let isPlain = !["peephole", "peephole_back", "clip"].contains { call.isGiven($0) }
        if isPlain, functions.allSatisfy(\.isEngine) {
            // The engine wants forget, input, cell, output; the file has input, forget, output, cell.
            let order = [1, 0, 3, 2]
            var biases: [Graph.Value] = []
            for part in parts {
                biases.append(try part.ordered(graph, part.bias ?? zeros(graph, 4 * part.hidden), order))
            }
            return try run(
                call, "LSTMSequence", x, states: [hidden, cell], weights: parts, biases: biases, order: order,
                ["activations": .texts(functions.map(\.rawValue))])
        }
        let size = parts[0].hidden
        var results: [(outputs: Graph.Value, states: [Graph.Value])] = []
        for (index, part) in parts.enumerated() {
            func own(_ state: Graph.Value) throws(Problem) -> Graph.Value {
                try graph.slice(state, axes: [1], starts: [index * size], ends: [(index + 1) * size], steps: [1])
            }
            let turned = index == 1 ? try graph.reverse(x, axes: [0]) : x
            results.append(
                try lstmSteps(
                    call, turned, part, own(hidden), own(cell), functions,
                    peephole: index == 1 ? "peephole_back" : "peephole"))
        }
        var sequences: [Graph.Value] = []
        for (index, result) in results.enumerated() {
            sequences.append(index == 1 ? try graph.reverse(result.outputs, axes: [0]) : result.outputs)
        }
        let (last, cells) = (
            try graph.concat(results.map(\.states[0]), axis: 1), try graph.concat(results.map(\.states[1]), axis: 1)
        )
        let whole = try call.bool("output_sequence")
        return [try whole ? graph.concat(sequences, axis: 2) : graph.unsqueeze(last, [0]), last, cells]
    }

    private static func lstmSteps(
        _ call: ProgramCall, _ x: Graph.Value, _ weights: Weights, _ hidden: Graph.Value, _ cell: Graph.Value,
        _ functions: [Gate], peephole: String
    ) throws(Problem) -> (outputs: Graph.Value, states: [Graph.Value]) {
        let (inner, inward, outward) = (functions[0], functions[1], functions[2])
        let clip = call.isGiven("clip") ? abs(try limit(call, "clip")) : nil
        var constants = [weights.state]
        if call.isGiven(peephole) { constants += try gates(call.graph, call.float(peephole), weights.hidden, 3) }
        let products = try products(call.graph, x, weights, bias: weights.bias)
        return try call.graph.loop(over: products, states: [hidden, cell], constants: constants) {
            (graph, step, states, constants) throws(Problem) in
            let sums = try graph.add(step, graph.matmul(states[0], constants[0], transposesRight: true))
            let (parts, holes) = (try gates(graph, sums, weights.hidden, 4), constants.dropFirst())
            func sum(_ gate: Int, _ cell: Graph.Value) throws(Problem) -> Graph.Value {
                holes.isEmpty ? parts[gate] : try graph.add(parts[gate], graph.multiply(constants[1 + gate], cell))
            }
            let taken = try graph.multiply(
                inner.apply(graph, sum(0, states[1])), inward.apply(graph, parts[3]))
            var cell = try graph.add(graph.multiply(inner.apply(graph, sum(1, states[1])), states[1]), taken)
            if let clip { cell = try graph.clamp(cell, from: -clip, to: clip) }
            // The output's gate sees the new cell.
            return [try graph.multiply(inner.apply(graph, sum(2, cell)), outward.apply(graph, cell)), cell]
        }
    }

    // MARK: GRU

    private static func gru(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (graph, direction) = (call.graph, try direction(call))
        guard direction != .bidirectional else { throw Problem("\"bidirectional\" is not supported", at: "direction") }
        let x = try sequence(call, direction)
        let part = try weights(call, gates: 3)
        let size = part.hidden
        let (inner, outer) = (
            try gate(call, "recurrent_activation", default: "sigmoid"), try gate(call, "activation", default: "tanh")
        )
        let resetsAfter = try call.bool("reset_after")
        let given = call.isGiven("input_bias") ? try call.float("input_bias") : zeros(graph, 3 * size)
        let own = part.bias ?? zeros(graph, 3 * size)
        let sum = try graph.add(given, own)
        let initial = try call.float("initial_h")
        if inner.isEngine, outer.isEngine {
            // The engine wants update, reset, hidden; the file has reset, output, update.
            let order = [2, 0, 1]
            var bias = try part.ordered(graph, sum, order)
            if resetsAfter {
                // The biases of the last gate stay apart: that of the state is reset, too.
                let gates = try graph.slice(bias, axes: [0], starts: [0], ends: [2 * size], steps: [1])
                func last(_ bias: Graph.Value) throws(Problem) -> Graph.Value {
                    try graph.slice(bias, axes: [0], starts: [size], ends: [2 * size], steps: [1])
                }
                bias = try graph.concat([gates, last(given), last(own)], axis: 0)
            }
            return try run(
                call, "GRUSequence", x, states: [initial], weights: [part], biases: [bias], order: order,
                ["activations": .texts([inner.rawValue, outer.rawValue]), "linear_before_reset": .bool(resetsAfter)])
        }
        let rows = try gates(graph, graph.transpose(part.state, [1, 0]), size, 3)
        let biases = try gates(graph, own, size, 3)
        let found = try graph.loop(
            over: products(graph, x, part, bias: given), states: [initial], constants: rows + biases
        ) { (graph, step, states, constants) throws(Problem) in
            let (state, rows, biases) = (states[0], constants[..<3], Array(constants[3...]))
            let inputs = try gates(graph, step, size, 3)
            func gate(_ index: Int) throws(Problem) -> Graph.Value {
                let product = try graph.add(graph.matmul(state, rows[index]), biases[index])
                return try inner.apply(graph, graph.add(inputs[index], product))
            }
            let (reset, update) = (try gate(0), try gate(2))
            let product =
                try resetsAfter
                ? graph.multiply(reset, graph.add(graph.matmul(state, rows[1]), biases[1]))
                : graph.add(graph.matmul(graph.multiply(reset, state), rows[1]), biases[1])
            let fresh = try outer.apply(graph, graph.add(inputs[1], product))
            return [try graph.add(fresh, graph.multiply(update, graph.subtract(state, fresh)))]
        }
        return [try selected(call, found.outputs, last: found.states[0]), found.states[0]]
    }

    // MARK: RNN

    private static func rnn(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (graph, direction) = (call.graph, try direction(call))
        guard direction != .bidirectional else { throw Problem("\"bidirectional\" is not supported", at: "direction") }
        let x = try sequence(call, direction)
        let part = try weights(call, gates: 1)
        let function = try gate(call, "activation", default: "tanh")
        let initial = try call.float("initial_h")
        if function.isEngine {
            return try run(
                call, "RNNSequence", x, states: [initial], weights: [part],
                biases: [part.bias ?? zeros(graph, part.hidden)],
                order: [0], ["activations": .texts([function.rawValue])])
        }
        let found = try graph.loop(
            over: products(graph, x, part, bias: part.bias), states: [initial], constants: [part.state]
        ) { (graph, step, states, constants) throws(Problem) in
            [try function.apply(graph, graph.add(step, graph.matmul(states[0], constants[0], transposesRight: true)))]
        }
        return [try selected(call, found.outputs, last: found.states[0]), found.states[0]]
    }

    /// All states, or the last one alone.
    private static func selected(_ call: ProgramCall, _ outputs: Graph.Value, last: Graph.Value) throws(Problem)
        -> Graph.Value
    {
        try call.bool("output_sequence") ? outputs : call.graph.unsqueeze(last, [0])
    }
}

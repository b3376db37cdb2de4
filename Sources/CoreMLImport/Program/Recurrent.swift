/// Recurrent layers: inputs are [sequence, batch, features].
extension ProgramOperations {
    static let recurrent: [String: Translator] = [
        "lstm": { call throws(Problem) in
            let functions = [
                try function(call, "recurrent_activation", default: "sigmoid"),
                try function(call, "cell_activation", default: "tanh"),
                try function(call, "activation", default: "tanh"),
            ]
            let isBoth = try direction(call, mayBeBoth: true) == .bidirectional
            var directions: [RecurrentLayer.Direction] = []
            for suffix in isBoth ? ["", "_back"] : [""] {
                // The order in the file: input, forget, output, block input.
                var direction = try weights(call, order: [1, 0, 3, 2], functions, suffix: suffix)
                if call.isGiven("peephole" + suffix) {
                    direction.peepholes = try call.graph.split(
                        call.float("peephole" + suffix), axis: -1,
                        sizes: [Int](repeating: direction.hidden, count: 3))
                }
                directions.append(direction)
            }
            let clip = call.isGiven("clip") ? abs(try limit(call, "clip")) : nil
            return try run(
                call, RecurrentLayer(cell: .lstm(isCoupled: false, clip: clip), directions: directions),
                states: [call.float("initial_h"), call.float("initial_c")])
        },
        "gru": gru,
        "rnn": { call throws(Problem) in
            let functions = [try function(call, "activation", default: "tanh")]
            let weights = try weights(call, order: [0], functions)
            return try run(
                call, RecurrentLayer(cell: .simple, directions: [weights]), states: [call.float("initial_h")])
        },
    ]

    private static func gru(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let graph = call.graph
        let functions = [
            try function(call, "recurrent_activation", default: "sigmoid"),
            try function(call, "activation", default: "tanh"),
        ]
        // The order in the file: reset, output, update. Its bias belongs to the state; the input has another one.
        let order = [2, 0, 1]
        var weights = try weights(call, order: order, functions)
        let size = weights.hidden
        var given: Graph.Value?
        if call.isGiven("input_bias") {
            let bias = try call.float("input_bias")
            guard bias.shape == [3 * size] else {
                throw Problem("shape \(shapeText(bias.shape)) does not match \(3 * size) rows", at: "input_bias")
            }
            given = try ordered(graph, bias, order, size)
        }
        if try call.bool("reset_after") {
            // The biases of the last gate stay separate: the reset gate also applies to that of the state.
            let own = try graph.split(weights.bias, axis: 0, sizes: [2 * size, size])
            let zeros = graph.broadcast(graph.float(0), to: [size])
            let spread = try graph.concat([own[0], zeros], axis: 0)
            weights.bias = try given.map { (given) throws(Problem) in try graph.add(given, spread) } ?? spread
            weights.resetBias = own[1]
        } else if let given {
            weights.bias = try graph.add(given, weights.bias)
        }
        return try run(call, RecurrentLayer(cell: .gated, directions: [weights]), states: [call.float("initial_h")])
    }

    /// The functions have no parameters: a scaled tanh is tanh (coremltools,
    /// converters/mil/mil/ops/tests/iOS14/test_recurrent.py, `test_numpy_numerical`).
    private static func function(_ call: ProgramCall, _ name: String, default value: String) throws(Problem)
        -> GateFunction
    {
        try call.choice(
            name, default: value,
            of: [
                "sigmoid": .sigmoid, "tanh": .tanh, "relu": .relu, "linear": .linear, "hard_sigmoid": .hardSigmoid,
                "sigmoid_hard": .hardSigmoid, "scaled_tanh": .tanh,
            ])
    }

    private enum Direction {
        case forward
        case reverse
        case bidirectional
    }

    private static func direction(_ call: ProgramCall, mayBeBoth: Bool) throws(Problem) -> Direction {
        let direction: Direction = try call.choice(
            "direction", default: "forward",
            of: ["forward": .forward, "reverse": .reverse, "bidirectional": .bidirectional])
        guard mayBeBoth || direction != .bidirectional else {
            throw Problem("\"bidirectional\" is not supported", at: "direction")
        }
        return direction
    }

    /// The weights of one direction. `order`: the index in the file of each gate of the cell.
    private static func weights(
        _ call: ProgramCall, order: [Int], _ functions: [GateFunction], suffix: String = ""
    ) throws(Problem) -> RecurrentLayer.Direction {
        let (input, state) = (try call.float("weight_ih" + suffix), try call.float("weight_hh" + suffix))
        guard let shape = state.staticShape, shape.count == 2, shape[1] > 0, shape[1] <= 1 << 20,
            shape[0] == order.count * shape[1], let outer = input.staticShape, outer.count == 2, outer[0] == shape[0]
        else {
            throw Problem(
                "weights of shapes \(shapeText(input.shape)) and \(shapeText(state.shape)) do not match \(order.count) gates"
            )
        }
        let graph = call.graph
        var bias = graph.broadcast(graph.float(0), to: [shape[0]])
        if call.isGiven("bias" + suffix) {
            bias = try call.float("bias" + suffix)
            guard bias.shape == [shape[0]] else {
                throw Problem("shape \(shapeText(bias.shape)) does not match \(shape[0]) rows", at: "bias" + suffix)
            }
            bias = try ordered(graph, bias, order, shape[1])
        }
        return RecurrentLayer.Direction(
            input: try ordered(graph, input, order, shape[1]), state: try ordered(graph, state, order, shape[1]),
            bias: bias, functions: functions)
    }

    /// Reorders the rows of gates.
    private static func ordered(_ graph: GraphBuilder, _ value: Graph.Value, _ order: [Int], _ hidden: Int)
        throws(Problem) -> Graph.Value
    {
        if order == Array(order.indices) { return value }
        let rows = order.flatMap { gate in (0..<hidden).map { Int32(clamping: gate * hidden + $0) } }
        let indices = try graph.constant(.i32, shape: [rows.count], bytes: Bytes(of: rows))
        return try graph.gather(value, indices, axis: 0)
    }

    /// All steps or only the last state, then the last states.
    private static func run(_ call: ProgramCall, _ layer: RecurrentLayer, states: [Graph.Value]) throws(Problem)
        -> [Graph.Value]
    {
        let direction = try direction(call, mayBeBoth: layer.directions.count == 2)
        var x = try call.float("x")
        guard x.rank == 3 else {
            throw Problem("expected shape [sequence,batch,features], found \(shapeText(x.shape))", at: "x")
        }
        if direction == .reverse { x = try call.graph.reverse(x, axes: [0]) }
        let found = try call.graph.recurrent(layer, over: x, states: states)
        let whole = try call.bool("output_sequence")
        return [whole ? found.outputs : try call.graph.unsqueeze(found.states[0], [0])] + found.states
    }
}

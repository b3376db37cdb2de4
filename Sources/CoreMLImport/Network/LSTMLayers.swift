/// uniDirectionalLSTM, biDirectionalLSTM.
enum LSTMLayers {
    static let table = [
        LayerTranslator(420, "uniDirectionalLSTM", oneDirection),
        LayerTranslator(430, "biDirectionalLSTM", bothDirections),
    ]

    private static func oneDirection(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...3)
        let recurrence = try Recurrence(layer)
        var sequence = recurrence.sequence
        // What a reversed sequence gives stays in the order of computing.
        if try layer.parameters.bool(100) { sequence = try layer.graph.reverse(sequence, axes: [0]) }
        let cell = try Cell(
            recurrence, weights: layer.parameters.message(20),
            activations: Recurrence.activations(layer.parameters.messages(10), count: 3))
        let found = try cell.run(over: sequence, states: [recurrence.state(1), recurrence.state(2)])
        let outputs = try recurrence.selected(found.outputs, found.states[0], all: cell.givesSequence)
        return [
            try recurrence.blob(outputs, size: recurrence.outputSize), try recurrence.blob(state: found.states[0]),
            try recurrence.blob(state: found.states[1]),
        ]
    }

    private static func bothDirections(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...5)
        let (recurrence, graph) = (try Recurrence(layer), layer.graph)
        let weights = try layer.parameters.messages(20)
        guard weights.count == 2 else { throw Problem("expected weights for 2 directions, found \(weights.count)") }
        var backActivations = try layer.parameters.messages(11)
        if backActivations.isEmpty { backActivations = try layer.parameters.messages(10) }
        let forward = try Cell(
            recurrence, weights: weights[0],
            activations: Recurrence.activations(layer.parameters.messages(10), count: 3))
        let backward = try Cell(
            recurrence, weights: weights[1], activations: Recurrence.activations(backActivations, count: 3))
        let ahead = try forward.run(
            over: recurrence.sequence, states: [recurrence.state(1), recurrence.state(2)])
        let back = try backward.run(
            over: graph.reverse(recurrence.sequence, axes: [0]), states: [recurrence.state(3), recurrence.state(4)])
        let outputs = try graph.concat(
            [
                recurrence.selected(ahead.outputs, ahead.states[0], all: forward.givesSequence),
                recurrence.selected(
                    graph.reverse(back.outputs, axes: [0]), back.states[0], all: forward.givesSequence),
            ], axis: 2)
        guard let size = checkedProduct(recurrence.outputSize, 2) else { throw Problem("the output is too large") }
        return [
            try recurrence.blob(outputs, size: size), try recurrence.blob(state: ahead.states[0]),
            try recurrence.blob(state: ahead.states[1]), try recurrence.blob(state: back.states[0]),
            try recurrence.blob(state: back.states[1]),
        ]
    }

    /// One direction.
    private struct Cell {
        let recurrence: Recurrence
        let graph: GraphBuilder
        let size: Int
        let activations: [Message]
        let givesSequence: Bool
        private let isCoupled: Bool
        private let cellClip: Float
        /// Of the gates i, f, z (block input), o.
        private let weights: [Graph.Value]
        private let recursions: [Graph.Value]
        private let biases: [Graph.Value]
        /// Of the gates i, f, o; empty if there are none.
        private let peepholes: [Graph.Value]

        init(_ recurrence: Recurrence, weights message: Message?, activations: [Message]) throws(Problem) {
            guard let message else { throw Problem("the weights are missing") }
            self.recurrence = recurrence
            graph = recurrence.graph
            size = recurrence.outputSize
            self.activations = activations
            let parameters = try recurrence.layer.parameters.message(15) ?? .empty
            givesSequence = try parameters.bool(10)
            isCoupled = try parameters.bool(50)
            let clip = try parameters.float(60)
            cellClip = clip == 0 ? 50 : clip
            func gates(_ first: Int, _ name: String, columns: Int?) throws(Problem) -> [Graph.Value] {
                var gates: [Graph.Value] = []
                for (index, gate) in ["input", "forget", "block input", "output"].enumerated() {
                    gates.append(
                        try recurrence.numbers(message, first + index, "\(name) of the \(gate) gate", columns: columns))
                }
                return gates
            }
            weights = try gates(1, "the weight matrix", columns: recurrence.inputSize)
            recursions = try gates(20, "the recursion matrix", columns: size)
            var biases = Array(repeating: graph.broadcast(graph.float(0), to: [size]), count: 4)
            if try parameters.bool(20) { biases = try gates(40, "the bias vector", columns: nil) }
            if try parameters.bool(30) { biases[1] = try graph.shifted(biases[1], by: 1) }
            self.biases = biases
            var peepholes: [Graph.Value] = []
            if try parameters.bool(40) {
                for field in 60...62 {
                    peepholes.append(try recurrence.numbers(message, field, "a peephole vector", columns: nil))
                }
            }
            self.peepholes = peepholes
        }

        /// The engine's own operation, where it does the same: it has no peepholes, no coupled gates and no limit for the cell. A
        /// limit of 50 or more (the default) is out of reach of sigmoid and tanh in as many steps.
        private var isPlain: Bool {
            !isCoupled && peepholes.isEmpty && Recurrence.are(activations, [40, 30, 30]) && cellClip >= 50
                && ((recurrence.steps ?? .max) <= 50 || cellClip >= Float(recurrence.steps ?? Self.mostSteps))
        }

        /// Steps that a sequence of open length has at most, as far as the limit of the cell is concerned.
        private static let mostSteps = 10_000

        func run(over sequence: Graph.Value, states: [Graph.Value]) throws(Problem) -> (
            outputs: Graph.Value, states: [Graph.Value]
        ) {
            if isPlain {
                // Its order is f, i, z, o.
                func stacked(_ gates: [Graph.Value]) throws(Problem) -> Graph.Value {
                    try graph.concat([gates[1], gates[0], gates[2], gates[3]], axis: 0)
                }
                return try recurrence.run(
                    "LSTMSequence", over: sequence, states: states,
                    weights: [stacked(weights), stacked(recursions), stacked(biases)],
                    [("activations", "sigmoid,tanh,tanh")])
            }
            let matrix = try graph.concat(weights, axis: 0)
            let projected = try graph.add(
                graph.matmul(sequence, matrix, transposesRight: true), graph.concat(biases, axis: 0))
            return try graph.loop(over: projected, states: states, constants: recursions + peepholes) {
                (graph, x, states, weights) throws(Problem) in
                try step(
                    graph, x, hidden: states[0], cell: states[1], recursions: Array(weights[..<4]),
                    peepholes: Array(weights[4...]))
            }
        }

        private func step(
            _ graph: GraphBuilder, _ x: Graph.Value, hidden: Graph.Value, cell: Graph.Value, recursions: [Graph.Value],
            peepholes: [Graph.Value]
        ) throws(Problem) -> [Graph.Value] {
            let parts = try graph.split(x, axis: 1, sizes: [size, size, size, size])
            func gate(_ index: Int, peephole: Int?, _ cell: Graph.Value, _ activation: Message) throws(Problem)
                -> Graph.Value
            {
                var sum = try graph.add(parts[index], graph.matmul(hidden, recursions[index], transposesRight: true))
                if let peephole, !peepholes.isEmpty {
                    sum = try graph.add(sum, graph.multiply(peepholes[peephole], cell))
                }
                return try Recurrence.activate(activation, sum, graph)
            }
            let input = try gate(0, peephole: 0, cell, activations[0])
            let forget =
                isCoupled
                ? try graph.subtract(graph.float(1), input) : try gate(1, peephole: 1, cell, activations[0])
            let block = try gate(2, peephole: nil, cell, activations[1])
            let new = try graph.clamp(
                graph.add(graph.multiply(cell, forget), graph.multiply(input, block)), from: -cellClip, to: cellClip)
            let output = try gate(3, peephole: 2, new, activations[0])
            let activated = try Recurrence.apply(activations[2], to: new, graph)
            return [try graph.multiply(activated, output), new]
        }
    }
}

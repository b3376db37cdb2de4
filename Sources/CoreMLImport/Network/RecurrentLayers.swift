/// simpleRecurrent, gru.
enum RecurrentLayers {
    static let table = [
        LayerTranslator(400, "simpleRecurrent", simpleRecurrent), LayerTranslator(410, "gru", gatedRecurrent),
    ]

    private static func simpleRecurrent(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...2)
        let (recurrence, graph, parameters) = (try Recurrence(layer), layer.graph, layer.parameters)
        let size = recurrence.outputSize
        let activation = try parameters.message(10) ?? .empty
        let weights = try recurrence.numbers(parameters, 30, "weightMatrix", columns: recurrence.inputSize)
        let recursion = try recurrence.numbers(parameters, 31, "recursionMatrix", columns: size)
        let bias =
            try parameters.bool(20)
            ? recurrence.numbers(parameters, 32, "biasVector", columns: nil)
            : graph.broadcast(graph.float(0), to: [size])
        var sequence = recurrence.sequence
        if try parameters.bool(100) { sequence = try graph.reverse(sequence, axes: [0]) }
        let found: (outputs: Graph.Value, states: [Graph.Value])
        if Recurrence.are([activation], [30]) {
            found = try recurrence.run(
                "RNNSequence", over: sequence, states: [recurrence.state(1)], weights: [weights, recursion, bias],
                [("activations", "tanh")])
        } else {
            let projected = try graph.add(graph.matmul(sequence, weights, transposesRight: true), bias)
            found = try graph.loop(over: projected, states: [recurrence.state(1)], constants: [recursion]) {
                (graph, x, states, weights) throws(Problem) in
                let sum = try graph.add(x, graph.matmul(states[0], weights[0], transposesRight: true))
                return [try Recurrence.activate(activation, sum, graph)]
            }
        }
        let outputs = try recurrence.selected(found.outputs, found.states[0], all: parameters.bool(15))
        return [try recurrence.blob(outputs, size: size), try recurrence.blob(state: found.states[0])]
    }

    /// The state is reset before its product with the matrix.
    private static func gatedRecurrent(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...2)
        let (recurrence, graph, parameters) = (try Recurrence(layer), layer.graph, layer.parameters)
        let size = recurrence.outputSize
        let activations = try Recurrence.activations(parameters.messages(10), count: 2)
        // Update, reset, output: the engine's order too.
        let weights = try recurrence.stacked(
            parameters, [30, 31, 32], "the gates' weight matrices", columns: recurrence.inputSize)
        let recursion = try recurrence.stacked(
            parameters, [50, 51, 52], "the gates' recursion matrices", columns: size)
        let bias =
            try parameters.bool(20)
            ? recurrence.stacked(parameters, [70, 71, 72], "the gates' bias vectors", columns: nil)
            : graph.broadcast(graph.float(0), to: [3 * size])
        var sequence = recurrence.sequence
        if try parameters.bool(100) { sequence = try graph.reverse(sequence, axes: [0]) }
        let found: (outputs: Graph.Value, states: [Graph.Value])
        if Recurrence.are(activations, [40, 30]) {
            found = try recurrence.run(
                "GRUSequence", over: sequence, states: [recurrence.state(1)], weights: [weights, recursion, bias],
                [("activations", "sigmoid,tanh"), ("linear_before_reset", false)])
        } else {
            let projected = try graph.add(graph.matmul(sequence, weights, transposesRight: true), bias)
            let recursions = try graph.split(recursion, axis: 0, sizes: [size, size, size])
            found = try graph.loop(over: projected, states: [recurrence.state(1)], constants: recursions) {
                (graph, x, states, recursions) throws(Problem) in
                let gates = try graph.split(x, axis: 1, sizes: [size, size, size])
                func gate(_ index: Int, _ state: Graph.Value, _ activation: Message) throws(Problem) -> Graph.Value {
                    let sum = try graph.add(
                        gates[index], graph.matmul(state, recursions[index], transposesRight: true))
                    return try Recurrence.activate(activation, sum, graph)
                }
                let update = try gate(0, states[0], activations[0])
                let reset = try gate(1, states[0], activations[0])
                let output = try gate(2, graph.multiply(states[0], reset), activations[1])
                let kept = try graph.multiply(update, states[0])
                let new = try graph.multiply(graph.subtract(graph.float(1), update), output)
                return [try graph.add(new, kept)]
            }
        }
        let outputs = try recurrence.selected(found.outputs, found.states[0], all: parameters.bool(15))
        return [try recurrence.blob(outputs, size: size), try recurrence.blob(state: found.states[0])]
    }
}

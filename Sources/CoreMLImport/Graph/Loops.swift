extension Graph {
    /// What a TensorIterator repeats: a graph of its own.
    ///
    /// Its first nodes are parameters, one for each input of the operation: a row of the first input, then the states, then what is the
    /// same in every step. Its results are the outputs of the operation: the first is joined along axis 0, the others are the states,
    /// which the next step takes.
    struct Loop: Sendable {
        var nodes: [Node]
        /// The nodes of its results, in the order of the outputs.
        var results: [Int]
    }
}

extension GraphBuilder {
    /// Repeats `step` for all rows of a matrix, however many there are.
    ///
    /// The body takes a row as it is: a Squeeze of what the engine has sliced gives wrong numbers (OpenVINO 2026.4).
    /// - Parameters:
    ///   - rows: [steps, columns].
    ///   - states: what the first step takes, each [1, …]; each step gives those of the next.
    ///   - constants: what every step takes.
    ///   - step: adds one step to another builder: of the row [1, columns], the states and the constants it makes the new states.
    /// - Returns: the first state of all steps, joined along axis 0, and the last states.
    func loop(
        over rows: Graph.Value, states: [Graph.Value], constants: [Graph.Value],
        step: (GraphBuilder, Graph.Value, [Graph.Value], [Graph.Value]) throws(Problem) -> [Graph.Value]
    ) throws(Problem) -> (outputs: Graph.Value, states: [Graph.Value]) {
        let body = GraphBuilder()
        body.place = place
        func parameter(_ type: Graph.ElementType, _ shape: [Int?]) -> Graph.Value {
            body.operation("Parameter", 1, [], type: type, shape: shape)
        }
        let row = parameter(rows.type, [1] + rows.shape.dropFirst())
        let given = states.map { parameter($0.type, $0.shape) }
        let fixed = constants.map { parameter($0.type, $0.shape) }
        let new = try step(body, row, given, fixed)
        guard let first = new.first, new.count == states.count else { throw Problem("a step without its states") }
        var loop = Graph.Loop(nodes: [], results: [])
        for value in [first] + new {
            loop.results.append(body.nodeCount)
            _ = body.operation("Result", 1, [value], outputs: [])
        }
        if let oversized = body.oversized { throw oversized }
        loop.nodes = body.graph.nodes
        let joined = [rows.shape[0]] + first.shape.dropFirst()
        let outputs = [(type: first.type, shape: joined)] + new.map { ($0.type, $0.shape) }
        let results = repeating(loop, [rows] + states + constants, outputs: outputs)
        return (results[0], Array(results.dropFirst()))
    }
}

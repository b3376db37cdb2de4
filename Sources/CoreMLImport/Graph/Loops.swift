extension Graph {
    /// The body of a Loop: a graph of its own.
    struct Loop: Sendable {
        var nodes: [Node]
        /// The parameters, in the order of the operation's inputs behind the number of rounds and the condition.
        var parameters: [Int] = []
        /// The results that are outputs of the operation, in their order: of the last round, or of all rounds, joined
        /// along axis 0.
        var results: [(node: Int, isJoined: Bool)] = []
        /// Results that are parameters of the next round.
        var backEdges: [(result: Int, parameter: Int)] = []
        /// The result that says whether there is another round.
        var condition = 0
    }
}

/// A value that the body of a loop takes.
struct LoopInput {
    /// The value for the first round, of the graph around the loop.
    let first: Graph.Value
    /// The body's parameter for it.
    let parameter: Graph.Value
    /// The value for the next round, of the body; nil where all rounds take the same.
    var next: Graph.Value?
}

extension GraphBuilder {
    /// Adds a parameter to the body of a loop.
    func loopParameter(for value: Graph.Value) -> Graph.Value {
        operation("Parameter", 1, [], type: value.type, shape: value.shape)
    }

    /// Adds a loop.
    ///
    /// The engine does not slice its inputs: a Squeeze of what it has sliced gives wrong numbers (OpenVINO 2026.4).
    /// Bodies gather rows by a counter.
    /// - Parameters:
    ///   - body: what is repeated. Inputs and operations that no output needs are left out.
    ///   - rounds: how many rounds there are, a scalar i64.
    ///   - joined: values of the body, of which all rounds are wanted: [rounds, …].
    ///   - last: values of the body, of which the last round is wanted.
    func repeating(
        _ body: GraphBuilder, rounds: Graph.Value, inputs: [LoopInput], joined: [Graph.Value], last: [Graph.Value]
    ) throws(Problem) -> (joined: [Graph.Value], last: [Graph.Value]) {
        guard !joined.isEmpty || !last.isEmpty else { return ([], []) }
        body.place = place
        let goesOn = try body.constant(.boolean, shape: [], bytes: Bytes([1]))
        var wanted: [(value: Graph.Value, isJoined: Bool)] = []
        for value in joined { wanted.append((try body.unsqueeze(value, [0]), true)) }
        for value in last { wanted.append((value, false)) }
        let needed = body.graph.needed(wanted.map(\.value.node), inputs)
        let kept = inputs.filter { needed.contains($0.parameter.node) }

        func result(_ value: Graph.Value) throws(Problem) -> Int {
            _ = body.operation("Result", 1, [try body.owned(value)], outputs: [])
            return body.nodeCount - 1
        }
        var loop = Graph.Loop(nodes: [], parameters: kept.map(\.parameter.node))
        loop.condition = try result(goesOn)
        for (value, isJoined) in wanted { loop.results.append((try result(value), isJoined)) }
        for input in kept {
            guard let next = input.next else { continue }
            loop.backEdges.append((try result(next), input.parameter.node))
        }
        if let oversized = body.oversized { throw oversized }
        let roots = [loop.condition] + loop.results.map(\.node) + loop.backEdges.map(\.result)
        loop.nodes = body.graph.nodes
        loop.keep(body.graph.needed(roots, []).union(loop.parameters))

        let count = numbers(of: rounds)?.first.flatMap { Int(exactly: $0) }
        let outputs = wanted.map { value, isJoined in
            (type: value.type, shape: isJoined ? [count] + value.shape.dropFirst() : value.shape)
        }
        let goes = try constant(.boolean, shape: [], bytes: Bytes([1]))
        let values = repeating(loop, [rounds, goes] + kept.map(\.first), outputs: outputs)
        return (Array(values.prefix(joined.count)), Array(values.dropFirst(joined.count)))
    }

    /// Repeats `step` for all steps of a sequence, however many there are.
    /// - Parameters:
    ///   - sequence: [steps, …].
    ///   - states: what the first step takes; each step gives those of the next.
    ///   - constants: what every step takes.
    ///   - step: adds one step to another builder: of its part of the sequence, the states and the constants it makes
    ///     the new states.
    /// - Returns: the first state of all steps, [steps, …], and the last states.
    func loop(
        over sequence: Graph.Value, states: [Graph.Value], constants: [Graph.Value],
        step: (GraphBuilder, Graph.Value, [Graph.Value], [Graph.Value]) throws(Problem) -> [Graph.Value]
    ) throws(Problem) -> (outputs: Graph.Value, states: [Graph.Value]) {
        let body = GraphBuilder()
        body.place = place
        let values = [sequence, scalar(0, type: .i32)] + states + constants
        var inputs = values.map { LoopInput(first: $0, parameter: body.loopParameter(for: $0)) }
        let counter = inputs[1].parameter
        let part = try body.gather(inputs[0].parameter, counter, axis: 0)
        let given = inputs.dropFirst(2).map(\.parameter)
        let new = try step(body, part, Array(given.prefix(states.count)), Array(given.dropFirst(states.count)))
        guard let first = new.first, new.count == states.count else { throw Problem("a step without its states") }
        inputs[1].next = try body.add(counter, body.scalar(1, type: .i32))
        for (index, state) in new.enumerated() { inputs[index + 2].next = state }
        let steps: Graph.Value
        if let known = sequence.shape[0] {
            steps = scalar(known)
        } else {
            steps = try gather(shape(of: sequence), scalar(0), axis: 0)
        }
        let found = try repeating(body, rounds: steps, inputs: inputs, joined: [first], last: new)
        return (found.joined[0], found.last)
    }

    /// A list [count, …] after the rounds of a loop have written into it.
    /// - Parameters:
    ///   - list: the list before; nil for one whose elements are all written.
    ///   - rows: what the rounds wrote, [rounds, …].
    ///   - places: where each of them did. The last one counts.
    func list(_ list: Graph.Value?, count: Int, _ rows: Graph.Value, at places: [Int]) throws(Problem) -> Graph.Value? {
        var sources = [Int?](repeating: nil, count: count)
        for (round, place) in places.enumerated() { sources[place] = round }
        let written = sources.compactMap(\.self)
        if written == Array(places.indices), written.count == count { return rows }
        if written.count == count { return try gather(rows, integers(written), axis: 0) }
        guard let list else { return nil }
        let all = try concat([list, rows], axis: 0)
        return try gather(all, integers(sources.enumerated().map { $1.map { count + $0 } ?? $0 }), axis: 0)
    }

    /// The value as memory of its own. The engine hands on what a round only looks at without a copy, and the next
    /// round overwrites it (OpenVINO 2026.4).
    private func owned(_ value: Graph.Value) throws(Problem) -> Graph.Value {
        guard graph.isView(value) else { return value }
        return try binary(value.type == .boolean ? "LogicalAnd" : "Maximum", value, value)
    }
}

extension Graph {
    /// Operations whose results may be in the memory of what they take.
    private static let views: Set<String> = [
        "Reshape", "Squeeze", "Unsqueeze", "Convert", "Split", "VariadicSplit", "Concat", "Slice", "Transpose",
    ]

    /// True if a value may be in the memory of a parameter.
    fileprivate func isView(_ value: Value) -> Bool {
        var open = [value.node]
        var seen: Set<Int> = []
        while let id = open.popLast() {
            if nodes[id].type == "Parameter" { return true }
            guard Self.views.contains(nodes[id].type), seen.insert(id).inserted else { continue }
            open += nodes[id].inputs.map(\.node)
        }
        return false
    }
}

extension Graph.Loop {
    /// Leaves out all other nodes.
    fileprivate mutating func keep(_ kept: Set<Int>) {
        let (nodes, places) = nodes.kept(nodes.indices.filter(kept.contains))
        self.nodes = nodes
        func place(_ node: Int) -> Int { places[node] ?? 0 }
        parameters = parameters.map(place)
        results = results.map { (place($0.node), $0.isJoined) }
        backEdges = backEdges.map { (place($0.result), place($0.parameter)) }
        condition = place(condition)
    }
}

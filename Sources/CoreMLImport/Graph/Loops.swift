extension Graph {
    /// The body of a Loop, a graph.
    struct Loop: Sendable {
        var nodes: [Node]
        /// The parameters, in the order of the operation's inputs after the number of rounds and the condition.
        var parameters: [Int] = []
        /// The results that are outputs of the operation, in their order: the value of the last round, or those of all
        /// rounds joined along axis 0.
        var results: [(node: Int, isJoined: Bool)] = []
        /// Results that become parameters of the next round.
        var backEdges: [(result: Int, parameter: Int)] = []
        /// The result that decides whether another round follows.
        var condition = 0
    }
}

/// An input of the body of a loop.
struct LoopInput {
    /// The value for the first round, from the outer graph.
    let first: Graph.Value
    /// The body's parameter.
    let parameter: Graph.Value
    /// The value for the next round, from the body; nil if all rounds use `first`.
    var next: Graph.Value?
}

extension GraphBuilder {
    /// Adds a parameter to the body of a loop.
    func loopParameter(for value: Graph.Value) -> Graph.Value {
        operation("Parameter", 1, [], type: value.type, shape: value.shape)
    }

    /// Adds a loop.
    ///
    /// Bodies gather rows by a counter instead of having the engine slice its inputs: a Squeeze of a slice gives wrong
    /// numbers (OpenVINO 2026.4).
    /// - Parameters:
    ///   - body: the repeated graph. Inputs and operations that no output needs are omitted.
    ///   - rounds: the number of rounds, a scalar i64.
    ///   - joined: values of the body to return for all rounds, as [rounds, …].
    ///   - last: values of the body to return for the last round.
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

    /// Repeats `step` for each step of a sequence of any length.
    /// - Parameters:
    ///   - sequence: [steps, …].
    ///   - states: the states of the first step; each step returns those of the next.
    ///   - constants: values that every step uses.
    ///   - step: adds one step to another builder: computes the new states from an element of the sequence, the states
    ///     and the constants.
    /// - Returns: the first state after each step, [steps, …], and the last states.
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

    /// A list [count, …] after the rounds of a loop wrote into it; nil if `list` is nil and an element was not written.
    /// - Parameters:
    ///   - list: the list before the loop; nil if the loop writes all elements.
    ///   - rows: the elements written, [rounds, …].
    ///   - places: the index of each in the list. Of elements with the same index, the last one is kept.
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

    /// A copy of the value in its own memory. The engine passes on values that a round only views without copying them,
    /// and the next round overwrites them (OpenVINO 2026.4).
    private func owned(_ value: Graph.Value) throws(Problem) -> Graph.Value {
        guard graph.isView(value) else { return value }
        return try binary(value.type == .boolean ? "LogicalAnd" : "Maximum", value, value)
    }
}

extension Graph {
    /// Operations that may share the memory of their inputs.
    private static let views: Set<String> = [
        "Reshape", "Squeeze", "Unsqueeze", "Convert", "Split", "VariadicSplit", "Concat", "Slice", "Transpose",
    ]

    /// True if the value may share the memory of a parameter.
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
    /// Removes all nodes that are not in `kept`.
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

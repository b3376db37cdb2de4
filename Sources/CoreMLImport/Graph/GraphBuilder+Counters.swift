/// A number that grows by the same amount in every round of a loop.
struct Counter {
    let start: Int
    let step: Int

    /// The greatest integer up to which 32-bit floats are exact.
    private static let largest = 1 << 24
    /// The maximum number of rounds that are counted.
    static let maximumRounds = 1 << 16

    /// `nil` if the values are not exact in every round.
    init?(start: Double, step: Double) {
        guard let start = Int(exactly: start), let step = Int(exactly: step), start.magnitude <= Self.largest,
            step.magnitude <= Self.largest / Self.maximumRounds
        else { return nil }
        (self.start, self.step) = (start, step)
    }

    func value(inRound round: Int) -> Int { start + step * round }
}

/// Values that the body of a loop computes from its counters: conditions, and indices to read and write.
extension GraphBuilder {
    /// The maximum number of node visits when the numbers of all rounds are computed.
    private static let maximumLookups = 1 << 24

    /// The counter of a body's parameter; nil unless the next round uses its value plus or minus a known number.
    /// - Parameters:
    ///   - start: the value in the first round.
    ///   - next: the value for the next round.
    func counter(_ parameter: Graph.Value, start: [Double], next: Graph.Value) -> Counter? {
        let sum = graph.nodes[origin(of: next)]
        guard start.count == 1, sum.type == "Add" || sum.type == "Subtract", sum.inputs.count == 2 else { return nil }
        func isParameter(_ index: Int) -> Bool { origin(of: sum.inputs[index]) == parameter.node }
        func number(_ index: Int) -> Double? {
            numbers(of: sum.inputs[index]).flatMap { $0.count == 1 ? $0[0] : nil }
        }
        if isParameter(0), let step = number(1) {
            return Counter(start: start[0], step: sum.type == "Add" ? step : -step)
        }
        guard sum.type == "Add", isParameter(1), let step = number(0) else { return nil }
        return Counter(start: start[0], step: step)
    }

    /// The node that computes the value, before conversions and reshapes.
    private func origin(of value: Graph.Value) -> Int {
        var id = value.node
        while ["Convert", "Reshape", "Squeeze", "Unsqueeze"].contains(graph.nodes[id].type),
            let input = graph.nodes[id].inputs.first
        {
            id = input.node
        }
        return id
    }

    /// Calls `goesOn` with the numbers of a value for each round, until it returns false.
    /// - Returns: the number of rounds for which it returned true; nil if a number is not known.
    func forEachRound(_ value: Graph.Value, upTo rounds: Int, _ goesOn: ([Double]) -> Bool) -> Int? {
        let before = knownNumbers
        defer { knownNumbers = before }
        // Forget unknown values: they may depend on counters, which are known below.
        let constant = before.filter { $0.value != nil }
        for round in 0..<rounds {
            guard (round + 1) * (constant.count + 1) <= Self.maximumLookups else { return nil }
            knownNumbers = constant
            for (node, counter) in counters { knownNumbers[node] = [Double(counter.value(inRound: round))] }
            guard let numbers = numbers(of: value) else { return nil }
            if !goesOn(numbers) { return round }
        }
        return rounds
    }

    /// The first number of a value for each round; nil if one is not known.
    func numbers(inRoundsOf value: Graph.Value) -> [Double]? {
        var found: [Double] = []
        let rounds = forEachRound(value, upTo: rounds) { numbers in
            found += numbers.prefix(1)
            return true
        }
        return rounds == self.rounds && found.count == self.rounds ? found : nil
    }

    /// The value of a condition if it is known, and in a loop the same in all rounds; else nil.
    package func decision(_ condition: Graph.Value, _ holds: (Double) -> Bool) -> Bool? {
        if let known = numbers(of: condition)?.first { return holds(known) }
        guard !counters.isEmpty, rounds > 0, let all = numbers(inRoundsOf: condition) else { return nil }
        let decisions = Set(all.map(holds))
        return decisions.count == 1 ? decisions.first : nil
    }
}

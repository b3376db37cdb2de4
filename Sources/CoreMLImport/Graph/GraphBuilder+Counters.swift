/// A number of a loop that grows by the same amount in every round.
struct Counter {
    let start: Int
    let step: Int

    /// 32-bit floats are exact up to this.
    private static let largest = 1 << 24
    /// As many rounds are counted.
    static let mostRounds = 1 << 16

    /// `nil` for numbers that the rounds of a loop do not count exactly.
    init?(start: Double, step: Double) {
        guard let start = Int(exactly: start), let step = Int(exactly: step), start.magnitude <= Self.largest,
            step.magnitude <= Self.largest / Self.mostRounds
        else { return nil }
        (self.start, self.step) = (start, step)
    }

    func value(inRound round: Int) -> Int { start + step * round }
}

/// Values that the body of a loop computes of its counters: conditions, and the places that it reads and writes.
extension GraphBuilder {
    /// Work that goes into finding the numbers of rounds: nodes that are looked at.
    private static let mostLookups = 1 << 24

    /// The counter that a parameter of the body is; nil if the next round does not take its number plus a known one.
    /// - Parameters:
    ///   - start: the number in the first round.
    ///   - next: what the next round takes.
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

    /// The node whose one number a value is in another shape or type.
    private func origin(of value: Graph.Value) -> Int {
        var id = value.node
        while ["Convert", "Reshape", "Squeeze", "Unsqueeze"].contains(graph.nodes[id].type),
            let input = graph.nodes[id].inputs.first
        {
            id = input.node
        }
        return id
    }

    /// Hands the numbers of a value to `goesOn` for one round after the other, until it gives false.
    /// - Returns: the rounds before that, or nil where a number is not known.
    func forEachRound(_ value: Graph.Value, upTo rounds: Int, _ goesOn: ([Double]) -> Bool) -> Int? {
        let before = knownNumbers
        defer { knownNumbers = before }
        // What depends on a counter is not known beforehand.
        let constant = before.filter { $0.value != nil }
        for round in 0..<rounds {
            guard (round + 1) * (constant.count + 1) <= Self.mostLookups else { return nil }
            knownNumbers = constant
            for (node, counter) in counters { knownNumbers[node] = [Double(counter.value(inRound: round))] }
            guard let numbers = numbers(of: value) else { return nil }
            if !goesOn(numbers) { return round }
        }
        return rounds
    }

    /// One number of a value for each round; nil where one is not known.
    func numbers(inRoundsOf value: Graph.Value) -> [Double]? {
        var found: [Double] = []
        let rounds = forEachRound(value, upTo: rounds) { numbers in
            found += numbers.prefix(1)
            return true
        }
        return rounds == self.rounds && found.count == self.rounds ? found : nil
    }

    /// True if a condition holds, false if not, where that is known, in a loop for all of its rounds.
    package func decision(_ condition: Graph.Value, _ holds: (Double) -> Bool) -> Bool? {
        if let known = numbers(of: condition)?.first { return holds(known) }
        guard !counters.isEmpty, rounds > 0, let all = numbers(inRoundsOf: condition) else { return nil }
        let decisions = Set(all.map(holds))
        return decisions.count == 1 ? decisions.first : nil
    }
}

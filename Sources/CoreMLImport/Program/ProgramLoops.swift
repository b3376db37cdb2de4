/// Loops with rounds that differ only in their values: one round is translated, and the engine repeats it.
extension ProgramOperations {
    /// Adds the loop and returns its variables after it; nil if the loop must be unrolled: shapes change, a list is
    /// both read and written, or the number of rounds depends on more than counters.
    static func repeatedLoop(_ call: ProgramCall, _ variables: [ProgramOperand]) throws(Problem) -> [ProgramOperand]? {
        let program = call.program
        var starts: [Graph.Value?] = []
        for variable in variables {
            switch variable {
            case .tensors: starts.append(nil)
            case .value, .constant: starts.append(try program.value(of: variable))
            case .strings, .integers: return nil
            }
        }
        // Ignore problems here: unrolling the loop reports them.
        guard let round = try? LoopRound(call.operation.blocks[1], variables, starts, program) else { return nil }
        var counters: [Int: Counter] = [:]
        for (index, variable) in variables.enumerated() {
            guard let input = round.inputs[index], case .value(let next) = round.results[index],
                let numbers = try variable.numbers(in: call.graph)
            else { continue }
            counters[index] = round.scope.body.counter(input.parameter, start: numbers, next: next)
        }
        guard let test = try? LoopRound(call.operation.blocks[0], variables, starts, program),
            let rounds = try test.rounds(counters)
        else { return nil }
        if rounds == 0 { return variables }
        try program.count(rounds: rounds, of: round.scope)
        round.count(counters, rounds: rounds)
        return try round.repeated(call, variables, counters)
    }
}

/// A block of a loop translated for all rounds: its body or its condition.
private struct LoopRound {
    let scope: LoopScope
    /// The variables as inputs; nil for lists.
    let inputs: [LoopInput?]
    /// The values and lists that the block returns.
    let results: [ProgramOperand]

    init(_ block: MILBlock, _ variables: [ProgramOperand], _ starts: [Graph.Value?], _ program: ProgramContext)
        throws(Problem)
    {
        let made = try program.inLoop { (scope: LoopScope) throws(Problem) in
            var inputs: [LoopInput?] = []
            var operands: [ProgramOperand] = []
            for (variable, start) in zip(variables, starts) {
                if let start {
                    let parameter = scope.input(start)
                    inputs.append(LoopInput(first: start, parameter: parameter))
                    operands.append(.value(parameter))
                } else if case .tensors(let list) = variable {
                    operands.append(.tensors(list.asVariable(inputs.count)))
                    inputs.append(nil)
                }
            }
            var constants: [Int: [ProgramOperand]] = [:]
            var results: [ProgramOperand] = []
            for result in try ProgramOperations.results(of: block, operands, program, constants: &constants) {
                if case .tensors = result {
                    results.append(result)
                } else {
                    results.append(.value(try program.value(of: result)))
                }
            }
            return (scope, inputs, results)
        }
        (scope, inputs, results) = made
    }

    /// Declares the variables that count the rounds.
    func count(_ counters: [Int: Counter], rounds: Int) {
        for (index, counter) in counters {
            if let input = inputs[index] { scope.body.counters[input.parameter.node] = counter }
        }
        scope.body.rounds = rounds
    }

    /// The number of rounds until this condition fails; nil if it is not known.
    func rounds(_ counters: [Int: Counter]) throws(Problem) -> Int? {
        count(counters, rounds: 0)
        guard case .value(let condition)? = results.first else { return nil }
        return scope.body.forEachRound(condition, upTo: Counter.maximumRounds + 1) { ($0.first ?? 0) != 0 }
    }

    /// Adds the loop that repeats this body; nil if it must be unrolled.
    func repeated(_ call: ProgramCall, _ variables: [ProgramOperand], _ counters: [Int: Counter]) throws(Problem)
        -> [ProgramOperand]?
    {
        let (graph, body) = (call.graph, scope.body)
        var all = scope.inputs
        var behind = variables
        var states: [(index: Int, value: Graph.Value)] = []
        var lists: [(index: Int, write: TensorList.Write, places: [Int])] = []
        for (index, result) in results.enumerated() {
            switch (result, inputs[index]) {
            case (.value(let next), let input?):
                guard let place = all.firstIndex(where: { $0.parameter.isSame(as: input.parameter) }) else {
                    return nil
                }
                if next.isSame(as: input.parameter) { continue }
                guard next.shape == input.first.shape, next.type == input.first.type else { return nil }
                all[place].next = next
                guard let counter = counters[index] else {
                    states.append((index, next))
                    continue
                }
                let end = try ProgramConstant([Double(counter.value(inRound: body.rounds))], like: input.first)
                guard let end else { return nil }
                behind[index] = .constant(end)
            case (.tensors(let list), nil):
                // The list must be the variable itself, not a new list, another variable or a list that an inner loop
                // replaced.
                guard list.variable == index else { return nil }
                guard let write = list.write else { continue }
                guard let places = try places(write.index) else { return nil }
                lists.append((index, write, places))
            default: return nil
            }
        }
        // If all rounds write the same element, only the value of the last round remains.
        let whole = lists.filter { Set($0.places).count > 1 }
        let single = lists.filter { Set($0.places).count == 1 }
        let found = try graph.repeating(
            body, rounds: graph.scalar(body.rounds), inputs: all, joined: whole.map(\.write.value),
            last: states.map(\.value) + single.map(\.write.value))
        for (state, value) in zip(states, found.last) { behind[state.index] = .value(value) }
        for (list, rows) in zip(whole, found.joined) {
            guard case .tensors(let before) = variables[list.index] else { return nil }
            behind[list.index] = .tensors(try before.written(rows, at: list.places, call.program))
        }
        for (list, value) in zip(single, found.last.dropFirst(states.count)) {
            guard case .tensors(var after) = variables[list.index] else { return nil }
            try after.write(.value(value), at: list.places[0], call.program)
            behind[list.index] = .tensors(after)
        }
        return behind
    }

    /// The index that each round writes to a list; nil if it is not known.
    private func places(_ index: ProgramOperand) throws(Problem) -> [Int]? {
        if let known = try index.numbers(in: scope.body)?.first.flatMap({ Int(exactly: $0) }) {
            return Array(repeating: known, count: scope.body.rounds)
        }
        guard case .value(let value) = index, let numbers = scope.body.numbers(inRoundsOf: value) else { return nil }
        let places = numbers.compactMap { Int(exactly: $0) }
        return places.count == numbers.count ? places : nil
    }
}

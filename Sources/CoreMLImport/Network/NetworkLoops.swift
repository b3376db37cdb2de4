/// The blobs that a network in a loop reads and writes, including those of its inner networks.
private struct LoopNames {
    var read: [String: Int] = [:]
    var written: Set<String> = []
    /// True if the network contains loopBreak or loopContinue.
    var isInterrupted = false

    init(_ network: NeuralNetwork) throws(Problem) { try add(network.layers) }

    private mutating func add(_ layers: [NetworkLayer]) throws(Problem) {
        for layer in layers {
            isInterrupted = isInterrupted || layer.kind == 620 || layer.kind == 625
            for name in layer.inputs { read[name, default: 0] += 1 }
            written.formUnion(layer.outputs)
            for (_, network) in try ControlLayers.networks(in: layer) { try add(network.layers) }
        }
    }
}

/// Loops with rounds that differ only in their values: one round is translated, and the engine repeats it.
extension NetworkTranslation {
    /// Adds the loop. Returns false if it must be unrolled: it has loopBreak or loopContinue, shapes change, a blob
    /// that the loop creates is used after it, or the number of rounds depends on more than counters.
    /// - Parameter limit: the maximum number of rounds; nil if only the condition ends the loop.
    mutating func repeatLoop(
        _ body: NeuralNetwork, while condition: NeuralNetwork, _ variable: String, limit: Int?, in place: String
    ) throws(Problem) -> Bool {
        if let limit, limit <= 0 { return true }
        let (names, test) = (try LoopNames(body), try LoopNames(condition))
        guard !names.isInterrupted, !test.isInterrupted,
            test.written.isDisjoint(with: names.written.union(names.read.keys))
        else {
            return false
        }
        let uses = countedUses()
        func isUsedBehind(_ name: String) -> Bool {
            uses[name, default: 0] > names.read[name, default: 0] + test.read[name, default: 0]
        }
        let carried = names.written.filter { blobs[$0] != nil }
        let own = names.written.subtracting(carried).union(test.written)
        guard !own.contains(where: isUsedBehind) else { return false }
        let read = Set(names.read.keys).union(test.read.keys).union(carried).filter { blobs[$0] != nil }
        guard read.allSatisfy({ (blobs[$0] ?? nil) != nil }) else { return false }

        // A first draft finds the counters, which decide branches.
        var draft = try inside(read, carried)
        _ = draft.translation.translate(body, in: "\(place).bodyNetwork")
        layerRuns = draft.translation.layerRuns
        var counters: [String: Counter] = [:]
        for name in carried {
            guard let input = draft.inputs[name], let start = graph.numbers(of: input.first),
                let next = draft.translation.blobs[name] ?? nil
            else { continue }
            counters[name] = draft.translation.graph.counter(input.parameter, start: start, next: next.value)
        }
        var rounds = limit ?? Counter.maximumRounds + 1
        if !condition.layers.isEmpty {
            var draft = try inside(read, carried, counters)
            let flow = draft.translation.translate(condition, in: "\(place).conditionNetwork")
            layerRuns = draft.translation.layerRuns
            guard flow == .next,
                let value = draft.translation.blobs[variable] ?? nil,
                let found = draft.translation.graph.forEachRound(
                    value.value, upTo: min(rounds, Counter.maximumRounds + 1),
                    { $0.first.map(ControlLayers.isTrue) ?? false })
            else { return false }
            rounds = found
        }
        if rounds == 0 { return true }
        guard rounds <= Counter.maximumRounds / outerRounds else {
            throw Problem("the loop runs more than \(Counter.maximumRounds) times")
        }
        layerRuns += rounds

        var round = try inside(read, carried, counters, rounds: rounds)
        let flow = round.translation.translate(body, in: "\(place).bodyNetwork")
        layerRuns = round.translation.layerRuns
        guard flow == .next, round.translation.problems.count == 0 else { return false }
        graph.place = String(place.prefix(Self.shownName))
        return try add(
            round, carried.filter { counters[$0] != nil || isUsedBehind($0) || names.read[$0] != nil }, counters)
    }

    /// One round during translation, and its inputs from the outer network, by name.
    private typealias Round = (translation: NetworkTranslation, inputs: [String: LoopInput])

    /// Starts a round: its inputs become parameters, except small known numbers, which become constants.
    private func inside(
        _ read: Set<String>, _ carried: Set<String>, _ counters: [String: Counter] = [:], rounds: Int = 0
    ) throws(Problem) -> Round {
        var round: Round = (self, [:])
        let body = GraphBuilder()
        body.rounds = rounds
        round.translation.outerRounds = outerRounds * max(1, rounds)
        round.translation.graph = body
        round.translation.problems = ProblemCollector()
        round.translation.blobs = [:]
        for name in read.sorted() {
            guard let blob = blobs[name] ?? nil else { continue }
            var value: Graph.Value?
            if !carried.contains(name), let known = graph.numbers(of: blob.value) {
                value = try body.constant(known, like: blob.value)
            }
            if value == nil {
                let input = LoopInput(first: blob.value, parameter: body.loopParameter(for: blob.value))
                round.inputs[name] = input
                body.counters[input.parameter.node] = counters[name]
                value = input.parameter
            }
            if let value { round.translation.blobs[name] = Blob(value, isFolded: blob.isFolded) }
        }
        return round
    }

    /// Adds the loop. Returns false if a blob changes its shape.
    private mutating func add(_ round: Round, _ carried: Set<String>, _ counters: [String: Counter]) throws(Problem)
        -> Bool
    {
        let body = round.translation.graph
        var inputs = round.inputs
        var (lists, last): ([(name: String, write: ListWrite)], [(name: String, value: Graph.Value)]) = ([], [])
        // The loop returns only the rows of a list that were written, so in a round no other blob may hold the list
        // itself.
        let takers = Dictionary(
            carried.compactMap { round.translation.blobs[$0]??.value.node }.map { ($0, 1) }, uniquingKeysWith: +)
        for name in carried.sorted() {
            guard let input = inputs[name], let next = round.translation.blobs[name] ?? nil,
                let before = blobs[name] ?? nil
            else { return false }
            if next.value.isSame(as: input.parameter) { continue }
            if counters[name] == nil, takers[input.parameter.node] == nil, takers[next.value.node] == 1,
                let write = ListWrite(input, next.value, in: body)
            {
                lists.append((name, write))
                continue
            }
            guard next.value.shape == input.first.shape, next.value.type == input.first.type,
                next.isFolded == before.isFolded
            else { return false }
            inputs[name]?.next = next.value
            if counters[name] == nil { last.append((name, next.value)) }
        }
        let found = try graph.repeating(
            body, rounds: graph.scalar(body.rounds), inputs: inputs.sorted { $0.key < $1.key }.map(\.value),
            joined: lists.map(\.write.updates), last: last.map(\.value))
        guard graph.nodeCount + body.nodeCount <= NetworkTranslator.maximumOperations else {
            throw Problem("the network needs more than \(NetworkTranslator.maximumOperations) operations")
        }
        for (list, joined) in zip(lists, found.joined) {
            guard let before = blobs[list.name] ?? nil else { return false }
            let rows = try graph.reshape(joined, to: [body.rounds] + joined.shape.dropFirst(2).map { $0 ?? 0 })
            let count = before.value.shape[0] ?? 0
            guard let value = try graph.list(before.value, count: count, rows, at: list.write.places) else {
                return false
            }
            blobs[list.name] = Blob(value)
        }
        for (state, value) in zip(last, found.last) {
            blobs[state.name] = Blob(value, isFolded: (blobs[state.name] ?? nil)?.isFolded ?? false)
        }
        for (name, counter) in counters {
            guard let before = blobs[name] ?? nil else { return false }
            let end = [Double(counter.value(inRound: body.rounds))]
            guard let value = try graph.constant(end, like: before.value) else { return false }
            blobs[name] = Blob(value, isFolded: before.isFolded)
        }
        return true
    }

    /// The number of layers and outputs that use each blob, in the whole network.
    private mutating func countedUses() -> [String: Int] {
        if let uses { return uses }
        var counted: [String: Int] = [:]
        func count(_ layers: [NetworkLayer]) {
            for layer in layers {
                for name in layer.inputs { counted[name, default: 0] += 1 }
                // Ignore errors here: translating the layer reports the problems of its networks.
                for (_, network) in (try? ControlLayers.networks(in: layer)) ?? [] { count(network.layers) }
            }
        }
        count(network.layers)
        for output in description.outputs { counted[output.name, default: 0] += 1 }
        counted[network.labelProbabilityLayerName, default: 0] += 1
        uses = counted
        return counted
    }
}

/// A list into which each round writes one element: by `scatter` along axis 0, with no other reader of the list.
private struct ListWrite {
    /// The element, [1, …].
    let updates: Graph.Value
    /// The index that each round writes.
    let places: [Int]

    init?(_ list: LoopInput, _ next: Graph.Value, in body: GraphBuilder) {
        let nodes = body.graph.nodes
        let scatter = nodes[next.node]
        guard scatter.type == "ScatterElementsUpdate", scatter.inputs.count == 4,
            scatter.attributes.contains(where: { $0.key == "reduction" && $0.value.isText("none") }),
            scatter.inputs[0].isSame(as: list.parameter), body.numbers(of: scatter.inputs[3]) == [0],
            let length = list.first.shape[0], scatter.inputs[2].shape[0] == 1
        else { return nil }
        for (id, node) in nodes.enumerated() where node.type != "ShapeOf" {
            for (place, input) in node.inputs.enumerated()
            where input.node == list.parameter.node || input.node == next.node {
                guard id == next.node, place == 0, input.isSame(as: list.parameter) else { return nil }
            }
        }
        // The index of the element is broadcast to all of its numbers.
        let indices = nodes[scatter.inputs[1].node]
        guard indices.type == "Broadcast", let index = indices.inputs.first,
            index.staticShape.flatMap(elementCount) == 1, let numbers = body.numbers(inRoundsOf: index)
        else { return nil }
        let places = numbers.compactMap { Int(exactly: $0) }
        guard places.count == body.rounds, places.allSatisfy({ $0 >= 0 && $0 < length }),
            // A list with a single written element is an ordinary state.
            Set(places).count > 1
        else { return nil }
        (updates, self.places) = (scatter.inputs[2], places)
    }
}

/// Layers that contain networks: branch and loop, with loopBreak and loopContinue.
///
/// If the condition of a branch is known when the file is read, only that side is translated; otherwise both are, and
/// their values are selected at run time. The number of rounds of a loop must be known. The engine repeats a loop whose
/// rounds differ only in their values (`NetworkLoops.swift`); other loops are unrolled.
enum ControlLayers {
    static let names = [605: "branch", 615: "loop", 620: "loopBreak", 625: "loopContinue"]

    /// The maximum number of rounds of an unrolled loop.
    static let maximumRounds = 4096
    /// The maximum number of layers translated, those in loops once for every round. Layers that add nothing to the
    /// graph (copies) still take time.
    static let maximumLayerRuns = 200_000

    /// True if a number of the network means true.
    static func isTrue(_ number: Double) -> Bool { abs(number) > 1e-6 }

    static func networks(in layer: NetworkLayer) throws(Problem) -> [(name: String, network: NeuralNetwork)] {
        let fields: [(Int, String)] =
            switch layer.kind {
            case 605: [(1, "ifBranch"), (2, "elseBranch")]
            case 615: [(3, "conditionNetwork"), (4, "bodyNetwork")]
            default: []
            }
        var networks: [(name: String, network: NeuralNetwork)] = []
        guard !fields.isEmpty else { return [] }
        let parameters = try layer.parameters()
        for (field, name) in fields {
            networks.append((name, try network(parameters, field, name)))
        }
        return networks
    }

    /// A network of a layer; an empty one if the field is missing.
    static func network(_ parameters: Message, _ field: Int, _ name: String) throws(Problem) -> NeuralNetwork {
        try located(name) { () throws(Problem) in
            try NeuralNetwork(parameters.last(field)?.reader() ?? MessageReader(.empty))
        }
    }

    /// The way in which the layers of a network end.
    enum Flow {
        case next
        case leavesRound
        case leavesLoop
        /// A layer has a problem, which has been collected.
        case failed
    }
}

extension NetworkTranslation {
    mutating func translate(_ layers: [NetworkLayer]) -> ControlLayers.Flow {
        for (index, layer) in layers.enumerated() {
            let place = place(of: layer, index)
            layerRuns += 1
            guard layerRuns <= ControlLayers.maximumLayerRuns else {
                problems.add(
                    Problem(
                        "the loops of the network run more than \(ControlLayers.maximumLayerRuns) layers", at: place))
                return .failed
            }
            var flow = ControlLayers.Flow.next
            switch layer.kind {
            case 605:
                flow = control(layer, place) { (translation) throws(Problem) in try translation.branch(layer, place) }
            case 615:
                flow = control(layer, place) { (translation) throws(Problem) in try translation.loop(layer, place) }
            case 620: flow = .leavesLoop
            case 625: flow = .leavesRound
            default: translate(layer, at: place)
            }
            // After a layer with a problem, continue, to report the problems of later layers as well.
            if flow == .leavesLoop || flow == .leavesRound { return flow }
        }
        return .next
    }

    private mutating func control(
        _ layer: NetworkLayer, _ place: String,
        _ body: (inout NetworkTranslation) throws(Problem) -> ControlLayers.Flow
    ) -> ControlLayers.Flow {
        do throws(Problem) {
            let flow = try body(&self)
            if flow != .failed { return flow }
        } catch {
            problems.add(error.inside(place))
        }
        withholdOutputs(of: layer)
        return .failed
    }

    /// Marks the outputs of a layer's networks as missing because of a problem.
    private mutating func withholdOutputs(of layer: NetworkLayer) {
        for (_, network) in (try? ControlLayers.networks(in: layer)) ?? [] {
            for inner in network.layers {
                for name in inner.outputs { blobs[name] = .some(nil) }
                withholdOutputs(of: inner)
            }
        }
    }

    /// Reads a network of a layer. Its layers count as translated: an enclosing loop reads them again in every round.
    private mutating func network(_ parameters: Message, _ field: Int, _ name: String) throws(Problem) -> NeuralNetwork
    {
        let network = try ControlLayers.network(parameters, field, name)
        layerRuns += network.layers.count
        return network
    }

    /// Translates a network of a layer. Later layers of the outer network can use its blobs.
    mutating func translate(_ network: NeuralNetwork, in place: String) -> ControlLayers.Flow {
        let (outer, before) = (scope, problems.count)
        scope = "\(place)."
        let flow = translate(network.layers)
        scope = outer
        return problems.count > before ? .failed : flow
    }

    // MARK: Branches

    private mutating func branch(_ layer: NetworkLayer, _ place: String) throws(Problem) -> ControlLayers.Flow {
        guard layer.inputs.count == 1 else { throw Problem("expected 1 input, found \(layer.inputs.count)") }
        guard let condition = try blob(named: layer.inputs[0]) else { return .failed }
        let parameters = try layer.parameters()
        let yes = try network(parameters, 1, "ifBranch")
        let no = try network(parameters, 2, "elseBranch")
        if let holds = graph.decision(condition.value, ControlLayers.isTrue) {
            return holds ? translate(yes, in: "\(place).ifBranch") : translate(no, in: "\(place).elseBranch")
        }
        let before = blobs
        let first = translate(yes, in: "\(place).ifBranch")
        let one = blobs
        blobs = before
        let second = translate(no, in: "\(place).elseBranch")
        let other = blobs
        if first == .failed || second == .failed { return .failed }
        guard first == .next, second == .next else {
            throw Problem("the loop's condition is known only at run time: export the model without the branch")
        }
        graph.place = ""
        let holds = try graph.binary(
            "Greater", 1, graph.unary("Abs", graph.reshape(condition.value, to: [])), graph.float(1e-6))
        // Blobs of only one side are not visible after the branch.
        blobs = before
        for (name, blob) in one {
            guard let counterpart = other[name] else { continue }
            guard let blob, let counterpart else {
                blobs[name] = .some(nil)
                continue
            }
            blobs[name] = try located("\"\(name)\"") { () throws(Problem) in try selected(holds, blob, counterpart) }
        }
        return .next
    }

    /// Selects the blob of one side of a branch at run time.
    private func selected(_ holds: Graph.Value, _ yes: Blob, _ no: Blob) throws(Problem) -> Blob {
        if yes.value.isSame(as: no.value) { return yes }
        let layer = Layer(graph: graph, parameters: .empty, inputs: [yes, no], outputCount: 1)
        let (values, isFolded) = try layer.alike()
        guard values[0].shape == values[1].shape else {
            throw Problem(
                "the sides of the branch produce the shapes \(shapeText(yes.shape)) and \(shapeText(no.shape))")
        }
        return Blob(try graph.select(holds, values[0], values[1]), isFolded: isFolded)
    }

    // MARK: Loops

    private mutating func loop(_ layer: NetworkLayer, _ place: String) throws(Problem) -> ControlLayers.Flow {
        let parameters = try layer.parameters()
        let condition = try network(parameters, 3, "conditionNetwork")
        let body = try network(parameters, 4, "bodyNetwork")
        let variable = try parameters.string(2)
        let given = try parameters.integer(1)
        var maximum = given
        if let name = layer.inputs.first {
            guard let blob = try blob(named: name) else { return .failed }
            guard let known = graph.numbers(of: blob.value)?.first.flatMap({ Int(exactly: $0) }) else {
                throw unknownRounds
            }
            maximum = known
        }
        let hasCondition = !condition.layers.isEmpty
        let isLimited = !hasCondition || given > 0 || !layer.inputs.isEmpty
        let limit = isLimited ? maximum : nil
        if try repeatLoop(body, while: condition, variable, limit: limit, in: place) { return .next }
        var round = 0
        while !isLimited || round < maximum {
            if hasCondition {
                guard translate(condition, in: "\(place).conditionNetwork") == .next else { return .failed }
                guard let blob = try blob(named: variable) else { return .failed }
                guard let known = graph.numbers(of: blob.value)?.first else { throw unknownRounds }
                if !ControlLayers.isTrue(known) { return .next }
            }
            guard round < ControlLayers.maximumRounds else {
                throw Problem("the loop runs more than \(ControlLayers.maximumRounds) times")
            }
            switch translate(body, in: "\(place).bodyNetwork") {
            case .next, .leavesRound: round += 1
            case .leavesLoop: return .next
            case .failed: return .failed
            }
        }
        return .next
    }

    private var unknownRounds: Problem {
        Problem(
            "the number of iterations is known only at run time: export the model with a fixed length of its sequences, "
                + "or without the loop")
    }

    /// An input of a layer; nil if the layer that computes it has a problem.
    private func blob(named name: String) throws(Problem) -> Blob? {
        guard let blob = blobs[name] else { throw Problem("no input or earlier layer produces \"\(name)\"") }
        return blob
    }
}

/// simpleRecurrent, gru, uniDirectionalLSTM, biDirectionalLSTM.
enum RecurrentLayers {
    static let table: [LayerTranslator] = [
        LayerTranslator(400, "simpleRecurrent", simple), LayerTranslator(410, "gru", gated),
        LayerTranslator(420, "uniDirectionalLSTM") { (layer) throws(Problem) in
            try layer.expectInputs(1...3)
            let weights = [try layer.parameters.message(20)].compactMap(\.self)
            guard !weights.isEmpty else { throw Problem("the weights are missing") }
            return try lstm(layer, weights, isReversed: layer.parameters.bool(100))
        },
        LayerTranslator(430, "biDirectionalLSTM") { (layer) throws(Problem) in
            try layer.expectInputs(1...5)
            let weights = try layer.parameters.messages(20)
            guard weights.count == 2 else { throw Problem("expected weights for 2 directions, found \(weights.count)") }
            return try lstm(layer, weights, isReversed: false)
        },
    ]

    private static func simple(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...2)
        let (recurrence, parameters) = (try Recurrence(layer), layer.parameters)
        let direction = RecurrentLayer.Direction(
            input: try recurrence.numbers(parameters, 30, "weightMatrix", columns: recurrence.inputSize),
            state: try recurrence.numbers(parameters, 31, "recursionMatrix", columns: recurrence.outputSize),
            bias: try parameters.bool(20)
                ? recurrence.numbers(parameters, 32, "biasVector", columns: nil) : recurrence.zeros(1),
            functions: [try Recurrence.function(parameters.message(10) ?? .empty)])
        return try recurrence.run(
            RecurrentLayer(cell: .simple, directions: [direction]), all: parameters.bool(15),
            isReversed: parameters.bool(100))
    }

    /// Gated: the state is reset before it is multiplied by the matrix.
    private static func gated(_ layer: Layer) throws(Problem) -> [Blob] {
        try layer.expectInputs(1...2)
        let (recurrence, parameters) = (try Recurrence(layer), layer.parameters)
        let functions = try Recurrence.functions(parameters.messages(10), count: 2)
        func stacked(_ fields: ClosedRange<Int>, _ name: String, columns: Int?) throws(Problem) -> Graph.Value {
            var parts: [Graph.Value] = []
            for field in fields { parts.append(try recurrence.numbers(parameters, field, name, columns: columns)) }
            return try layer.graph.concat(parts, axis: 0)
        }
        let direction = RecurrentLayer.Direction(
            input: try stacked(30...32, "the gates' weight matrices", columns: recurrence.inputSize),
            state: try stacked(50...52, "the gates' recursion matrices", columns: recurrence.outputSize),
            bias: try parameters.bool(20)
                ? stacked(70...72, "the gates' bias vectors", columns: nil) : recurrence.zeros(3),
            functions: functions)
        return try recurrence.run(
            RecurrentLayer(cell: .gated, directions: [direction]), all: parameters.bool(15),
            isReversed: parameters.bool(100))
    }

    /// The number of steps assumed for sequences of open length, to decide whether the limit of the cell matters.
    private static let maximumSteps = 10_000

    private static func lstm(_ layer: Layer, _ weights: [Message], isReversed: Bool) throws(Problem) -> [Blob] {
        let (recurrence, parameters) = (try Recurrence(layer), try layer.parameters.message(15) ?? .empty)
        var activations = [try layer.parameters.messages(10)]
        if weights.count == 2 {
            let back = try layer.parameters.messages(11)
            activations.append(back.isEmpty ? activations[0] : back)
        }
        var directions: [RecurrentLayer.Direction] = []
        for (message, activations) in zip(weights, activations) {
            directions.append(try direction(recurrence, parameters, message, activations))
        }
        let given = try parameters.float(60)
        var clip: Float? = given == 0 ? 50 : given
        // With sigmoid and tanh, the cell grows by at most 1 in each step, so a limit of 50 (the default) or more is
        // not reached within as many steps.
        let isBounded = directions.allSatisfy { $0.functions.allSatisfy { $0.engineName != nil } }
        if let limit = clip, isBounded, limit >= 50, limit >= Float(recurrence.steps ?? maximumSteps) { clip = nil }
        return try recurrence.run(
            RecurrentLayer(cell: .lstm(isCoupled: try parameters.bool(50), clip: clip), directions: directions),
            all: parameters.bool(10), isReversed: isReversed)
    }

    /// The weights of one direction of an LSTM.
    private static func direction(
        _ recurrence: Recurrence, _ parameters: Message, _ message: Message, _ activations: [Message]
    ) throws(Problem) -> RecurrentLayer.Direction {
        let graph = recurrence.layer.graph
        func gates(_ first: Int, _ name: String, columns: Int?) throws(Problem) -> [Graph.Value] {
            var gates: [Graph.Value] = []
            for (index, gate) in ["input", "forget", "block input", "output"].enumerated() {
                gates.append(
                    try recurrence.numbers(message, first + index, "\(name) of the \(gate) gate", columns: columns))
            }
            gates.swapAt(0, 1)
            return gates
        }
        let input = try gates(1, "the weight matrix", columns: recurrence.inputSize)
        let state = try gates(20, "the recursion matrix", columns: recurrence.outputSize)
        var biases = [Graph.Value](repeating: recurrence.zeros(1), count: 4)
        if try parameters.bool(20) { biases = try gates(40, "the bias vector", columns: nil) }
        if try parameters.bool(30) { biases[0] = try graph.shifted(biases[0], by: 1) }
        var direction = RecurrentLayer.Direction(
            input: try graph.concat(input, axis: 0), state: try graph.concat(state, axis: 0),
            bias: try graph.concat(biases, axis: 0), functions: try Recurrence.functions(activations, count: 3))
        if try parameters.bool(40) {
            for field in 60...62 {
                direction.peepholes.append(try recurrence.numbers(message, field, "a peephole vector", columns: nil))
            }
        }
        return direction
    }
}

/// The common part of recurrent layers: the sequence, states, sizes and functions from the file.
private struct Recurrence {
    let layer: Layer
    let inputSize: Int
    let outputSize: Int
    /// [Seq, B, inputSize].
    private let sequence: Graph.Value
    private let isFolded: Bool

    init(_ layer: Layer) throws(Problem) {
        self.layer = layer
        inputSize = try layer.size(1, "inputVectorSize")
        outputSize = try layer.size(2, "outputVectorSize")
        let blob = try layer.input()
        isFolded = blob.isFolded
        let step = blob.shape.dropFirst(2).compactMap { $0 }
        guard blob.rank == 5, let batch = blob.shape[1], step.count == 3, elementCount(step) == inputSize else {
            throw Problem("the input \(shapeText(blob.shape)): expected a sequence [Seq, B, \(inputSize), 1, 1]")
        }
        let length = blob.shape[0] ?? 1
        guard length > 0, batch > 0, batch <= 1 << 16 else {
            throw Problem("unsupported: \(batch) sequences of \(length) steps")
        }
        // 0 keeps the extent, even if it is open.
        sequence = try layer.graph.reshape(blob.value, to: [blob.shape[0] ?? 0, batch, inputSize])
    }

    /// The number of steps; nil if each request chooses it.
    var steps: Int? { sequence.shape[0] }
    private var batch: Int { sequence.shape[1] ?? 1 }

    /// The outputs: all steps or only the last state, then the last states of each direction.
    func run(_ recurrent: RecurrentLayer, all: Bool, isReversed: Bool) throws(Problem) -> [Blob] {
        let (graph, count) = (layer.graph, recurrent.cell.stateCount)
        var states: [Graph.Value] = []
        for index in 0..<count {
            var parts: [Graph.Value] = []
            for direction in recurrent.directions.indices { parts.append(try state(1 + direction * count + index)) }
            states.append(try graph.concat(parts, axis: 1))
        }
        // The outputs of a reversed sequence stay in the order of computation.
        let found = try graph.recurrent(
            recurrent, over: isReversed ? graph.reverse(sequence, axes: [0]) : sequence, states: states)
        let outputs = all ? found.outputs : try graph.unsqueeze(found.states[0], [0])
        var blobs = [try blob(outputs, size: outputSize * recurrent.directions.count)]
        for direction in recurrent.directions.indices {
            for state in found.states {
                let own = try graph.part(direction, of: state, recurrent)
                blobs.append(try blob(graph.unsqueeze(own, [0]), size: outputSize))
            }
        }
        return blobs
    }

    /// The state [B, outputSize] of an input; zeros if it is missing.
    private func state(_ index: Int) throws(Problem) -> Graph.Value {
        if index < layer.inputs.count {
            return try located("input \(index)") { () throws(Problem) in
                try layer.graph.reshape(layer.input(index).value, to: [batch, outputSize])
            }
        }
        return layer.graph.broadcast(layer.graph.float(0), to: [batch, outputSize])
    }

    /// [Seq, B, size] as a blob.
    private func blob(_ value: Graph.Value, size: Int) throws(Problem) -> Blob {
        let length = value.shape[0] ?? 0
        return isFolded
            ? Blob(try layer.graph.reshape(value, to: [length, size, 1, 1]), isFolded: true)
            : Blob(try layer.graph.reshape(value, to: [length, batch, size, 1, 1]))
    }

    /// A matrix with `columns`, or a vector if that is nil, for one gate.
    func numbers(_ message: Message, _ field: Int, _ name: String, columns: Int?) throws(Problem) -> Graph.Value {
        let shape = [outputSize] + (columns.map { [$0] } ?? [])
        return try located(name) { () throws(Problem) in
            guard let count = elementCount(shape) else { throw Problem("too many numbers") }
            let weights = try WeightParameters(message.message(field), count: count, channels: outputSize)
            return try layer.graph.floats(weights.type, shape: shape, bytes: weights.bytes)
        }
    }

    /// Zeros as the biases of gates without any.
    func zeros(_ gates: Int) -> Graph.Value {
        layer.graph.broadcast(layer.graph.float(0), to: [gates * outputSize])
    }

    static func functions(_ activations: [Message], count: Int) throws(Problem) -> [GateFunction] {
        guard activations.count == count else {
            throw Problem("expected \(count) activations, found \(activations.count)")
        }
        var functions: [GateFunction] = []
        for (index, activation) in activations.enumerated() {
            // The state of the cell has its own limit.
            functions.append(try function(activation, isLimited: index < 2))
        }
        return functions
    }

    /// An activation of a recurrent layer, for values clamped to ±50. Files omit its parameters and mean the usual
    /// ones: coremltools compares with a scaled tanh that equals tanh, and a linear function that equals x
    /// (converters/mil/mil/ops/tests/iOS14/test_recurrent.py, `test_numpy_numerical`, "standard default values").
    static func function(_ activation: Message, isLimited: Bool = true) throws(Problem) -> GateFunction {
        let field = activation.fields.last
        let isUsual = try field?.message().fields.isEmpty ?? false
        // Clamping does not affect sigmoid and tanh.
        switch field?.number {
        case 40: return .sigmoid
        case 30: return .tanh
        case 31 where isUsual: return .tanh
        case 41 where isUsual: return .hardSigmoid
        default: break
        }
        let isLinear = field?.number == 5 && isUsual
        return GateFunction(engineName: nil) { (graph, x) throws(Problem) in
            let value = isLimited ? try graph.clamp(x, from: -50, to: 50) : x
            return isLinear ? value : try ActivationLayers.apply(activation, to: value, graph)
        }
    }
}

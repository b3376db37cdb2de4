/// Inputs of old networks that requests may pass as sequences.
///
/// The description of such a network has the shape of one step, [C]; a request passes any number of steps, as [Seq, 1,
/// C] (NeuralNetwork.proto: RANK5_ARRAY_MAPPING). Keras' LSTM, GRU, Embedding and Conv1D were exported like this until
/// 2020.
enum SequenceInputs {
    /// embedding, simpleRecurrent, gru, uniDirectionalLSTM, biDirectionalLSTM: the first input is the sequence, the
    /// others are states.
    private static let consumers: Set<Int> = [150, 400, 410, 420, 430]
    /// The maximum number of inputs: a set of them is a 64-bit mask.
    private static let maximumInputs = 64

    /// The names of the inputs: arrays of one axis that become the sequence of a layer, or whose steps a layer moves to
    /// another axis.
    static func names(_ network: NeuralNetwork, _ description: InterfaceSpecification) throws(Problem) -> Set<String> {
        guard !network.hasExactArrays, description.inputs.count <= maximumInputs else { return [] }
        // The inputs from which each blob is computed step by step, as a mask.
        var sources: [String: UInt64] = [:]
        for (index, feature) in description.inputs.enumerated() {
            guard case .multiArray(let array) = feature.type, array.shape.count == 1, array.flexibility == .none else {
                continue
            }
            sources[feature.name] = 1 << UInt64(index)
        }
        var found: UInt64 = 0
        for layer in network.layers {
            let first = layer.inputs.first.flatMap { sources[$0] } ?? 0
            var made = layer.inputs.reduce(0) { $0 | (sources[$1] ?? 0) }
            switch layer.kind {
            case let kind where consumers.contains(kind):
                found |= first
                made = first
            case 310 where made != 0:
                if try layer.parameters().integers(1).first ?? 0 != 0 { found |= made }
            case 300 where made != 0:
                // A reshape to four extents changes what a step is.
                if try layer.parameters().integers(1).count > 3 { made = 0 }
            case 340: made = 0
            default: break
            }
            for name in layer.outputs { sources[name] = made }
        }
        let names = description.inputs.enumerated().filter { found & 1 << UInt64($0.offset) != 0 }
        return Set(names.map(\.element.name))
    }
}

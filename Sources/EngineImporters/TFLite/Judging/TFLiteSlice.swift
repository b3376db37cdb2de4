internal import FileFormats

/// A few consecutive operators of a TensorFlow Lite file, as a file of their own.
package struct TFLiteSlice: Sendable {
    /// The indices of its operators in the main subgraph, and their names. Operators that compute known values for
    /// them are not listed.
    package let operators: [Int], names: [String]
    /// The inputs and outputs in their order in the file.
    package let inputs: [TFLiteTensorPort], outputs: [TFLiteTensorPort]
    /// The reasons that LiteRT's answers prove nothing for this part.
    package let blindSpots: [LiteRTBlindSpot]
    /// The changes that make the file this part. A caller that writes many parts can write the file once, and only
    /// change these numbers and the end.
    package let edit: TFLiteEdit

    /// The bytes of the part: a copy of the file with its changes.
    package func bytes(of file: [UInt8]) -> [UInt8] { edit.applied(to: file) }

    /// - Parameters:
    ///   - run: the operators that the part consists of.
    ///   - operators: the operators of the run and those that compute known values for them, in the order of execution.
    ///   - inputs, outputs: different tensors each.
    ///
    /// Wide: the plan has found all of these.
    init(
        _ graph: TFLiteGraph, _ values: KnownValues, run: [Int], operators: [Int], inputs: [Int], outputs: [Int],
        fileSize: Int
    ) throws(JudgingError) {
        self.operators = run
        names = run.map { graph.name(of: graph.operators[$0]) }
        blindSpots = try LiteRTBlindSpot.ofOperators(graph, values, operators, outputs)
        var edit = TFLiteEdit(fileSize: fileSize)
        guard let list = try JudgingError.reading(try graph.subgraph.vector(3, elementBytes: 4)),
            operators.count <= list.count
        else { throw JudgingError("it has no list of operators") }
        try edit.write(operators.count, at: list.start - 4)
        for (place, index) in operators.enumerated() {
            try edit.point(list.start + 4 * place, at: graph.operators[index].table.place)
        }
        for (field, tensors) in [(1, inputs), (2, outputs)] {
            guard let place = try JudgingError.reading(try graph.subgraph.field(field)) else {
                throw JudgingError("it has no lists of inputs and outputs")
            }
            try edit.point(place, at: try edit.append(tensors))
        }
        try edit.removeSignatures(of: graph.model)
        var names: Set<String> = []
        self.inputs = try Self.ports(inputs, graph, &names, &edit)
        self.outputs = try Self.ports(outputs, graph, &names, &edit)
        self.edit = edit
    }

    /// The tensors with names that differ: LiteRT crashes on two equal names of inputs or of outputs, and OpenVINO
    /// takes an output for the input with its name. Missing names stay missing, because LiteRT replaces them.
    private static func ports(
        _ tensors: [Int], _ graph: TFLiteGraph, _ names: inout Set<String>, _ edit: inout TFLiteEdit
    ) throws(JudgingError) -> [TFLiteTensorPort] {
        var ports: [TFLiteTensorPort] = []
        for tensor in tensors {
            let table = graph.tensors[tensor].table
            let bytes = try JudgingError.reading(try TFLiteNames.bytes(ofTensor: table))
            var name = String(decoding: bytes, as: UTF8.self)
            if !name.isEmpty, !names.insert(name).inserted {
                name = "ocelli/\(tensor)"
                guard names.insert(name).inserted, let place = try JudgingError.reading(try table.field(3)) else {
                    throw JudgingError("its tensor \(graph.quotedName(tensor)) cannot get a name of its own")
                }
                try edit.point(place, at: try edit.append(name))
            }
            ports.append(try TFLiteTensorPort(tensor, name: name, of: graph))
        }
        return ports
    }
}

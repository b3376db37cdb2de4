/// The supported operations of ML Programs, and the error texts for others.
enum ProgramOperations {
    /// Adds an operation to the graph; returns its outputs in the order of the file.
    typealias Translator = @Sendable (ProgramCall) throws(Problem) -> [Graph.Value]
    /// Evaluates an operation that returns more than values of the graph: constants, blocks and lists.
    typealias Decoder = @Sendable (ProgramCall) throws(Problem) -> [ProgramOperand]

    static let table: [String: Translator] = [
        activations, elementwise, products, convolutions, pooling, normalizations, reductions, shapes, blocks, slices,
        gathers, scatters, tensors, resizing, sampling, recurrent, quantization,
    ].reduce(into: [:]) { $0.merge($1) { first, _ in first } }

    /// The operations that return more than values of the graph.
    static let special: [String: Decoder] = constants.merging(control) { first, _ in first }.merging(lists) {
        first, _ in first
    }

    static func isKnown(_ type: String) -> Bool { table[type] != nil || special[type] != nil }

    /// The error text for an unsupported operation: the reason and a remedy.
    static func refusal(of type: String) -> String {
        switch type {
        case "read_state", "write_state", "coreml_update_state":
            "state that lasts from one prediction to the next is not supported; export the model without it"
        case let type where type.hasPrefix("random"):
            "random numbers are not supported: predictions would not be reproducible"
        case "custom_layer", "custom": "custom operations need code that is not in the file"
        default: "is not supported"
        }
    }
}

/// The supported operations, for documents and tests.
package enum ProgramOperationNames {
    package static var all: [String] {
        (Array(ProgramOperations.table.keys) + ProgramOperations.special.keys).sorted()
    }
}

internal import FileFormats

/// The kinds of arithmetic in a TensorFlow Lite file, which decide how far good engines may differ.
package struct TFLiteArithmetic: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let floats = TFLiteArithmetic(rawValue: 1)
    /// Results are rounded to 8-bit or 16-bit integers with a scale.
    package static let integers = TFLiteArithmetic(rawValue: 2)
    /// Activations are floats and weights 8-bit integers; some kernels round the activations to 8 bits as well.
    package static let dynamicRange = TFLiteArithmetic(rawValue: 4)

    /// The arithmetic of all operators of a file.
    package init(_ file: [UInt8]) throws(JudgingError) {
        self = []
        for graph in try JudgingError.reading(try TFLiteGraph.graphs(of: file, maximum: 1_024)) {
            let values = KnownValues(graph)
            for node in graph.operators { formUnion(TFLiteArithmetic(node, graph, values)) }
        }
    }

    /// The arithmetic of one operator; empty if it computes a known value or only indices and conditions.
    init(_ node: TFLiteGraph.Operator, _ graph: TFLiteGraph, _ values: KnownValues) {
        self = []
        let given = node.outputs.filter { !values.isKnown[$0] }.map { graph.tensors[$0] }
        if given.contains(where: \.isQuantized) { insert(.integers) }
        guard given.contains(where: \.isFloat) else { return }
        let taken = node.inputs.filter { $0 >= 0 }
        let takesFloats = taken.contains { graph.tensors[$0].isFloat && !values.isKnown[$0] }
        let hasIntegerWeights = taken.contains { values.isConstant[$0] && graph.tensors[$0].isQuantized }
        insert(takesFloats && hasIntegerWeights ? .dynamicRange : .floats)
    }
}

extension TFLiteGraph.Tensor {
    /// True for integers of at most 16 bits with a scale, or with one for each channel.
    var isQuantized: Bool {
        // UINT8, INT16, INT8, INT4, INT2, UINT4
        scaleCount > 0 && [3, 7, 9, 17, 19, 20].contains(type)
    }

    /// True for FLOAT32, FLOAT16, FLOAT64 and BFLOAT16.
    var isFloat: Bool { [0, 1, 10, 18].contains(type) }

    /// True for integers of any size.
    var isInteger: Bool { [2, 3, 4, 7, 9, 12, 15, 16, 17, 19, 20].contains(type) }
}

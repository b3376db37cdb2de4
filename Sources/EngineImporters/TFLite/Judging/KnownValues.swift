internal import FileFormats

/// The values of a subgraph that do not depend on the values of its inputs: constants, and values that operators
/// compute from constants or from shapes. An operator that computes such a value may be repeated anywhere.
struct KnownValues {
    /// By tensor: true for data in the file.
    let isConstant: [Bool]
    /// By tensor: true for constants and values computed from them.
    let isKnown: [Bool]
    /// By operator: true if its outputs are known.
    let isRepeatable: [Bool]

    init(_ graph: TFLiteGraph) {
        let inputs = Set(graph.inputs)
        let constants = graph.tensors.indices.map { index in
            graph.producers[index] == nil && !inputs.contains(index) && Self.hasData(graph, graph.tensors[index].buffer)
        }
        // Tensors that nothing produces have no values, such as an empty list of axes.
        var known = graph.tensors.indices.map { graph.producers[$0] == nil && !inputs.contains($0) }
        isRepeatable = graph.operators.map { node in
            let taken = node.inputs.filter { $0 >= 0 }
            guard !taken.isEmpty, !TFLiteTraits.isUnique(node.code),
                TFLiteTraits.readingShapes.contains(node.code) || taken.allSatisfy({ known[$0] })
            else { return false }
            for output in node.outputs { known[output] = true }
            return true
        }
        isConstant = constants
        isKnown = known
    }

    private static func hasData(_ graph: TFLiteGraph, _ buffer: Int) -> Bool {
        guard buffer > 0, graph.buffers.indices.contains(buffer) else { return false }
        let table = graph.buffers[buffer]
        // In very large files, the data is at an offset from the beginning of the file.
        return ((try? table.vector(0, elementBytes: 1)) ?? nil)?.count ?? 0 > 0
            || ((try? table.number(1, UInt64.self)) ?? nil) ?? 0 > 1
    }
}

extension TFLiteGraph {
    /// True if values determine the shape of an operator's outputs, so that LiteRT allocates them while it runs.
    func hasComputedShape(_ node: Operator, _ values: KnownValues) -> Bool {
        guard let places = TFLiteTraits.shapeInputs[node.code] else { return false }
        guard !places.isEmpty else { return true }
        return places.contains { place in
            node.inputs.indices.contains(place) && node.inputs[place] >= 0 && !values.isConstant[node.inputs[place]]
                // Nothing produces an empty list.
                && (producers[node.inputs[place]] != nil || inputs.contains(node.inputs[place]))
        }
    }
}

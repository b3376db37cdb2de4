internal import FileFormats

/// The operators of a TensorFlow Lite file, as far as judging an engine's answers needs them.
package struct TFLiteOperators: Sendable {
    /// The names of the main subgraph's operators that do not compute known values.
    package let names: Set<String>
    /// True if the file has other subgraphs: the names of their operators are left out.
    package let hasOtherSubgraphs: Bool
    package let arithmetic: TFLiteArithmetic
    /// The reasons that LiteRT's answers prove nothing.
    package let blindSpots: [LiteRTBlindSpot]

    /// - Throws: the reason that the file cannot be judged.
    package init(_ file: [UInt8]) throws(JudgingError) {
        let graphs = try JudgingError.reading(try TFLiteGraph.graphs(of: file, maximum: 1_024))
        hasOtherSubgraphs = graphs.count > 1
        if let main = graphs.first {
            let values = KnownValues(main)
            names = Set(
                main.operators.filter { $0.outputs.contains { !values.isKnown[$0] } }.map { main.name(of: $0) })
        } else {
            names = []
        }
        arithmetic = try TFLiteArithmetic(file)
        blindSpots = try LiteRTBlindSpot.all(in: file)
    }
}

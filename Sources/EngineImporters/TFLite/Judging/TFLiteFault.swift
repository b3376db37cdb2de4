package import EngineAPI
internal import FileFormats

/// Finds operators of a TensorFlow Lite file that OpenVINO is known to compute wrongly. Measured with OpenVINO 2026.4
/// by Tests/Operators.
package enum TFLiteFault {
    /// The first such operator of a file, those first that LiteRT computes wrongly too; nil without such an operator.
    package static func first(in file: [UInt8]) -> EngineFault? {
        guard let graphs = try? TFLiteGraph.graphs(of: file, maximum: 1_024) else { return nil }
        let faults = graphs.flatMap { graph in
            graph.operators.compactMap { node in (try? fault(of: node, graph)) ?? nil }
        }
        return faults.first(where: \.isShared) ?? faults.first
    }

    private static func fault(
        of node: TFLiteGraph.Operator, _ graph: TFLiteGraph
    ) throws(FormatError) -> EngineFault? {
        let name = graph.name(of: node)
        switch name {
        case "TRANSPOSE_CONV":
            // TransposeConvOptions.fused_activation_function, of ActivationFunctionType.
            guard let activation = try node.table.table(4)?.number(3, UInt8.self), activation > 0 else { return nil }
            let names: [UInt8: String] = [1: "RELU", 2: "RELU_N1_TO_1", 3: "RELU6", 4: "TANH", 5: "SIGN_BIT"]
            let fused = names[activation] ?? "activation \(activation)"
            return EngineFault("drops the fused \(fused) of \(name)", isShared: activation > 3)
        case "RESIZE_NEAREST_NEIGHBOR":
            // ResizeNearestNeighborOptions.half_pixel_centers.
            guard let isHalf = try node.table.table(4)?.number(1, UInt8.self), isHalf != 0 else { return nil }
            return EngineFault("ignores half_pixel_centers of \(name)")
        case "TILE":
            guard graph.hasComputedShape(node, KnownValues(graph)) else { return nil }
            return EngineFault("does not write all values of \(name) where the repetitions are no constants")
        default: return nil
        }
    }
}

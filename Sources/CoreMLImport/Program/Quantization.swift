/// Quantization at run time, and the constants of compressed weights.
extension ProgramOperations {
    static let quantization: [String: Translator] = [
        "quantize": { call throws(Problem) in
            let (x, graph) = (try call.float("input"), call.graph)
            let range: ClosedRange<Float> = try call.choice("output_dtype", of: ["int8": -128...127, "uint8": 0...255])
            let scaled = try graph.divide(x, along(call, "scale", of: x))
            var rounded = graph.rounded(scaled)
            if call.isGiven("zero_point") { rounded = try graph.add(rounded, along(call, "zero_point", of: x)) }
            return [graph.convert(try graph.clamp(rounded, from: range.lowerBound, to: range.upperBound), to: .i32)]
        },
        "dequantize": { call throws(Problem) in
            var x = try call.float("input")
            if call.isGiven("zero_point") { x = try call.graph.subtract(x, along(call, "zero_point", of: x)) }
            return [try call.graph.multiply(x, along(call, "scale", of: x))]
        },
    ]

    /// A number, or one for each index along "axis".
    private static func along(_ call: ProgramCall, _ name: String, of x: Graph.Value) throws(Problem) -> Graph.Value {
        let value = try call.float(name)
        guard value.rank > 0, let count = value.staticShape.flatMap(elementCount) else { return value }
        var shape = x.shape.map { _ in 1 }
        if count != 1 { shape[try positiveAxis(call.integer("axis"), rank: x.rank)] = count }
        return try call.graph.reshape(value, to: shape)
    }

    static let constants: [String: Decoder] = [
        "const": { call throws(Problem) in
            guard let value = call.operation.attributes["val"] else { throw call.missing("val") }
            return [try call.program.operand(of: value)]
        },
        "constexpr_cast": { call throws(Problem) in [try constant(call, tensor(call, "source_val"))] },
        "constexpr_affine_dequantize": { call throws(Problem) in
            let zeroPoint = try call.constant("zero_point")
            return [
                try constant(
                    call,
                    CompressedWeights.affine(
                        tensor(call, "quantized_data"), scale: tensor(call, "scale"), zeroPoint: zeroPoint,
                        axis: call.integer("axis", default: 0)))
            ]
        },
        "constexpr_blockwise_shift_scale": { call throws(Problem) in
            let offset = try call.constant("offset")
            return [
                try constant(
                    call,
                    CompressedWeights.blockwise(tensor(call, "data"), scale: tensor(call, "scale"), offset: offset))
            ]
        },
        "constexpr_lut_to_dense": { call throws(Problem) in
            let (indices, table) = (try tensor(call, "indices"), try tensor(call, "lut"))
            // iOS 16 packs the indices into bytes and gives the shape separately.
            if call.isGiven("shape") {
                return [
                    try constant(
                        call,
                        CompressedWeights.palette(
                            packed: indices, table: table, shape: call.requiredIntegers("shape"),
                            limit: call.program.budget))
                ]
            }
            let axis = try call.integers("vector_axis")?.first
            return [
                try constant(
                    call, CompressedWeights.palette(indices, table: table, vectorAxis: axis, limit: call.program.budget)
                )
            ]
        },
        "constexpr_sparse_to_dense": { call throws(Problem) in
            var mask = try tensor(call, "mask")
            if call.isGiven("shape") {
                let shape = try call.requiredIntegers("shape")
                mask = try located("mask") { () throws(Problem) in
                    try BlobTensor(.uint1, shape: shape, bytes: mask.bytes)
                }
            }
            return [
                try constant(
                    call, CompressedWeights.dense(tensor(call, "nonzero_data"), mask: mask, limit: call.program.budget))
            ]
        },
        "constexpr_lut_to_sparse": { call throws(Problem) in
            let (mask, table) = (try tensor(call, "indices_mask"), try tensor(call, "lut"))
            let axis = try call.integers("vector_axis")?.first
            let indices = try CompressedWeights.dense(
                tensor(call, "indices_nonzero_data"), mask: mask, limit: call.program.budget)
            let decoded = try CompressedWeights.palette(
                indices, table: table, vectorAxis: axis, limit: call.program.budget)
            var spread = mask
            if let axis, let vector = table.shape.last, vector > 1 {
                spread = try CompressedWeights.repeated(mask, along: axis, count: vector, limit: call.program.budget)
            }
            return [
                try constant(call, spread), try constant(call, CompressedWeights.sparse(decoded, mask: spread)),
            ]
        },
        "constexpr_sparse_blockwise_shift_scale": { call throws(Problem) in
            let mask = try tensor(call, "data_mask")
            let data = try CompressedWeights.dense(tensor(call, "nonzero_data"), mask: mask, limit: call.program.budget)
            let offset = try call.constant("offset")
            let decoded = try CompressedWeights.blockwise(data, scale: tensor(call, "scale"), offset: offset)
            return [try constant(call, mask), try constant(call, CompressedWeights.sparse(decoded, mask: mask))]
        },
    ]

    private static func tensor(_ call: ProgramCall, _ name: String) throws(Problem) -> BlobTensor {
        guard let tensor = try call.constant(name) else { throw call.missing(name) }
        return tensor
    }

    /// A decoded constant, charged to the budget.
    private static func constant(_ call: ProgramCall, _ tensor: BlobTensor) throws(Problem) -> ProgramOperand {
        try call.program.spend(tensor.bytes.count)
        return .constant(ProgramConstant(tensor))
    }
}

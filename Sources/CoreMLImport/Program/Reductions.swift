/// Sums, means and extrema along axes.
extension ProgramOperations {
    static let reductions: [String: Translator] = [
        "reduce_sum": reduce(.sum), "reduce_mean": reduce(.mean), "reduce_max": reduce(.max),
        "reduce_min": reduce(.min), "reduce_prod": reduce(.product), "reduce_l1_norm": reduce(.l1),
        "reduce_l2_norm": reduce(.l2), "reduce_sum_square": reduce(.sumOfSquares), "reduce_log_sum": reduce(.logSum),
        "reduce_log_sum_exp": reduce(.logSumExp),
        "reduce_argmax": argument(largest: true), "reduce_argmin": argument(largest: false),
    ]

    private static func reduce(_ reduction: Reduction) -> Translator {
        { call throws(Problem) in
            let x = try call.value("x")
            let result = try call.graph.reduce(
                call.graph.convert(x, to: .f32), by: reduction, axes: call.integers("axes") ?? Array(0..<x.rank),
                keepsAxes: call.bool("keep_dims"))
            return [x.type.isFloat ? result : call.graph.convert(result, to: x.type)]
        }
    }

    private static func argument(largest: Bool) -> Translator {
        { call throws(Problem) in
            let axis = try call.integer("axis", default: -1)
            let places = try call.graph.argument(call.value("x"), axis: axis, largest: largest)
            return [try call.bool("keep_dims") ? places : call.graph.squeeze(places, [axis])]
        }
    }
}

/// Sums, means and extremes along axes.
extension ProgramOperations {
    static let reductions: [String: Translator] = [
        "reduce_sum": reduce("ReduceSum"),
        "reduce_mean": reduce("ReduceMean"),
        "reduce_max": reduce("ReduceMax"),
        "reduce_min": reduce("ReduceMin"),
        "reduce_prod": reduce("ReduceProd"),
        "reduce_l1_norm": reduce("ReduceSum", before: { graph, x throws(Problem) in graph.unary("Abs", x) }),
        "reduce_l2_norm": reduce(
            "ReduceSum", before: { graph, x throws(Problem) in try graph.multiply(x, x) },
            after: { graph, x throws(Problem) in graph.unary("Sqrt", x) }),
        "reduce_sum_square": reduce("ReduceSum", before: { graph, x throws(Problem) in try graph.multiply(x, x) }),
        "reduce_log_sum": reduce("ReduceSum", after: { graph, x throws(Problem) in graph.unary("Log", x) }),
        "reduce_log_sum_exp": { call throws(Problem) in
            let (x, graph) = (try call.float("x"), call.graph)
            let (axes, keepsAxes) = (try axes(call, x), try call.bool("keep_dims"))
            // exp of what is above the largest does not overflow.
            let largest = try graph.reduce("ReduceMax", x, axes: axes, keepsAxes: true)
            let powers = graph.unary("Exp", try graph.subtract(x, largest))
            let sum = try graph.add(
                graph.unary("Log", graph.reduce("ReduceSum", powers, axes: axes, keepsAxes: true)), largest)
            return [keepsAxes ? sum : try graph.squeeze(sum, axes)]
        },
        "reduce_argmax": argument("max"),
        "reduce_argmin": argument("min"),
    ]

    private typealias Step = @Sendable (GraphBuilder, Graph.Value) throws(Problem) -> Graph.Value

    private static func reduce(
        _ type: String, before: @escaping Step = { _, x throws(Problem) in x },
        after: @escaping Step = { _, x throws(Problem) in x }
    ) -> Translator {
        { call throws(Problem) in
            let given = try call.value("x")
            let x = call.graph.convert(given, to: .f32)
            let reduced = try call.graph.reduce(
                type, before(call.graph, x), axes: axes(call, x), keepsAxes: call.bool("keep_dims"))
            let result = try after(call.graph, reduced)
            return [given.type.isFloat ? result : call.graph.convert(result, to: given.type)]
        }
    }

    private static func axes(_ call: ProgramCall, _ x: Graph.Value) throws(Problem) -> [Int] {
        try call.integers("axes") ?? Array(0..<x.rank)
    }

    private static func argument(_ mode: String) -> Translator {
        { call throws(Problem) in
            let (x, graph) = (try call.value("x"), call.graph)
            let axis = try positiveAxis(call.integer("axis", default: -1), rank: x.rank)
            let indices = try topK(graph, x, count: graph.scalar(1, type: .i32), known: 1, axis: axis, mode: mode)[1]
            return [try call.bool("keep_dims") ? indices : graph.squeeze(indices, [axis])]
        }
    }

    /// The largest ("max") or smallest ("min") elements along an axis in order, and where they are. Of equal ones the first
    /// comes first.
    static func topK(
        _ graph: GraphBuilder, _ x: Graph.Value, count: Graph.Value, known: Int?, axis: Int, mode: String
    ) throws(Problem) -> [Graph.Value] {
        var shape = x.shape
        shape[try positiveAxis(axis, rank: x.rank)] = known
        return graph.operation(
            "TopK", 11, [x, count],
            [
                "axis": .integer(axis), "mode": .text(mode), "sort": "value", "index_element_type": "i32",
                "stable": true,
            ],
            outputs: [(x.type, shape), (.i32, shape)])
    }
}

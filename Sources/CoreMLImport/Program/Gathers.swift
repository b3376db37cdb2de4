/// Elements gathered from, and scattered to, computed indices.
extension ProgramOperations {
    static let gathers: [String: Translator] = [
        "gather": { call throws(Problem) in
            [
                try call.graph.gather(
                    call.value("x"), call.value("indices"), axis: call.integer("axis", default: 0),
                    batchAxes: call.integer("batch_dims", default: 0))
            ]
        },
        "gather_along_axis": { call throws(Problem) in
            [
                try call.graph.gatherAlongAxis(
                    call.value("x"), call.value("indices"), axis: call.integer("axis", default: 0))
            ]
        },
        "gather_nd": { call throws(Problem) in
            [
                try call.graph.gatherND(
                    call.value("x"), call.value("indices"), batchAxes: call.integer("batch_dims", default: 0))
            ]
        },
    ]

    static let scatters: [String: Translator] = [
        "scatter": { call throws(Problem) in
            let (data, updates, mode) = try scatter(call)
            return [
                try call.graph.scatter(
                    data, call.value("indices"), updates, axis: call.integer("axis", default: 0), mode)
            ]
        },
        "scatter_along_axis": { call throws(Problem) in
            let (data, updates, mode) = try scatter(call)
            return [
                try call.graph.scatterAlongAxis(
                    data, call.value("indices"), updates, axis: call.integer("axis", default: 0), mode)
            ]
        },
        "scatter_nd": { call throws(Problem) in
            let (data, updates, mode) = try scatter(call)
            return [try call.graph.scatterND(data, call.value("indices"), updates, mode)]
        },
    ]

    private static func scatter(_ call: ProgramCall) throws(Problem) -> (Graph.Value, Graph.Value, GraphBuilder.Scatter)
    {
        let data = try call.value("data")
        let mode: GraphBuilder.Scatter = try call.choice(
            "mode", default: "add",
            of: [
                "update": .update, "add": .add, "sub": .subtract, "mul": .multiply, "div": .divide, "max": .max,
                "min": .min,
            ])
        return (data, call.graph.convert(try call.value("updates"), to: data.type), mode)
    }
}

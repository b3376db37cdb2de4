/// Elements picked by computed places, and put at computed places.
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
            let x = try call.value("x")
            let axis = try positiveAxis(call.integer("axis", default: 0), rank: x.rank)
            let indices = try counted(call.graph, call.value("indices"), extents: call.graph.extent(of: x, axis: axis))
            return [
                call.graph.operation("GatherElements", 6, [x, indices], ["axis": .integer(axis)], shape: indices.shape)
            ]
        },
        "gather_nd": { call throws(Problem) in
            let (x, batch) = (try call.value("x"), try call.integer("batch_dims", default: 0))
            let indices = try call.value("indices")
            let depth = try places(indices, in: x, batch: batch)
            let counted = try counted(call.graph, indices, extents: extents(call.graph, x, batch..<batch + depth))
            return [
                call.graph.operation(
                    "GatherND", 8, [x, counted], ["batch_dims": .integer(batch)],
                    shape: indices.shape.dropLast() + x.shape[(batch + depth)...])
            ]
        },
    ]

    static let scatters: [String: Translator] = [
        "scatter": { call throws(Problem) in
            let (graph, data) = (call.graph, try call.value("data"))
            let axis = try positiveAxis(call.integer("axis", default: 0), rank: data.rank)
            let updates = graph.convert(try call.value("updates"), to: data.type)
            var indices = try call.value("indices")
            guard indices.rank <= 1, updates.rank == data.rank else {
                throw Problem(
                    "indices of shape \(shapeText(indices.shape)) do not match updates of shape \(shapeText(updates.shape))"
                )
            }
            // The same index for every place beside the axis.
            let list = (0..<data.rank).map { $0 == axis ? -1 : 1 }
            indices = try graph.reshape(indices, to: list)
            indices = graph.operation(
                "Broadcast", 3, [indices, graph.shape(of: updates)], ["mode": "numpy"], shape: updates.shape)
            return [try scattered(call, data, indices, updates, axis: axis)]
        },
        "scatter_along_axis": { call throws(Problem) in
            let data = try call.value("data")
            let axis = try positiveAxis(call.integer("axis", default: 0), rank: data.rank)
            let updates = call.graph.convert(try call.value("updates"), to: data.type)
            return [try scattered(call, data, call.value("indices"), updates, axis: axis)]
        },
        "scatter_nd": { call throws(Problem) in
            let (graph, data) = (call.graph, try call.value("data"))
            let indices = try call.value("indices")
            let depth = try places(indices, in: data, batch: 0)
            let counted = try counted(graph, indices, extents: extents(graph, data, 0..<depth))
            let (reduction, updates) = try reduction(call, graph.convert(call.value("updates"), to: data.type))
            return [
                graph.operation(
                    "ScatterNDUpdate", 15, [data, counted, updates], ["reduction": .text(reduction)], shape: data.shape)
            ]
        },
    ]

    /// The number of axes that the last axis of indices addresses.
    private static func places(_ indices: Graph.Value, in x: Graph.Value, batch: Int) throws(Problem) -> Int {
        guard let last = indices.shape.last, let depth = last, batch >= 0, batch < indices.rank, depth > 0,
            depth <= x.rank - batch
        else {
            throw Problem(
                "indices of shape \(shapeText(indices.shape)) do not match a value of shape \(shapeText(x.shape))")
        }
        return depth
    }

    private static func extents(_ graph: GraphBuilder, _ x: Graph.Value, _ axes: Range<Int>) throws(Problem)
        -> Graph.Value
    {
        let known = x.shape[axes].compactMap { $0 }
        if known.count == axes.count { return graph.integers(known) }
        return try graph.gather(graph.shape(of: x), graph.integers(Array(axes)), axis: 0)
    }

    /// Indices from the front: those below 0 count from the end.
    private static func counted(_ graph: GraphBuilder, _ indices: Graph.Value, extents: Graph.Value) throws(Problem)
        -> Graph.Value
    {
        let indices = graph.convert(indices, to: .i64)
        let isNegative = try graph.binary("Less", indices, graph.scalar(0))
        return try graph.select(isNegative, graph.add(indices, extents), indices)
    }

    /// The reduction that combines the updates with what is there, by OpenVINO's name, and the updates as it wants them.
    private static func reduction(_ call: ProgramCall, _ updates: Graph.Value) throws(Problem) -> (String, Graph.Value)
    {
        let graph = call.graph
        let mode: (name: String, inverts: Bool, negates: Bool) = try call.choice(
            "mode", default: "add",
            of: [
                "update": ("none", false, false), "add": ("sum", false, false), "sub": ("sum", false, true),
                "mul": ("prod", false, false), "div": ("prod", true, false), "max": ("max", false, false),
                "min": ("min", false, false),
            ])
        if mode.inverts {
            return (mode.name, try graph.divide(graph.convert(graph.float(1), to: updates.type), updates))
        }
        return (mode.name, mode.negates ? graph.unary("Negative", updates) : updates)
    }

    private static func scattered(
        _ call: ProgramCall, _ data: Graph.Value, _ indices: Graph.Value, _ updates: Graph.Value, axis: Int
    ) throws(Problem) -> Graph.Value {
        let counted = try counted(call.graph, indices, extents: call.graph.extent(of: data, axis: axis))
        let (reduction, updates) = try reduction(call, updates)
        return call.graph.operation(
            "ScatterElementsUpdate", 12, [data, counted, updates, call.graph.scalar(axis)],
            ["reduction": .text(reduction), "use_init_val": true], shape: data.shape)
    }
}

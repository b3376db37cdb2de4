/// Slices of a value, and replaced slices.
extension ProgramOperations {
    static let slices: [String: Translator] = [
        "slice_by_index": { call throws(Problem) in
            let x = try call.value("x")
            let slice = try indexSlice(call, of: x)
            return [try call.graph.squeeze(slice.apply(call.graph, to: x), slice.squeezed)]
        },
        "slice_by_size": sliceBySize,
        "slice_update": { call throws(Problem) in
            let (x, graph) = (try call.value("x"), call.graph)
            let slice = try indexSlice(call, of: x)
            let update = try graph.unsqueeze(graph.convert(call.value("update"), to: x.type), slice.squeezed)
            let inputs = [x, update, slice.starts, slice.ends, slice.steps, graph.integers(Array(0..<x.rank))]
            return [graph.operation("SliceScatter", 15, inputs, shape: x.shape)]
        },
        "crop": { call throws(Problem) in
            let x = try call.value("x")
            let (rows, columns) = (try call.requiredIntegers("crop_height"), try call.requiredIntegers("crop_width"))
            guard x.rank >= 2, rows.count == 2, columns.count == 2,
                (rows + columns).allSatisfy({ $0 >= 0 && $0 <= Int(Int32.max) })
            else { throw Problem("cannot crop \(rows) and \(columns) from a value of shape \(shapeText(x.shape))") }
            func end(_ amount: Int) -> Int { amount == 0 ? Int(Int32.max) : -amount }
            return [
                try call.graph.slice(
                    x, axes: [-2, -1], starts: [rows[0], columns[0]], ends: [end(rows[1]), end(columns[1])],
                    steps: [1, 1])
            ]
        },
    ]

    /// The start and end of a slice along every axis, in Python's convention.
    private struct IndexSlice {
        var starts: Graph.Value
        var ends: Graph.Value
        var steps: Graph.Value
        /// The axes reduced to one index, which are removed.
        var squeezed: [Int]
        var shape: [Int?]

        func apply(_ graph: GraphBuilder, to x: Graph.Value) throws(Problem) -> Graph.Value {
            let axes = graph.integers(Array(0..<x.rank))
            return graph.operation("Slice", 8, [x, starts, ends, steps, axes], shape: shape)
        }
    }

    private static func indexSlice(_ call: ProgramCall, of x: Graph.Value) throws(Problem) -> IndexSlice {
        let graph = call.graph
        func list(_ name: String, default value: Int) throws(Problem) -> [Int] {
            let numbers = try call.integers(name) ?? [Int](repeating: value, count: x.rank)
            guard numbers.count == x.rank else {
                throw Problem("there are \(numbers.count) numbers for \(x.rank) axes", at: name)
            }
            return numbers
        }
        let steps = try list("stride", default: 1)
        func mask(_ name: String) throws(Problem) -> [Bool] { try list(name, default: 0).map { $0 != 0 } }
        let masks = SliceMasks(
            begin: try mask("begin_mask"), end: try mask("end_mask"), squeeze: try mask("squeeze_mask"))
        let (squeezed, whole) = (masks.squeezed, SliceMasks.whole(steps))
        guard steps.allSatisfy({ $0 != 0 }) else { throw Problem("must not be 0", at: "stride") }
        if let begin = try call.knownIntegers("begin"), let end = try call.knownIntegers("end") {
            let (starts, ends, strides) = try masks.applied(begins: begin, ends: end, steps: steps)
            let shape = x.shape.enumerated().map { axis, extent in
                squeezed.contains(axis)
                    ? 1
                    : extent.map { sliceLength(extent: $0, start: starts[axis], end: ends[axis], step: strides[axis]) }
            }
            return IndexSlice(
                starts: graph.integers(starts), ends: graph.integers(ends), steps: graph.integers(strides),
                squeezed: squeezed, shape: shape)
        }
        func masked(_ value: Graph.Value, _ mask: [Bool], _ other: Graph.Value) throws(Problem) -> Graph.Value {
            guard mask.contains(true) else { return value }
            let bits = try graph.constant(.boolean, shape: [mask.count], bytes: Bytes(mask.map { $0 ? 1 : 0 }))
            return try graph.select(bits, other, value)
        }
        let begin = graph.convert(try call.value("begin"), to: .i64)
        let starts = try masked(
            begin, masks.begin, graph.integers(zip(whole.begins, masks.squeeze).map { $1 ? 0 : $0 }))
        var ends = try masked(graph.convert(call.value("end"), to: .i64), masks.end, graph.integers(whole.ends))
        if !squeezed.isEmpty {
            // A single index ends at the next one, or at the end of the axis if it is the last.
            let next = try graph.add(starts, graph.integers([1]))
            let isLast = try graph.binary("Equal", next, graph.integers([0]))
            let after = try graph.select(isLast, graph.integers([Int(Int32.max)]), next)
            ends = try masked(ends, masks.squeeze, after)
        }
        let strides = steps.enumerated().map { squeezed.contains($0.offset) ? 1 : $0.element }
        let declared = call.operation.type == "slice_by_index" ? call.declaredShape() : nil
        var rest = (declared ?? [])[...]
        let shape: [Int?] = (0..<x.rank).map { axis in
            squeezed.contains(axis) ? 1 : rest.popFirst() ?? nil
        }
        return IndexSlice(
            starts: starts, ends: ends, steps: graph.integers(strides), squeezed: squeezed, shape: shape)
    }

    private static func sliceBySize(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (x, graph, limit) = (try call.value("x"), call.graph, Int(Int32.max))
        if let begin = try call.knownIntegers("begin"), let size = try call.knownIntegers("size") {
            guard begin.count == x.rank, size.count == x.rank,
                (begin + size).allSatisfy({ abs($0) <= limit })
            else { throw Problem("there are \(begin.count) begins and \(size.count) sizes for \(x.rank) axes") }
            let ends = zip(begin, size).map { start, count in
                count < 0 || (start < 0 && start + count >= 0) ? limit : start + count
            }
            return [
                try graph.slice(x, axes: Array(0..<x.rank), starts: begin, ends: ends, steps: begin.map { _ in 1 })
            ]
        }
        let (begin, size) = (
            graph.convert(try call.value("begin"), to: .i64), graph.convert(try call.value("size"), to: .i64)
        )
        let zero = graph.integers([0])
        let isNegative = try graph.binary("Less", begin, zero)
        let starts = try graph.select(isNegative, graph.add(begin, graph.shape(of: x)), begin)
        let isOpen = try graph.binary("Less", size, zero)
        let ends = try graph.select(isOpen, graph.integers([limit]), graph.add(starts, size))
        let inputs = [x, starts, ends, graph.integers(x.shape.map { _ in 1 }), graph.integers(Array(0..<x.rank))]
        return [graph.operation("Slice", 8, inputs, shape: try call.neededShape())]
    }
}

/// Convolutions and pooling.
extension ProgramOperations {
    static let convolutions: [String: Translator] = ["conv": convolution, "conv_transpose": transposedConvolution]

    static let pooling: [String: Translator] = [
        "max_pool": { call throws(Problem) in
            let (x, kernel, window) = try pool(call)
            return [try call.graph.maxPool(x, kernel: kernel, window: window, roundsUp: call.bool("ceil_mode"))]
        },
        "avg_pool": averagePool,
        "l2_pool": { call throws(Problem) in
            let (x, kernel, window) = try pool(call)
            return [try call.graph.lengthPool(x, kernel: kernel, window: window, roundsUp: call.bool("ceil_mode"))]
        },
    ]

    private static func averagePool(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let (x, kernel, window) = try pool(call)
        let (excludes, roundsUp) = (try call.bool("exclude_padding_from_average"), try call.bool("ceil_mode"))
        let graph = call.graph
        guard roundsUp, !excludes, case .amounts(let begin, let end) = window.padding,
            (begin + end).contains(where: { $0 != 0 })
        else {
            return [
                try graph.averagePool(x, kernel: kernel, window: window, excludesPadding: excludes, roundsUp: roundsUp)
            ]
        }
        // The mean includes padding, but not elements of the last window beyond the padding. Therefore pad the image
        // itself.
        let none = [Int](repeating: 0, count: begin.count)
        let padded = try graph.pad(x, before: [0, 0] + begin, after: [0, 0] + end)
        var inner = window
        inner.padding = .amounts(begin: none, end: none)
        let means = try graph.averagePool(padded, kernel: kernel, window: inner, excludesPadding: true, roundsUp: true)
        // Omit windows that begin in the padding after the image.
        let counts = try window.outputs(Array(x.shape[2...]), kernel: kernel, roundsUp: true)
        let axes = counts.indices.filter { counts[$0] != nil && counts[$0] != means.shape[$0 + 2] }
        return [
            try graph.slice(
                means, axes: axes.map { $0 + 2 }, starts: axes.map { _ in 0 }, ends: axes.map { counts[$0] ?? 0 },
                steps: axes.map { _ in 1 })
        ]
    }

    private static func pool(_ call: ProgramCall) throws(Problem) -> (Graph.Value, [Int], GraphBuilder.Window) {
        let x = try call.float("x")
        return (x, try call.requiredIntegers("kernel_sizes"), try window(call, axes: x.rank - 2))
    }

    /// Strides, dilations and padding of windows over the last `axes` axes.
    private static func window(_ call: ProgramCall, axes: Int) throws(Problem) -> GraphBuilder.Window {
        guard axes > 0 else { throw Problem("expected a value of at least three axes, found \(axes + 2)") }
        let ones = [Int](repeating: 1, count: axes)
        let type = try call.text("pad_type", default: "valid").lowercased()
        let padding: GraphBuilder.Window.Padding
        switch type {
        case "same": padding = .sameUpper
        case "same_lower": padding = .sameLower
        case "valid": padding = .amounts(begin: ones.map { _ in 0 }, end: ones.map { _ in 0 })
        case "custom":
            let amounts = try pairs(call, "pad", count: axes)
            padding = .amounts(begin: amounts.map(\.0), end: amounts.map(\.1))
        default:
            throw Problem(
                "unknown \"\(type)\": expected \"valid\", \"same\", \"same_lower\" or \"custom\"", at: "pad_type")
        }
        return GraphBuilder.Window(
            strides: try call.integers("strides") ?? ones, dilations: try call.integers("dilations") ?? ones,
            padding: padding)
    }

    /// Pairs of amounts before and after each of `count` axes; zeros if omitted.
    private static func pairs(_ call: ProgramCall, _ name: String, count: Int) throws(Problem) -> [(Int, Int)] {
        let amounts = try call.integers(name) ?? [Int](repeating: 0, count: 2 * count)
        guard amounts.count == 2 * count else {
            throw Problem("there are \(amounts.count) amounts for \(count) axes", at: name)
        }
        return (0..<count).map { (amounts[2 * $0], amounts[2 * $0 + 1]) }
    }

    private static func biased(_ call: ProgramCall, _ value: Graph.Value) throws(Problem) -> [Graph.Value] {
        guard call.isGiven("bias") else { return [value] }
        return [try call.graph.add(value, alongChannels(call, call.float("bias"), of: value))]
    }

    private static func convolution(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let x = try call.float("x")
        let result = try call.graph.convolution(
            x, call.float("weight"), groups: call.integer("groups", default: 1), window: window(call, axes: x.rank - 2))
        return try biased(call, result)
    }

    private static func transposedConvolution(_ call: ProgramCall) throws(Problem) -> [Graph.Value] {
        let x = try call.float("x")
        let axes = x.rank - 2
        let size = try call.integers("output_shape").map { Array($0.suffix(axes)) }
        if let size, size.count != axes {
            throw Problem("there are \(size.count) extents for \(axes) axes", at: "output_shape")
        }
        let result = try call.graph.transposedConvolution(
            x, call.float("weight"), groups: call.integer("groups", default: 1), window: window(call, axes: axes),
            size: size)
        return try biased(call, result)
    }
}

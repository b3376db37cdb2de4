/// Small numbers that follow from constants: counters of loops, conditions, shapes.
///
/// The engine folds them as well, but too late: building the graph needs some of them, such as the number of iterations
/// of a loop or the extents of a shape.
extension GraphBuilder {
    /// The maximum number of elements of a value that is computed here.
    private static let maximumNumbers = 4096
    /// The maximum length of a chain of operations that is computed here. Results are cached, so a counter of many
    /// rounds is not a long chain.
    private static let deepestChain = 64

    /// The elements of a value if they are few and follow from constants, else nil.
    package func numbers(of value: Graph.Value) -> [Double]? { numbers(of: value, depth: 0) }

    /// The elements of a value as integers, for shapes and indices; nil if they are unknown or one does not fit 32
    /// bits.
    package func integers(of value: Graph.Value) -> [Int]? {
        guard let numbers = numbers(of: value) else { return nil }
        let integers = numbers.compactMap { Int32(exactly: $0.rounded(.towardZero)).map(Int.init) }
        return integers.count == numbers.count ? integers : nil
    }

    /// A constant with the shape and the type of a value; nil if the shape is open, or the numbers do not fit the type.
    func constant(_ numbers: [Double], like value: Graph.Value) throws(Problem) -> Graph.Value? {
        let integers = numbers.compactMap { Int32(exactly: $0) }
        guard let shape = value.staticShape, value.type.isFloat || integers.count == numbers.count else { return nil }
        let bytes: Bytes
        switch value.type {
        case .f32: bytes = Bytes(of: numbers.map { Float($0) })
        case .i32: bytes = Bytes(of: integers)
        case .i64: bytes = Bytes(of: integers.map { Int64($0) })
        case .boolean: bytes = Bytes(numbers.map { $0 != 0 ? 1 : 0 })
        default: return nil
        }
        return try constant(value.type, shape: shape, bytes: bytes)
    }

    private func numbers(of value: Graph.Value, depth: Int) -> [Double]? {
        guard value.port == 0, let shape = value.staticShape, let count = elementCount(shape),
            count <= Self.maximumNumbers
        else { return nil }
        if let known = knownNumbers[value.node] { return known }
        guard depth < Self.deepestChain else { return nil }
        var numbers = computed(graph.nodes[value.node], value, depth: depth)
        if numbers?.count != count { numbers = nil }
        knownNumbers[value.node] = .some(numbers)
        return numbers
    }

    private func computed(_ node: Graph.Node, _ value: Graph.Value, depth: Int) -> [Double]? {
        func input(_ index: Int) -> [Double]? {
            index < node.inputs.count ? numbers(of: node.inputs[index], depth: depth + 1) : nil
        }
        if let fold = Self.binaryFolds[node.type] {
            guard let left = input(0), let right = input(1), node.inputs.count == 2 else { return nil }
            return Self.combined(left, right) { Self.rounded(fold($0, $1), as: value.type) }
        }
        if let fold = Self.unaryFolds[node.type] {
            return input(0).map { $0.map { Self.rounded(fold($0), as: value.type) } }
        }
        if let fold = Self.reductions[node.type] {
            // Over all axes only: one number.
            return value.staticShape.flatMap(elementCount) == 1 ? input(0).map { [fold($0)] } : nil
        }
        switch node.type {
        case "Const": return node.data.flatMap { Self.elements($0, value.type) }
        case "Convert": return input(0)?.map { Self.converted($0, to: value.type) }
        case "Reshape", "Squeeze", "Unsqueeze": return input(0)
        case "ShapeOf": return node.inputs.first?.staticShape?.map(Double.init)
        case "Concat":
            guard value.rank == 1 else { return nil }
            var joined: [Double] = []
            for index in node.inputs.indices {
                guard let part = input(index) else { return nil }
                joined += part
            }
            return joined
        case "Gather":
            guard node.inputs.first?.rank == 1, let list = input(0), let places = input(1) else { return nil }
            return Self.elements(of: list, at: places.map { $0 < 0 ? $0 + Double(list.count) : $0 })
        case "Slice":
            guard node.inputs.first?.rank == 1, let list = input(0), let start = input(1)?.first,
                let step = input(3)?.first, step >= 1, let count = value.shape[0], count >= 0
            else { return nil }
            let first = start < 0 ? start + Double(list.count) : start
            return Self.elements(of: list, at: (0..<count).map { first + Double($0) * step })
        case "Range":
            guard let start = input(0)?.first, let step = input(2)?.first, let count = value.shape[0] else {
                return nil
            }
            return (0..<count).map { Self.rounded(start + Double($0) * step, as: value.type) }
        case "Select":
            guard let condition = input(0), condition.count == 1 else { return nil }
            return input(condition[0] != 0 ? 1 : 2)
        case "Broadcast":
            guard let one = input(0), one.count == 1, let count = value.staticShape.flatMap(elementCount) else {
                return nil
            }
            return Array(repeating: one[0], count: count)
        default: return nil
        }
    }

    private static func elements(of list: [Double], at places: [Double]) -> [Double]? {
        let indices = places.compactMap { Int(exactly: $0) }
        guard indices.count == places.count, indices.allSatisfy(list.indices.contains) else { return nil }
        return indices.map { list[$0] }
    }

    // MARK: Arithmetic

    private static let binaryFolds: [String: @Sendable (Double, Double) -> Double] = [
        "Add": (+), "Subtract": (-), "Multiply": (*), "Divide": (/),
        "Maximum": { max($0, $1) }, "Minimum": { min($0, $1) },
        "FloorMod": { $0 - ($0 / $1).rounded(.down) * $1 },
        "Less": { $0 < $1 ? 1 : 0 }, "LessEqual": { $0 <= $1 ? 1 : 0 },
        "Greater": { $0 > $1 ? 1 : 0 }, "GreaterEqual": { $0 >= $1 ? 1 : 0 },
        "Equal": { $0 == $1 ? 1 : 0 }, "NotEqual": { $0 != $1 ? 1 : 0 },
        "LogicalAnd": { $0 != 0 && $1 != 0 ? 1 : 0 }, "LogicalOr": { $0 != 0 || $1 != 0 ? 1 : 0 },
        "LogicalXor": { ($0 != 0) != ($1 != 0) ? 1 : 0 },
    ]
    private static let unaryFolds: [String: @Sendable (Double) -> Double] = [
        "LogicalNot": { $0 == 0 ? 1 : 0 }, "Abs": { abs($0) }, "Negative": { -$0 }, "Floor": { $0.rounded(.down) },
        "Ceiling": { $0.rounded(.up) },
    ]
    private static let reductions: [String: @Sendable ([Double]) -> Double] = [
        "ReduceSum": { $0.reduce(0, +) }, "ReduceProd": { $0.reduce(1, *) },
        "ReduceMax": { $0.max() ?? 0 }, "ReduceMin": { $0.min() ?? 0 },
    ]

    /// Combines two lists of equal length, or a list and a single number; nil for other broadcasts.
    private static func combined(_ left: [Double], _ right: [Double], _ body: (Double, Double) -> Double) -> [Double]? {
        if left.count == right.count { return zip(left, right).map(body) }
        if right.count == 1 { return left.map { body($0, right[0]) } }
        if left.count == 1 { return right.map { body(left[0], $0) } }
        return nil
    }

    /// A result with the engine's precision: a 32-bit float, or an integer.
    private static func rounded(_ value: Double, as type: Graph.ElementType) -> Double {
        type.isFloat ? Double(Float(value)) : value.rounded(.towardZero)
    }

    private static func converted(_ value: Double, to type: Graph.ElementType) -> Double {
        type == .boolean ? (value != 0 ? 1 : 0) : rounded(value, as: type)
    }

    private static func elements(_ bytes: Bytes, _ type: Graph.ElementType) -> [Double]? {
        switch type {
        case .f32: bytes.elements(Float.self).map(Double.init)
        case .f16: bytes.elements(UInt16.self).map { Double(Float16(bitPattern: $0)) }
        case .i32: bytes.elements(Int32.self).map(Double.init)
        case .i64: bytes.elements(Int64.self).map(Double.init)
        case .boolean, .u8: bytes.elements(UInt8.self).map(Double.init)
        default: nil
        }
    }
}

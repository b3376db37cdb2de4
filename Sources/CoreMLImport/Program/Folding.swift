/// Small numbers that are known when the file is read: shapes, counters of loops, and what programs compute from them.
///
/// They are computed here rather than by the graph, so that what depends on them (a shape, an axis, the end of a loop) is
/// known, too.
extension ProgramOperations {
    /// The output of an operation all of whose inputs are known and few; `nil` where the graph is to compute it.
    static func folded(_ call: ProgramCall) throws(Problem) -> BlobTensor? {
        switch call.operation.type {
        case "shape":
            guard let shape = try call.staticShape("x") else { return nil }
            return try KnownNumbers(shape.map(Double.init), shape: [shape.count], type: .int32).tensor()
        case let type where binaryFolds[type] != nil:
            guard let fold = binaryFolds[type], let x = try call.numbers("x"), let y = try call.numbers("y") else {
                return nil
            }
            return try x.combined(with: y, fold.compares, fold.body)?.tensor()
        case "logical_not":
            return try call.numbers("x")?.mapped(to: .bool) { $0 == 0 ? 1 : 0 }.tensor()
        case "cast": return try cast(call)
        case "identity": return try call.numbers("x")?.tensor()
        case "select":
            guard let condition = try call.numbers("cond"), let a = try call.numbers("a"),
                let b = try call.numbers("b"),
                condition.values.count == 1
            else { return nil }
            return try (condition.values[0] != 0 ? a : b).tensor()
        case "squeeze", "expand_dims", "reshape":
            // The same numbers in the shape that the file declares.
            guard let x = try call.numbers("x"), let shape = call.operation.outputs.first?.type.tensor?.staticShape
            else { return nil }
            return try x.reshaped(shape)?.tensor()
        case "gather":
            guard let x = try call.numbers("x"), let indices = try call.numbers("indices"), x.shape.count == 1 else {
                return nil
            }
            return try x.picked(indices)?.tensor()
        case "concat":
            guard let parts = try call.listOfNumbers("values"), parts.allSatisfy({ $0.shape.count <= 1 }) else {
                return nil
            }
            return try KnownNumbers.joined(parts)?.tensor()
        case "stack":
            guard let parts = try call.listOfNumbers("values"), parts.allSatisfy({ $0.shape.isEmpty }) else {
                return nil
            }
            return try KnownNumbers.joined(parts)?.tensor()
        case "range_1d":
            guard let start = try call.numbers("start")?.values.first, let end = try call.numbers("end"),
                let step = try call.numbers("step")?.values.first, let stop = end.values.first, !end.type.isFloat
            else { return nil }
            let count = ((stop - start) / step).rounded(.up)
            guard count >= 0, count <= Double(KnownNumbers.longestRange) else { return nil }
            let values = (0..<Int(count)).map { start + Double($0) * step }
            return try KnownNumbers(values, shape: [values.count], type: .int32).tensor()
        case "slice_by_index": return try slice(call)
        case "reduce_prod":
            guard let x = try call.numbers("x"), x.shape.count == 1, !x.type.isFloat else { return nil }
            return try KnownNumbers([x.values.reduce(1, *)], shape: call.bool("keep_dims") ? [1] : [], type: x.type)
                .tensor()
        default: return nil
        }
    }

    private static let binaryFolds: [String: (compares: Bool, body: @Sendable (Double, Double) -> Double)] = [
        "add": (false, +), "sub": (false, -), "mul": (false, *), "real_div": (false, /),
        "floor_div": (false, { ($0 / $1).rounded(.down) }),
        "mod": (false, { $0 - ($0 / $1).rounded(.down) * $1 }),
        "maximum": (false, { max($0, $1) }), "minimum": (false, { min($0, $1) }),
        "less": (true, { $0 < $1 ? 1 : 0 }), "less_equal": (true, { $0 <= $1 ? 1 : 0 }),
        "greater": (true, { $0 > $1 ? 1 : 0 }), "greater_equal": (true, { $0 >= $1 ? 1 : 0 }),
        "equal": (true, { $0 == $1 ? 1 : 0 }), "not_equal": (true, { $0 != $1 ? 1 : 0 }),
        "logical_and": (true, { $0 != 0 && $1 != 0 ? 1 : 0 }), "logical_or": (true, { $0 != 0 || $1 != 0 ? 1 : 0 }),
        "logical_xor": (true, { ($0 != 0) != ($1 != 0) ? 1 : 0 }),
    ]

    private static func cast(_ call: ProgramCall) throws(Problem) -> BlobTensor? {
        guard let x = try call.numbers("x") else { return nil }
        switch try call.text("dtype") {
        case "bool": return try x.mapped(to: .bool) { $0 != 0 ? 1 : 0 }.tensor()
        case let type where type.hasPrefix("fp"): return try x.mapped(to: .float32) { $0 }.tensor()
        default: return try x.mapped(to: .int32) { $0.rounded(.towardZero) }.tensor()
        }
    }

    private static func slice(_ call: ProgramCall) throws(Problem) -> BlobTensor? {
        guard let x = try call.numbers("x"), x.shape.count == 1, let begin = try call.knownIntegers("begin")?.first,
            let end = try call.knownIntegers("end")?.first
        else { return nil }
        let step = try call.integers("stride")?.first ?? 1
        guard step > 0 else { return nil }
        let start = try call.bool("begin_mask") ? 0 : begin
        if try call.bool("squeeze_mask") {
            return try x.picked(KnownNumbers([Double(start)], shape: [], type: .int32))?.tensor()
        }
        let stop = try call.bool("end_mask") ? x.values.count : end
        let first = min(max(start < 0 ? start + x.values.count : start, 0), x.values.count)
        let count = sliceLength(extent: x.values.count, start: start, end: stop, step: step)
        let places = (0..<count).map { Double(first + $0 * step) }
        return try x.picked(KnownNumbers(places, shape: [count], type: .int32))?.tensor()
    }
}

extension ProgramCall {
    /// The shape of an argument, where all of it is known.
    fileprivate func staticShape(_ name: String) throws(Problem) -> [Int]? {
        switch try operands(name).first {
        case .value(let value): return value.staticShape
        case .constant(let constant): return constant.tensor.shape
        default: return nil
        }
    }

    /// A constant argument of few numbers.
    fileprivate func numbers(_ name: String) throws(Problem) -> KnownNumbers? {
        guard let operand = try operands(name).first else { return nil }
        return try KnownNumbers(operand)
    }

    fileprivate func listOfNumbers(_ name: String) throws(Problem) -> [KnownNumbers]? {
        var list: [KnownNumbers] = []
        for operand in try operands(name) {
            guard let numbers = try KnownNumbers(operand) else { return nil }
            list.append(numbers)
        }
        return list
    }
}

/// A few numbers with a shape.
struct KnownNumbers {
    var values: [Double]
    var shape: [Int]
    /// int32, float32 or bool.
    var type: MILDataType

    /// As many are computed here; more are the engine's work.
    private static let most = 64
    /// Places in a list are needed whole.
    static let longestRange = 4096

    init(_ values: [Double], shape: [Int], type: MILDataType) {
        self.values = values
        self.shape = shape
        self.type = type
    }

    /// `nil` for what is computed, and for more than a few.
    init?(_ operand: ProgramOperand) throws(Problem) {
        guard let tensor = operand.tensor, tensor.count <= Self.most, tensor.element != .string else { return nil }
        shape = tensor.shape
        if tensor.element.isFloat {
            type = .float32
            values = try tensor.floats().map { Double($0) }
        } else {
            type = tensor.element == .bool ? .bool : .int32
            values = try tensor.integers().map { Double($0) }
        }
    }

    /// The numbers as a constant; `nil` where their type cannot hold one.
    func tensor() throws(Problem) -> BlobTensor? {
        let bytes: Bytes
        switch type {
        case .float32: bytes = Bytes(of: values.map { Float($0) })
        case .bool: bytes = Bytes(of: values.map { $0 != 0 ? 1 : 0 as UInt8 })
        default:
            var integers: [Int32] = []
            for value in values {
                guard let integer = Int32(exactly: value) else { return nil }
                integers.append(integer)
            }
            bytes = Bytes(of: integers)
        }
        return try BlobTensor(type, shape: shape, bytes: bytes)
    }

    func mapped(to type: MILDataType, _ body: (Double) -> Double) -> KnownNumbers {
        KnownNumbers(values.map(body), shape: shape, type: type)
    }

    /// Both of one shape, or one of them a single number; `nil` for other pairs.
    func combined(with other: KnownNumbers, _ compares: Bool, _ body: (Double, Double) -> Double) -> KnownNumbers? {
        var result: [Double]
        var shape = self.shape
        if self.shape == other.shape {
            result = zip(values, other.values).map(body)
        } else if other.values.count == 1, other.shape.count <= shape.count {
            result = values.map { body($0, other.values[0]) }
        } else if values.count == 1, shape.count <= other.shape.count {
            result = other.values.map { body(values[0], $0) }
            shape = other.shape
        } else {
            return nil
        }
        let isFloat = type.isFloat || other.type.isFloat
        if !compares, !isFloat { result = result.map { $0.rounded(.towardZero) } }
        guard result.allSatisfy(\.isFinite) else { return nil }
        return KnownNumbers(result, shape: shape, type: compares ? .bool : isFloat ? .float32 : .int32)
    }

    func reshaped(_ shape: [Int]) -> KnownNumbers? {
        guard elementCount(shape) == values.count else { return nil }
        return KnownNumbers(values, shape: shape, type: type)
    }

    /// The numbers at places, which may count from the end.
    func picked(_ indices: KnownNumbers) -> KnownNumbers? {
        var result: [Double] = []
        for index in indices.values {
            guard let place = Int(exactly: index < 0 ? index + Double(values.count) : index),
                values.indices.contains(place)
            else { return nil }
            result.append(values[place])
        }
        return KnownNumbers(result, shape: indices.shape, type: type)
    }

    /// One list after the other.
    static func joined(_ parts: [KnownNumbers]) -> KnownNumbers? {
        guard let first = parts.first else { return nil }
        let values = parts.flatMap(\.values)
        guard values.count <= most else { return nil }
        let isFloat = parts.contains { $0.type.isFloat }
        return KnownNumbers(values, shape: [values.count], type: isFloat ? .float32 : first.type)
    }
}

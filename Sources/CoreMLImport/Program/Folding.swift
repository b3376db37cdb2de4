/// Small numbers that are known when the file is read: shapes, counters of loops, and results computed from them.
///
/// `GraphBuilder` computes them. Here they become constants for later operations, so that arguments which depend on
/// them (a shape, an axis, the end of a loop) are also known.
extension ProgramContext {
    /// The maximum number of floats that become a constant.
    private static let maximumFloats = 64
    /// The maximum number of integers that become a constant: lists of indices are needed whole.
    private static let maximumIntegers = 4096

    /// A value of the graph, or a constant if its elements are known.
    func operand(of value: Graph.Value) throws(Problem) -> ProgramOperand {
        guard let count = value.staticShape.flatMap(elementCount),
            count <= (value.type.isFloat ? Self.maximumFloats : Self.maximumIntegers),
            let numbers = builder.numbers(of: value), let constant = try ProgramConstant(numbers, like: value)
        else { return .value(value) }
        return .constant(constant)
    }
}

extension ProgramConstant {
    /// A constant with the shape and the type of a value; `nil` if the type cannot hold one of the numbers.
    convenience init?(_ numbers: [Double], like value: Graph.Value) throws(Problem) {
        guard let shape = value.staticShape, numbers.allSatisfy(\.isFinite) else { return nil }
        switch value.type {
        case .f32: self.init(try BlobTensor(.float32, shape: shape, bytes: Bytes(of: numbers.map { Float($0) })))
        case .boolean: self.init(try BlobTensor(.bool, shape: shape, bytes: Bytes(numbers.map { $0 != 0 ? 1 : 0 })))
        default:
            let integers = numbers.compactMap { Int32(exactly: $0) }
            guard integers.count == numbers.count else { return nil }
            self.init(try BlobTensor(.int32, shape: shape, bytes: Bytes(of: integers)))
        }
    }
}

extension ProgramOperand {
    /// The numbers of an operand if they are few and known, else nil.
    func numbers(in graph: GraphBuilder) throws(Problem) -> [Double]? {
        if case .value(let value) = self { return graph.numbers(of: value) }
        guard let tensor, tensor.count <= 64, tensor.element != .string else { return nil }
        return tensor.element.isFloat
            ? try tensor.floats().map { Double($0) } : try tensor.integers().map { Double($0) }
    }
}

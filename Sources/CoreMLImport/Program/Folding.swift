/// Small numbers that are known when the file is read: shapes, counters of loops, and what programs compute from them.
///
/// The graph's builder knows them. They are constants for the operations behind them, so that what depends on them (a
/// shape, an axis, the end of a loop) is known, too.
extension ProgramContext {
    /// As many floats become a constant; more are the engine's work.
    private static let mostFloats = 64
    /// As many integers: places in a list are needed whole.
    private static let mostIntegers = 4096

    /// A value of the graph, or the constant that it is.
    func operand(of value: Graph.Value) throws(Problem) -> ProgramOperand {
        guard let count = value.staticShape.flatMap(elementCount),
            count <= (value.type.isFloat ? Self.mostFloats : Self.mostIntegers),
            let numbers = builder.numbers(of: value), let constant = try ProgramConstant(numbers, like: value)
        else { return .value(value) }
        return .constant(constant)
    }
}

extension ProgramConstant {
    /// Known numbers with the shape and the type of a value; `nil` where the type cannot hold one of them.
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
    /// The numbers of an operand, where they are known and few.
    func numbers(in graph: GraphBuilder) throws(Problem) -> [Double]? {
        if case .value(let value) = self { return graph.numbers(of: value) }
        guard let tensor, tensor.count <= 64, tensor.element != .string else { return nil }
        return tensor.element.isFloat
            ? try tensor.floats().map { Double($0) } : try tensor.integers().map { Double($0) }
    }
}

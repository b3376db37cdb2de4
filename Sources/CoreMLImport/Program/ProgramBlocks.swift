/// The translation of the operations of a block.
extension ProgramContext {
    /// The maximum number of operations translated: loops can make a short program long.
    private static let maximumOperations = 1 << 16

    /// Translates the operations of a block. Stops at the first problem, because later values would be missing.
    func translate(_ block: MILBlock) throws(Problem) {
        var constants: [Int: [ProgramOperand]] = [:]
        try translate(block, constants: &constants)
    }

    /// Translates the operations of a block that is translated repeatedly. `constants` caches the decoded constants of
    /// its operations, by index.
    func translate(_ block: MILBlock, constants: inout [Int: [ProgramOperand]]) throws(Problem) {
        for (index, operation) in block.operations.enumerated() {
            let name = operation.outputs.first?.name ?? ""
            builder.place = name
            do throws(Problem) {
                try count(1)
                if let known = constants[index] {
                    try define(operation, known)
                } else {
                    let operands = try operands(of: ProgramCall(operation: operation, program: self))
                    if ProgramOperations.constants[operation.type] != nil { constants[index] = operands }
                    try define(operation, operands)
                }
            } catch {
                throw error.inside("operations[\(index)] \"\(name)\" (\(operation.type))")
            }
        }
    }

    /// Counts operations and rounds of loops, so that endless empty loops are refused as well.
    func count(_ more: Int) throws(Problem) {
        operationCount += more
        guard operationCount <= Self.maximumOperations else {
            throw Problem("with its loops unrolled, the program has more than \(Self.maximumOperations) operations")
        }
    }

    private func define(_ operation: MILOperation, _ operands: [ProgramOperand]) throws(Problem) {
        guard operands.count >= operation.outputs.count else {
            throw Problem("expected at most \(operands.count) outputs, found \(operation.outputs.count)")
        }
        for (output, operand) in zip(operation.outputs, operands) { try define(output.name, operand) }
    }

    private func operands(of call: ProgramCall) throws(Problem) -> [ProgramOperand] {
        let type = call.operation.type
        if let decode = ProgramOperations.special[type] { return try decode(call) }
        guard let translate = ProgramOperations.table[type] else { throw Problem(ProgramOperations.refusal(of: type)) }
        var operands: [ProgramOperand] = []
        for (index, value) in try translate(call).enumerated() {
            // coremltools declares one image too many if boxes have an index of the image.
            operands.append(
                try operand(of: checked(value, type == "crop_resize" ? nil : call.declaredShape(index))))
        }
        return operands
    }

    /// The value with the extents that the file declares. Throws if they contradict the computed shape, or if the
    /// tensor exceeds any memory.
    private func checked(_ value: Graph.Value, _ declared: [Int?]?) throws(Problem) -> Graph.Value {
        var shape = value.shape
        if let declared {
            let agrees =
                declared.count == shape.count
                && zip(declared, shape).allSatisfy { $0 == nil || $1 == nil || $0 == $1 }
            guard agrees else {
                throw Problem(
                    "the output is declared with shape \(shapeText(declared)), but has shape \(shapeText(shape))"
                )
            }
            shape = zip(shape, declared).map { $0 ?? $1 }
        }
        guard let known = elementCount(shape.map { $0 ?? 1 }), known <= GraphBuilder.maximumElements else {
            throw Problem("a tensor of shape \(shapeText(shape)) is too large")
        }
        return Graph.Value(node: value.node, port: value.port, type: value.type, shape: shape)
    }
}

/// An ML Program (MIL.proto: Program).
package struct MILProgram {
    package var functions: [String: MILFunction] = [:]

    package init(_ message: MessageReader) throws(Problem) {
        var reader = message
        while let field = try reader.next() {
            guard field.number == 2 else { continue }
            // A map entry: field 1 is the key, field 2 the value.
            let entry = try field.message()
            let name = try entry.string(1)
            functions[name] = try located("function \"\(name)\"") { () throws(Problem) in
                try MILFunction(entry.message(2) ?? .empty)
            }
        }
    }
}

/// A function of a program (MIL.proto: Function). One of its blocks is executed, that of its opset.
package struct MILFunction {
    package var inputs: [MILNamedType] = []
    /// "CoreML5" (iOS 15) to "CoreML8" (iOS 18). Later opsets have the same operations, and more.
    package var opset: String
    package var block: MILBlock

    init(_ message: Message) throws(Problem) {
        for (index, input) in try message.messages(1).enumerated() {
            inputs.append(try located("inputs[\(index)]") { () throws(Problem) in try MILNamedType(input) })
        }
        opset = try message.string(2)
        for entry in try message.messages(3) where try entry.string(1) == opset {
            guard let block = entry.last(2) else { continue }
            self.block = try MILBlock(block.reader())
            return
        }
        throw Problem("there is no block for the operation set \"\(opset)\"")
    }
}

/// A list of operations (MIL.proto: Block).
package struct MILBlock {
    /// The block's names for values from outside: the variables of a loop.
    package var inputs: [String] = []
    package var operations: [MILOperation] = []
    /// The names of the values that the block returns.
    package var outputs: [String] = []

    private static let maximumOperations = 1 << 20

    init(_ message: MessageReader) throws(Problem) {
        var reader = message
        while let field = try reader.next() {
            switch field.number {
            case 1: inputs.append(try field.message().string(1))
            case 2: outputs.append(try field.string())
            case 3:
                guard operations.count < Self.maximumOperations else {
                    throw Problem("more than \(Self.maximumOperations) operations")
                }
                operations.append(
                    try located("operations[\(operations.count)]") { () throws(Problem) in
                        try MILOperation(field.message())
                    })
            default: break
            }
        }
    }
}

/// An operation (MIL.proto: Operation).
package struct MILOperation {
    /// The type: "conv", "const".
    package var type: String
    package var inputs: [String: [Binding]] = [:]
    package var outputs: [MILNamedType] = []
    package var attributes: [String: MILValue] = [:]
    /// The blocks of a loop or of a condition.
    package var blocks: [MILBlock] = []

    /// The source of an argument (MIL.proto: Argument.Binding).
    package enum Binding {
        case name(String)
        case value(MILValue)
    }

    init(_ message: Message) throws(Problem) {
        type = try message.string(1)
        for field in message.fields {
            switch field.number {
            case 2:
                let entry = try field.message()
                let name = try entry.string(1)
                var bindings: [Binding] = []
                for binding in try entry.message(2)?.messages(1) ?? [] {
                    if let value = try binding.message(2) {
                        bindings.append(
                            .value(try located("\(type) \"\(name)\"") { () throws(Problem) in try MILValue(value) }))
                    } else {
                        bindings.append(.name(try binding.string(1)))
                    }
                }
                inputs[name] = bindings
            case 3: outputs.append(try MILNamedType(field.message()))
            case 4: blocks.append(try MILBlock(field.reader()))
            case 5:
                let entry = try field.message()
                let name = try entry.string(1)
                attributes[name] = try located("\(type) \"\(name)\"") { () throws(Problem) in
                    try MILValue(entry.message(2) ?? .empty)
                }
            default: break
            }
        }
    }
}

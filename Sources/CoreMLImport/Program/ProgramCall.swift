/// An operation of a program during translation: its arguments by name, and the graph.
struct ProgramCall {
    let operation: MILOperation
    let program: ProgramContext

    var graph: GraphBuilder { program.builder }

    // MARK: Values that the graph computes with

    /// An argument as a value of the graph. Throws if it is missing.
    func value(_ name: String) throws(Problem) -> Graph.Value {
        guard let value = try optionalValue(name) else { throw missing(name) }
        return value
    }

    /// An argument as a value of the graph; `nil` if it is missing.
    func optionalValue(_ name: String) throws(Problem) -> Graph.Value? {
        guard let operand = try operand(name) else { return nil }
        return try located(name) { () throws(Problem) in try program.value(of: operand) }
    }

    /// An argument as 32-bit floats.
    func float(_ name: String) throws(Problem) -> Graph.Value { graph.convert(try value(name), to: .f32) }

    /// An argument that is a list of values.
    func values(_ name: String) throws(Problem) -> [Graph.Value] {
        var values: [Graph.Value] = []
        for operand in try operands(name) {
            values.append(try located(name) { () throws(Problem) in try program.value(of: operand) })
        }
        guard !values.isEmpty else { throw missing(name) }
        return values
    }

    // MARK: Arguments that are known when the file is read

    /// A constant argument; `nil` if it is missing. Throws if it is computed.
    func constant(_ name: String) throws(Problem) -> BlobTensor? {
        guard let operand = try operand(name) else { return nil }
        guard let tensor = operand.tensor else { throw Problem("must be a constant", at: name) }
        return tensor
    }

    /// A constant argument of one or more integers; `nil` if it is missing or computed.
    func knownIntegers(_ name: String) throws(Problem) -> [Int]? {
        guard let operand = try operand(name), let tensor = operand.tensor else { return nil }
        return try located(name) { () throws(Problem) in try limited(tensor.integers()) }
    }

    /// Clamps integers, so that arithmetic on extents cannot overflow.
    private func limited(_ integers: [Int]) -> [Int] {
        integers.map { min(max($0, -Int(Int32.max)), Int(Int32.max)) }
    }

    func isGiven(_ name: String) -> Bool { operation.inputs[name] != nil || operation.attributes[name] != nil }

    func integers(_ name: String) throws(Problem) -> [Int]? {
        guard let tensor = try constant(name) else { return nil }
        return try located(name) { () throws(Problem) in try limited(tensor.integers()) }
    }

    func requiredIntegers(_ name: String) throws(Problem) -> [Int] {
        guard let integers = try integers(name) else { throw missing(name) }
        return integers
    }

    func integer(_ name: String, default value: Int? = nil) throws(Problem) -> Int {
        guard let integer = try integers(name)?.first ?? value else { throw missing(name) }
        return integer
    }

    func floats(_ name: String) throws(Problem) -> [Float]? {
        guard let tensor = try constant(name) else { return nil }
        return try located(name) { () throws(Problem) in try tensor.floats() }
    }

    /// A constant number. Throws if it is not finite.
    func number(_ name: String, default value: Float? = nil) throws(Problem) -> Float {
        guard let number = try floats(name)?.first ?? value else { throw missing(name) }
        guard number.isFinite else { throw Problem("expected a number, found \(number)", at: name) }
        return number
    }

    func bool(_ name: String, default value: Bool = false) throws(Problem) -> Bool {
        try integers(name)?.first.map { $0 != 0 } ?? value
    }

    /// A constant string, such as the name of a mode.
    func text(_ name: String, default value: String? = nil) throws(Problem) -> String {
        guard let operand = try operand(name) else {
            guard let value else { throw missing(name) }
            return value
        }
        guard case .strings(let strings) = operand, let text = strings.first else {
            throw Problem("must be a constant string", at: name)
        }
        return text
    }

    /// The value that belongs to the argument's string in `choices`.
    func choice<Choice>(_ name: String, default value: String? = nil, of choices: KeyValuePairs<String, Choice>)
        throws(Problem) -> Choice
    {
        let text = try text(name, default: value)
        guard let choice = choices.first(where: { $0.key.lowercased() == text.lowercased() }) else {
            throw Problem(
                "unknown \"\(text)\": expected one of \(choices.map { "\"\($0.key)\"" }.joined(separator: ", "))",
                at: name)
        }
        return choice.value
    }

    /// The shape that the file declares for an output; `nil` if the rank is unknown.
    func declaredShape(_ output: Int = 0) -> [Int?]? {
        operation.outputs.indices.contains(output) ? operation.outputs[output].type.tensor?.shape : nil
    }

    /// The shape that the file declares for an output. Throws if the rank is unknown.
    func neededShape(_ output: Int = 0) throws(Problem) -> [Int?] {
        guard let shape = declaredShape(output) else { throw Problem("the rank of the output is not declared") }
        return shape
    }

    // MARK: Bindings

    func operands(_ name: String) throws(Problem) -> [ProgramOperand] {
        if let bindings = operation.inputs[name] {
            var operands: [ProgramOperand] = []
            for binding in bindings {
                operands.append(try located(name) { () throws(Problem) in try program.operand(of: binding) })
            }
            return operands
        }
        // The compressed weights of iOS 16 have their arguments in the attributes.
        if let value = operation.attributes[name] {
            return [try located(name) { () throws(Problem) in try program.operand(of: value) }]
        }
        return []
    }

    private func operand(_ name: String) throws(Problem) -> ProgramOperand? {
        let operands = try operands(name)
        guard operands.count <= 1 else { throw Problem("expected one value, found \(operands.count)", at: name) }
        return operands.first
    }

    func missing(_ name: String) -> Problem { Problem("the argument \"\(name)\" is missing") }
}

extension RefereeFeature {
    /// The value as a feature of this type holds it: numbers and arrays of one number pass into each other, and numbers
    /// are rounded to the type of the array.
    func holding(_ value: RefereeValue) throws(RowProblem) -> RefereeValue {
        switch (kind, value) {
        case (_, .unjudged), (.double, .number), (.int64, .integer), (.string, .text), (.string, .label),
            (.int64, .label):
            return value
        case (.dictionary, .dictionary): return value
        case (.double, .integer(let number)): return .number(Self.number(number))
        case (.double, .array(let numbers)) where numbers.count == 1: return .number(numbers[0])
        case (.int64, .number(let number)): return .integer(try integer(number))
        case (.int64, .array(let numbers)) where numbers.count == 1: return .integer(try integer(numbers[0]))
        case (.array(let type, let count), .number(let number)): return try array([number], type, count)
        case (.array(let type, let count), .integer(let number)):
            return try array([Self.number(number)], type, count)
        case (.array(let type, let count), .array(let numbers)): return try array(numbers, type, count)
        default: throw .unjudged("\"\(name)\" is \(value.kind), but declared as \(kindName)")
        }
    }

    /// An integer as a floating-point number.
    static func number(_ integer: Int64) -> Number {
        let value = Double(integer)
        return Number(value, slack: Int64(exactly: value) == integer ? 0 : abs(value) * Number.epsilon)
    }

    /// The file does not say how a fraction becomes an integer.
    private func integer(_ number: Number) throws(RowProblem) -> Int64 {
        guard let integer = Int64(exactly: number.value), number.slack < 0.5 else {
            throw .unjudged("\"\(name)\" is \(number.value), but declared as an integer")
        }
        return integer
    }

    private func array(
        _ numbers: [Number], _ type: ArrayNumbers, _ count: Int?
    ) throws(RowProblem) -> RefereeValue {
        if let count, count != numbers.count {
            throw .unjudged("\"\(name)\" has \(numbers.count) numbers, but declared are \(count)")
        }
        switch type {
        case .float64: return .array(numbers)
        case .float32:
            return .array(
                numbers.map { number in
                    let rounded = Double(Float(number.value))
                    guard rounded != number.value, !number.value.isNaN else { return number }
                    return Number(rounded, slack: number.slack + abs(rounded) * 0x1p-23)
                })
        case .int32:
            for number in numbers { _ = try integer(number) }
            return .array(numbers)
        }
    }
}

/// Replaces missing values (Imputer.proto).
struct Imputer: ClassicalModel {
    private let replacement: Replacement
    /// The value that marks a missing one; nil for the default of the type: NaN, the greatest integer, the empty
    /// string.
    private let missing: FeatureData?
    private let input: FeatureSpecification, output: FeatureSpecification
    var takesMissing: Bool { true }

    private enum Replacement: Sendable {
        case double(Double)
        case int64(Int64)
        case string(String)
        case array([Double])
        case dictionary([Category: Double])
    }

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        input = try description.onlyInput()
        output = try description.onlyOutput()
        // If several fields of a oneof are present, the last one is used.
        guard let field = message.fields.last(where: { (1...7).contains($0.number) }) else {
            throw Problem("has no imputed value")
        }
        switch field.number {
        case 1: replacement = .double(try field.double())
        case 2: replacement = .int64(Int64(try field.signed()))
        case 3: replacement = .string(try field.string())
        case 4: replacement = .array(try field.message().doubles(1))
        case 5: replacement = .array(try field.message().integers(1).map(Double.init))
        case 6:
            var map: [Category: Double] = [:]
            for entry in try field.message().messages(1) { map[.string(try entry.string(1))] = try entry.double(2) }
            replacement = .dictionary(map)
        default:
            var map: [Category: Double] = [:]
            for entry in try field.message().messages(1) {
                map[.int64(Int64(try entry.integer(1)))] = try entry.double(2)
            }
            replacement = .dictionary(map)
        }
        switch message.fields.last(where: { (11...13).contains($0.number) }) {
        case let field? where field.number == 11: missing = .double(try field.double())
        case let field? where field.number == 12: missing = .int64(Int64(try field.signed()))
        case let field?: missing = .string(try field.string())
        case nil: missing = nil
        }
        if case .array(let values) = replacement, let declared = input.type.numberCount, values.count != declared {
            throw Problem("imputes \(values.count) numbers, the input has \(declared)")
        }
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        [output.name: try imputed(table[input.name])]
    }

    private func imputed(_ data: FeatureData?) throws(EvaluationError) -> FeatureData {
        switch (data, replacement) {
        case (nil, .double(let value)): return .double(value)
        case (nil, .int64(let value)): return .int64(value)
        case (nil, .string(let value)): return .string(value)
        case (nil, .array(let values)): return .array(NumberArray(values))
        case (.double(let value)?, .double(let other)): return .double(isMissing(value) ? other : value)
        case (.double(let value)?, .array(let values)) where values.count == 1:
            return .double(isMissing(value) ? values[0] : value)
        case (.int64(let value)?, .int64(let other)): return .int64(isMissing(value) ? other : value)
        case (.int64(let value)?, .double(let other)): return isMissing(value) ? .double(other) : .int64(value)
        case (.string(let value)?, .string(let other)):
            let missing = if case .string(let text)? = missing { text } else { "" }
            return .string(value == missing ? other : value)
        case (.array(var array)?, .double(let other)):
            for index in array.values.indices where isMissing(array.values[index]) { array.values[index] = other }
            return .array(array)
        case (.array(var array)?, .int64(let other)):
            for index in array.values.indices where isMissing(array.values[index]) {
                array.values[index] = Double(other)
            }
            return .array(array)
        case (.array(var array)?, .array(let others)) where array.values.count == others.count:
            for index in array.values.indices where isMissing(array.values[index]) {
                array.values[index] = others[index]
            }
            return .array(array)
        case (.dictionary(var numbers)?, .dictionary(let others)):
            for index in numbers.keys.indices where isMissing(numbers.values[index]) {
                numbers.values[index] = others[numbers.keys[index]] ?? numbers.values[index]
            }
            return .dictionary(numbers)
        case (.dictionary(var numbers)?, .double(let other)):
            for index in numbers.keys.indices where isMissing(numbers.values[index]) { numbers.values[index] = other }
            return .dictionary(numbers)
        default:
            throw EvaluationError("cannot be imputed: it is \(data?.kind ?? "missing")", feature: input.name)
        }
    }

    private func isMissing(_ value: Double) -> Bool {
        // NaN marks values that the client omitted, whatever marker the file declares.
        switch missing {
        case .double(let missing)?: value.isNaN || value == missing
        case .int64(let missing)?: value.isNaN || value == Double(missing)
        default: value.isNaN
        }
    }

    private func isMissing(_ value: Int64) -> Bool {
        switch missing {
        case .int64(let missing)?: value == missing
        case .double(let missing)?: Double(value) == missing
        default: value == .max
        }
    }
}

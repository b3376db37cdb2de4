/// Replaces missing values (Imputer.proto).
struct ImputerStep: RefereeModel {
    private let replacement: Replacement
    /// The value that marks a missing one; nil if the file does not say.
    private let marker: Marker?
    private let input: RefereeFeature, output: RefereeFeature
    var takesMissing: Bool { if case .double(let marker)? = marker { marker.isNaN } else { false } }

    private enum Replacement: Sendable {
        case double(Double), integer(Int64), text([UInt8])
        case doubles([Double]), integers([Int64])
    }

    private enum Marker: Sendable { case double(Double), integer(Int64), text([UInt8]) }

    init(_ message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        var replacement: Replacement?
        var marker: Marker?
        try message.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: replacement = .double(try field.double())
            case 2: replacement = .integer(try field.integer())
            case 3: replacement = .text(try field.bytes())
            case 4:
                var list: [Double] = []
                try field.message().fields { (field) throws(ImpossibleJudgment) in
                    if field.number == 1 { try field.append(to: &list) }
                }
                replacement = .doubles(list)
            case 5:
                var list: [Int64] = []
                try field.message().fields { (field) throws(ImpossibleJudgment) in
                    if field.number == 1 { try field.append(to: &list) }
                }
                replacement = .integers(list)
            case 6, 7: throw ImpossibleJudgment("the format does not say how dictionaries are imputed")
            case 11: marker = .double(try field.double())
            case 12: marker = .integer(try field.integer())
            case 13: marker = .text(try field.bytes())
            default: break
            }
        }
        guard let replacement else { throw ImpossibleJudgment("an imputer of the file has no value") }
        (self.replacement, self.marker) = (replacement, marker)
        (input, output) = (try interface.input, try interface.output)
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow { [output.name: try imputed(row[input.name])] }

    private func imputed(_ value: RefereeValue?) throws(RowProblem) -> RefereeValue {
        switch (value, replacement) {
        case (.number(let number)?, .double(let other)):
            return .number(try isMissing(number) ? Number(other) : number)
        case (.integer(let number)?, .integer(let other)):
            guard case .integer(let missing)? = marker else { break }
            return .integer(number == missing ? other : number)
        case (.text(let text)?, .text(let other)):
            guard case .text(let missing)? = marker else { break }
            return .text(text == missing ? other : text)
        case (.array(let numbers)?, .double(let other)):
            return .array(
                try Self.map(numbers) { (_, number) throws(RowProblem) in
                    try isMissing(number) ? Number(other) : number
                })
        case (.array(let numbers)?, .doubles(let others)) where numbers.count == others.count:
            return .array(
                try Self.map(numbers) { (position, number) throws(RowProblem) in
                    try isMissing(number) ? Number(others[position]) : number
                })
        case (.array(let numbers)?, .integers(let others)) where numbers.count == others.count:
            return .array(
                try Self.map(numbers) { (position, number) throws(RowProblem) in
                    try isMissing(number) ? RefereeFeature.number(others[position]) : number
                })
        default: break
        }
        throw .unjudged("the format does not say which values of \"\(input.name)\" are missing")
    }

    private static func map(
        _ numbers: [Number], _ body: (Int, Number) throws(RowProblem) -> Number
    ) throws(RowProblem) -> [Number] {
        var result: [Number] = []
        for (position, number) in numbers.enumerated() { result.append(try body(position, number)) }
        return result
    }

    private func isMissing(_ number: Number) throws(RowProblem) -> Bool {
        let missing: Double
        switch marker {
        case .double(let value)?: missing = value
        case .integer(let value)?: missing = Double(value)
        case .text?, nil: missing = .infinity
        }
        if number.value.isNaN {
            guard missing.isNaN else { throw .unjudged("the file marks missing numbers otherwise than by NaN") }
            return true
        }
        guard number.slack == 0 || abs(number.value - missing) > number.slack || missing.isNaN else {
            throw .unjudged("rounding decides whether a number is missing")
        }
        return number.value == missing
    }

    func origins(_ known: OriginTable) -> OriginTable { [output.name: known[input.name] ?? []] }

    /// The marker itself, and a number of its neighborhood.
    func landmarks(limit: Int) -> [Landmark] {
        let value: Double
        switch marker {
        case .double(let marker)? where !marker.isNaN: value = marker
        case .integer(let marker)?: value = Double(marker)
        default: return []
        }
        let width = min(input.width ?? 0, limit)
        return (0..<width).map { Landmark(values: [($0, value)], edge: $0) }
    }

    var categories: [Key] {
        switch marker {
        case .text(let text)?: [.text(text)]
        case .integer(let number)?: [.integer(number)]
        default: []
        }
    }
}

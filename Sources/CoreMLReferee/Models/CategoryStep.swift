/// A category as an array of zeros with a one in its position (OneHotEncoder.proto), or as a category of the other type
/// (CategoricalMapping.proto).
struct CategoryStep: RefereeModel {
    let categories: [Key]
    private let meaning: Meaning
    private let input: RefereeFeature, output: RefereeFeature

    private enum Meaning: Sendable {
        case oneHot(isSparse: Bool, ignoresUnknown: Bool)
        /// The values of the categories, and that of others; nil if others are an error.
        case mapping([Key], unknown: Key?)
    }

    init(oneHot message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        categories = try Self.categories(message)
        meaning = .oneHot(
            isSparse: try message.last(10)?.integer() ?? 0 != 0,
            ignoresUnknown: try message.last(11)?.integer() ?? 0 == 1)
        (input, output) = (try interface.input, try interface.output)
    }

    init(mapping message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        var (keys, values, isToIntegers): ([Key], [Key], Bool) = ([], [], true)
        var unknown: [Int: Key] = [:]
        try message.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1, 2:
                isToIntegers = field.number == 1
                (keys, values) = try Self.entries(field.message(), isToIntegers)
            case 101: unknown = [101: .text(try field.bytes())]
            case 102: unknown = [102: .integer(try field.integer())]
            default: break
            }
        }
        guard !keys.isEmpty else { throw ImpossibleJudgment("a mapping of the file is empty") }
        categories = keys
        meaning = .mapping(values, unknown: unknown[isToIntegers ? 102 : 101])
        (input, output) = (try interface.input, try interface.output)
    }

    /// The entries of a map: a key without a field has the default of its type.
    private static func entries(
        _ message: WireMessage, _ isToIntegers: Bool
    ) throws(ImpossibleJudgment) -> ([Key], [Key]) {
        var (keys, values): ([Key], [Key]) = ([], [])
        try message.fields { (field) throws(ImpossibleJudgment) in
            guard field.number == 1 else { return }
            var key: Key = isToIntegers ? .text([]) : .integer(0)
            var value: Key = isToIntegers ? .integer(0) : .text([])
            try field.message().fields { (field) throws(ImpossibleJudgment) in
                func read(_ isText: Bool) throws(ImpossibleJudgment) -> Key {
                    isText ? .text(try field.bytes()) : .integer(try field.integer())
                }
                switch field.number {
                case 1: key = try read(isToIntegers)
                case 2: value = try read(!isToIntegers)
                default: break
                }
            }
            try field.text.keep(2)
            keys.append(key)
            values.append(value)
        }
        return (keys, values)
    }

    /// The list in field 1 (texts) or 2 (integers).
    static func categories(_ message: WireMessage) throws(ImpossibleJudgment) -> [Key] {
        var categories: [Key] = []
        try message.fields { (field) throws(ImpossibleJudgment) in
            if field.number == 1 || field.number == 2 {
                categories = try ClassTable.labels(field, areTexts: field.number == 1)
            }
        }
        guard !categories.isEmpty else { throw ImpossibleJudgment("a model of the file has no categories") }
        return categories
    }

    /// The position of a category; nil if the list lacks it.
    static func position(of key: Key, in categories: [Key]) throws(RowProblem) -> Int? {
        guard let position = categories.firstIndex(of: key) else { return nil }
        guard !categories[(position + 1)...].contains(key) else {
            throw .unjudged("the file lists the category \"\(key)\" twice")
        }
        return position
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        let key = try key(row[input.name])
        let position = try Self.position(of: key, in: categories)
        switch meaning {
        case .oneHot(let isSparse, let ignoresUnknown):
            guard position != nil || ignoresUnknown else { throw unknown(key) }
            if isSparse {
                let keys = position.map { [Key.integer(Int64($0))] } ?? []
                return [output.name: .dictionary(keys: keys, values: keys.map { _ in Number(1) })]
            }
            return [output.name: .array(categories.indices.map { Number($0 == position ? 1 : 0) })]
        case .mapping(let values, let other):
            switch position.map({ values[$0] }) ?? other {
            case .text(let text)?: return [output.name: .text(text)]
            case .integer(let number)?: return [output.name: .integer(number)]
            case nil: throw unknown(key)
            }
        }
    }

    private func key(_ value: RefereeValue?) throws(RowProblem) -> Key {
        switch value {
        case .text(let text): return .text(text)
        case .integer(let number): return .integer(number)
        case .label(let keys) where keys.count == 1: return keys[0]
        case .number(let number):
            if let integer = Int64(exactly: number.value), number.slack == 0 { return .integer(integer) }
        default: break
        }
        throw .unjudged("\"\(input.name)\" is no category")
    }

    private func unknown(_ key: Key) -> RowProblem { .refused("\"\(key)\" is a category that the file does not know") }
}

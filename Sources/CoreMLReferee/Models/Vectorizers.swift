/// Features one after the other in one array (FeatureVectorizer.proto).
struct FeatureVectorizerStep: RefereeModel {
    private let columns: [(name: String, count: Int)]
    private let output: String

    /// The most numbers in the array.
    private static let maximum: Int64 = 1 << 20

    init(_ message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        var columns: [(name: String, count: Int)] = []
        var total: Int64 = 0
        try message.fields { (field) throws(ImpossibleJudgment) in
            guard field.number == 1 else { return }
            let column = try field.message()
            let count = try column.last(2)?.integer() ?? 0
            guard (1...Self.maximum).contains(count), total + count <= Self.maximum else {
                throw ImpossibleJudgment("the file's vectorizer has a column of \(count) numbers")
            }
            total += count
            columns.append((try column.last(1)?.string() ?? "", Int(count)))
        }
        self.columns = columns
        output = try interface.output.name
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        var vector: [Number] = []
        for (name, count) in columns {
            switch row[name] {
            case .number(let number) where count == 1: vector.append(number)
            case .integer(let number) where count == 1: vector.append(RefereeFeature.number(number))
            case .array(let numbers) where numbers.count == count: vector += numbers
            case .dictionary(let keys, let values): vector += try Self.dense(keys, values, count)
            default: throw .unjudged("\"\(name)\" does not have the \(count) numbers of its column")
            }
        }
        return [output: .array(vector)]
    }

    /// A dictionary is a sparse array: its keys are positions.
    private static func dense(_ keys: [Key], _ values: [Number], _ count: Int) throws(RowProblem) -> [Number] {
        var vector = [Number](repeating: Number(0), count: count)
        for (key, value) in zip(keys, values) {
            guard case .integer(let position) = key, (0..<Int64(count)).contains(position) else {
                throw .unjudged("\(key) is no position in a column of \(count) numbers")
            }
            vector[Int(position)] = value
        }
        return vector
    }

    func origins(_ known: OriginTable) -> OriginTable {
        let origins = columns.flatMap { name, count -> [Origin?] in
            guard let origins = known[name], origins.count == count else {
                return [Origin?](repeating: nil, count: count)
            }
            return origins
        }
        return [output: origins]
    }
}

/// A dictionary as an array: each number has the position of its key in the file's list (DictVectorizer.proto).
struct DictionaryVectorizerStep: RefereeModel {
    let categories: [Key]
    private let input: RefereeFeature, output: RefereeFeature

    init(_ message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        categories = try CategoryStep.categories(message)
        (input, output) = (try interface.input, try interface.output)
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        guard case .dictionary(let keys, let values)? = row[input.name] else {
            throw .unjudged("\"\(input.name)\" is no dictionary")
        }
        var positions: [Key] = []
        var numbers: [Number] = []
        var vector = [Number](repeating: Number(0), count: categories.count)
        for (key, value) in zip(keys, values) {
            // Keys that the list lacks are left out, as by scikit-learn's vectorizer.
            guard let position = try CategoryStep.position(of: key, in: categories) else { continue }
            positions.append(.integer(Int64(position)))
            numbers.append(value)
            vector[position] = value
        }
        if case .dictionary = output.kind { return [output.name: .dictionary(keys: positions, values: numbers)] }
        return [output.name: .array(vector)]
    }
}

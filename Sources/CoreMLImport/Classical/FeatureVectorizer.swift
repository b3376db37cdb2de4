/// Concatenates features into one vector (FeatureVectorizer.proto).
struct FeatureVectorizer: ClassicalModel {
    private let columns: [(name: String, count: Int)]
    private let output: FeatureSpecification

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        var columns: [(name: String, count: Int)] = []
        for column in try message.messages(1) { columns.append((try column.string(1), try column.integer(2))) }
        guard !columns.isEmpty else { throw Problem("has no inputs") }
        var total = 0
        for (index, column) in columns.enumerated() {
            let place = "inputList[\(index)]"
            guard let input = description.inputs.first(where: { $0.name == column.name }) else {
                throw Problem("\"\(column.name)\" is not an input of the model", at: place)
            }
            guard (1...1 << 24).contains(column.count), total <= 1 << 24 else {
                throw Problem("inputDimensions is \(UInt64(bitPattern: Int64(column.count)))", at: place)
            }
            if let declared = input.type.numberCount, declared != column.count {
                throw Problem(
                    "\"\(column.name)\" has \(declared) numbers, inputDimensions is \(column.count)", at: place)
            }
            total += column.count
        }
        self.columns = columns
        output = try description.onlyOutput()
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        var vector: [Double] = []
        for (name, count) in columns {
            switch table[name] {
            case .double(let number) where count == 1: vector.append(number)
            case .int64(let number) where count == 1: vector.append(Double(number))
            case .array(let array) where array.values.count == count: vector += array.values
            // Sparse: keys are indices; missing keys are zero.
            case .dictionary(let numbers): vector += try dense(numbers, count: count, name: name)
            case nil: vector += [Double](repeating: .nan, count: count)
            case let other?:
                throw EvaluationError(
                    "expected \(count) number\(count == 1 ? "" : "s"), found \(other.kind)", feature: name)
            }
        }
        return [output.name: .array(NumberArray(vector))]
    }

    private func dense(_ numbers: CategoryNumbers, count: Int, name: String) throws(EvaluationError) -> [Double] {
        var vector = [Double](repeating: 0, count: count)
        for (key, value) in zip(numbers.keys, numbers.values) {
            guard case .int64(let place) = key, (0..<Int64(count)).contains(place) else {
                throw EvaluationError("expected keys from 0 to \(count - 1), found \(key)", feature: name)
            }
            vector[Int(place)] = value
        }
        return vector
    }
}

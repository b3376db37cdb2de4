/// A model that Ocelli evaluates itself, in double precision: every type but networks and programs.
///
/// Pure: equal inputs give equal outputs, on any thread.
protocol ClassicalModel: Sendable {
    /// Computes the outputs. Omitted features are not in the table.
    func evaluate(_ inputs: FeatureTable) throws(EvaluationError) -> FeatureTable

    /// The total number of numbers in the inputs; nil if any number is accepted.
    var inputCount: Int? { get }

    /// The labels of a classifier, in the order of its probabilities; nil for other models.
    var labels: [Category]? { get }

    /// True if the model accepts missing numbers (NaN).
    var takesMissing: Bool { get }

    /// The inputs that have a default in the model and may be missing from its description.
    var defaultedInputs: [String] { get }

    /// A category that the input accepts as value or key; nil if the model knows no categories.
    var sampleCategory: Category? { get }
}

extension ClassicalModel {
    var inputCount: Int? { nil }
    var labels: [Category]? { nil }
    var takesMissing: Bool { false }
    var defaultedInputs: [String] { [] }
    var sampleCategory: Category? { nil }
}

extension FeatureType {
    /// The number of numbers in a value of this type; nil if it is open, or the type has no numbers.
    var numberCount: Int? {
        switch self {
        case .double, .int64: return 1
        case .multiArray(let array):
            guard !array.extents.isEmpty else { return nil }
            var count = 1
            for extent in array.extents {
                guard let extent, extent > 0,
                    case let (product, overflow) = count.multipliedReportingOverflow(by: extent),
                    !overflow
                else { return nil }
                count = product
            }
            return count
        default: return nil
        }
    }
}

extension [FeatureSpecification] {
    /// The number of numbers in all features together; nil if one is open or has no numbers.
    var numberCount: Int? {
        var sum = 0
        for feature in self {
            guard let count = feature.type.numberCount else { return nil }
            sum += count
        }
        return sum
    }
}

extension InterfaceSpecification {
    /// The input of a model that has exactly one.
    func onlyInput() throws(Problem) -> FeatureSpecification {
        guard inputs.count == 1, let input = inputs.first else {
            throw Problem("has \(inputs.count) inputs: expected one")
        }
        return input
    }

    /// The output of a model that has exactly one.
    func onlyOutput() throws(Problem) -> FeatureSpecification {
        guard outputs.count == 1, let output = outputs.first else {
            throw Problem("has \(outputs.count) outputs: expected one")
        }
        return output
    }

    /// The output for a regressor's value: the predicted feature, or the first output if none is named.
    func regressorOutput() throws(Problem) -> FeatureSpecification {
        if let output = outputs.first(where: { $0.name == predictedFeatureName }) ?? outputs.first { return output }
        throw Problem("has no outputs")
    }
}

/// Reads the numbers of all inputs as one vector: the features in the description's order, arrays in row-major order.
struct NumberInputs: Sendable {
    let inputs: [FeatureSpecification]

    init(_ inputs: [FeatureSpecification]) throws(Problem) {
        guard !inputs.isEmpty else { throw Problem("has no inputs") }
        for input in inputs {
            switch input.type {
            case .double, .int64, .multiArray: break
            default:
                throw Problem("input \"\(input.name)\" is of type \(input.type.name): expected numbers")
            }
        }
        self.inputs = inputs
    }

    /// - Parameter count: the expected number of numbers.
    func vector(_ table: FeatureTable, count: Int) throws(EvaluationError) -> [Double] {
        let vector = try vector(table)
        guard vector.count == count else { throw mistake("\(count) number\(count == 1 ? "" : "s")", vector.count) }
        return vector
    }

    /// - Parameter minimum: the minimum number of numbers.
    func vector(_ table: FeatureTable, minimum: Int) throws(EvaluationError) -> [Double] {
        let vector = try vector(table)
        guard vector.count >= minimum else { throw mistake("at least \(minimum) numbers", vector.count) }
        return vector
    }

    private func mistake(_ expected: String, _ found: Int) -> EvaluationError {
        EvaluationError("expected \(expected), found \(found)", feature: inputs.map(\.name).joined(separator: ", "))
    }

    private func vector(_ table: FeatureTable) throws(EvaluationError) -> [Double] {
        var vector: [Double] = []
        for input in inputs {
            switch table[input.name] {
            case .double(let number): vector.append(number)
            case .int64(let number): vector.append(Double(number))
            case .array(let array): vector += array.values
            // A missing value: trees handle NaN.
            case nil: vector.append(.nan)
            case let other?: throw EvaluationError("expected numbers, found \(other.kind)", feature: input.name)
            }
        }
        return vector
    }
}

/// Converts the scores of a classifier's classes to its outputs: the best label, and the probabilities by label.
struct ClassifierOutputs: Sendable {
    let labels: [Category]
    private let label: String?
    private let probabilities: String?

    init(labels: [Category], description: InterfaceSpecification) throws(Problem) {
        guard !labels.isEmpty else { throw Problem("has no class labels") }
        self.labels = labels
        label = description.predictedFeatureName.isEmpty ? nil : description.predictedFeatureName
        probabilities = description.predictedProbabilitiesName.isEmpty ? nil : description.predictedProbabilitiesName
        guard label != nil || probabilities != nil else {
            throw Problem("names neither a predicted feature nor predicted probabilities")
        }
    }

    /// - Parameters:
    ///   - scores: one score for each label.
    ///   - best: the index of the predicted label; nil for the greatest score (of equal scores, the first).
    func table(_ scores: [Double], best: Int? = nil) -> FeatureTable {
        var table: FeatureTable = [:]
        let best = best ?? scores.indices.max { scores[$0] < scores[$1] || (scores[$0] == scores[$1] && $0 > $1) } ?? 0
        if let label, best < labels.count { table[label] = labels[best].data }
        if let probabilities { table[probabilities] = .dictionary(CategoryNumbers(keys: labels, values: scores)) }
        return table
    }

    /// The labels of a classifier, from a StringVector or an Int64Vector.
    static func labels(_ message: Message, strings: Int = 100, integers: Int = 101) throws(Problem) -> [Category] {
        try located("class labels") { () throws(Problem) in
            if let list = try message.message(strings) { return try list.strings(1).map(Category.string) }
            return try message.message(integers)?.integers(1).map { .int64(Int64($0)) } ?? []
        }
    }
}

/// Throws if a value is infinite or NaN.
func requireFinite(_ values: [Double], _ what: String) throws(Problem) {
    if let index = values.firstIndex(where: { !$0.isFinite }) {
        throw Problem("\(what)[\(index)] is \(values[index]): expected a finite number")
    }
}

/// A model of the file, evaluated literally and slowly. Pure: equal rows give equal outputs, on any thread.
protocol RefereeModel: Sendable {
    /// The outputs by name. The row has the inputs as the model's description declares them.
    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow

    /// The sources of the numbers of the outputs; outputs that are missing have no source.
    func origins(_ known: OriginTable) -> OriginTable

    /// Inputs at which the model is likely to be computed wrongly.
    /// - Parameter limit: the most landmarks.
    func landmarks(limit: Int) -> [Landmark]

    /// The categories that the model knows as values or keys of its input.
    var categories: [Key] { get }

    /// True if the model defines the meaning of a missing number.
    var takesMissing: Bool { get }

    /// The model as the format may also be understood; nil if its text has one meaning.
    var otherReading: (any RefereeModel)? { get }
}

extension RefereeModel {
    func origins(_ known: OriginTable) -> OriginTable { [:] }
    func landmarks(limit: Int) -> [Landmark] { [] }
    var categories: [Key] { [] }
    var takesMissing: Bool { false }
    var otherReading: (any RefereeModel)? { nil }
}

/// Values of some of a model's inputs; the others are arbitrary.
struct Landmark: Sendable {
    /// Values by position: the numbers of all inputs in the order of the description.
    var values: [(position: Int, value: Double)] = []
    /// The position of the value that lies on an edge, on both sides of which the model is also tried; nil without an
    /// edge.
    var edge: Int?

    init(values: [(position: Int, value: Double)] = [], edge: Int? = nil) { (self.values, self.edge) = (values, edge) }

    /// All numbers of the inputs.
    init(_ vector: [Double]) { values = vector.enumerated().map { ($0.offset, $0.element) } }
}

/// A model with its interface: inputs and outputs pass through their declared types.
struct RefereeStep: Sendable {
    let interface: ModelInterface
    let model: any RefereeModel

    /// The most numbers of a row: a small file may have a thousand models with large outputs.
    private static let maximumNumbers = 1 << 21

    /// Adds the outputs to a row.
    func advance(_ row: inout RefereeRow) throws(RowProblem) {
        var known: RefereeRow = [:]
        for input in interface.inputs {
            guard let value = row[input.name] else { throw .unjudged("\"\(input.name)\" is omitted") }
            if case .unjudged(let reason) = value { throw .unjudged(reason) }
            known[input.name] = try input.holding(value)
        }
        let results = try model.outputs(known)
        for output in interface.outputs {
            guard let value = results[output.name] else { continue }
            row[output.name] = try output.holding(value)
        }
        guard row.values.reduce(0, { $0 + $1.numberCount }) <= Self.maximumNumbers else {
            throw .unjudged("the models of the file make too many numbers")
        }
    }
}

/// Reads the numbers of all inputs as one vector: in the description's order, arrays in row-major order.
struct VectorInputs: Sendable {
    let inputs: [RefereeFeature]

    init(_ inputs: [RefereeFeature]) throws(ImpossibleJudgment) {
        guard !inputs.isEmpty else { throw ImpossibleJudgment("a model of the file has no inputs") }
        for input in inputs {
            switch input.kind {
            case .double, .int64, .array: break
            default:
                throw ImpossibleJudgment("\"\(input.name)\" is of type \(input.kindName), but its model takes numbers")
            }
        }
        self.inputs = inputs
    }

    /// - Parameter count: the expected number of numbers; nil for any.
    func vector(_ row: RefereeRow, count: Int? = nil, takesMissing: Bool = false) throws(RowProblem) -> [Number] {
        var vector: [Number] = []
        for input in inputs {
            switch row[input.name] {
            case .number(let number): vector.append(number)
            case .integer(let number): vector.append(RefereeFeature.number(number))
            case .array(let numbers): vector += numbers
            default: throw .unjudged("\"\(input.name)\" is not a number")
            }
        }
        if let count, vector.count != count { throw .unjudged("\(vector.count) numbers instead of \(count)") }
        for number in vector where !number.isKnown && !(takesMissing && number.value.isNaN) {
            throw .unjudged("a number is missing or not finite")
        }
        return vector
    }
}

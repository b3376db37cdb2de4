/// The function applied to the sums of trees (TreeEnsemblePostEvaluationTransform).
private enum TreeFunction: Int64 {
    case none, softmax, logistic, softmaxWithZeroReference
}

/// The parts of tree models that both kinds have.
private struct TreeText {
    var table: TreeTable
    var function: TreeFunction
    var labels: [Key] = []

    init(_ message: WireMessage) throws(ImpossibleJudgment) {
        var table: TreeTable?
        var function = TreeFunction.none
        var labels: [Key] = []
        try message.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: table = try TreeTable(field.message())
            case 2:
                let number = try field.integer()
                guard let known = TreeFunction(rawValue: number) else {
                    throw ImpossibleJudgment("the file's trees have the unknown transform \(number)")
                }
                function = known
            case 100, 101: labels = try ClassTable.labels(field, areTexts: field.number == 100)
            default: break
            }
        }
        guard let table else { throw ImpossibleJudgment("the file has no trees") }
        (self.table, self.function, self.labels) = (table, function, labels)
    }
}

/// Trees that predict numbers (TreeEnsembleRegressor).
struct TreeRegression: RefereeModel {
    private let table: TreeTable
    private let function: TreeFunction
    private let inputs: VectorInputs
    private let output: String
    var takesMissing: Bool { true }

    init(_ message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        let text = try TreeText(message)
        (table, function) = (text.table, text.function)
        inputs = try VectorInputs(interface.inputs)
        output = try interface.regression.name
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        let sums = try table.sums(inputs.vector(row, takesMissing: true))
        let values =
            switch function {
            case .none: sums
            case .softmax: sums.softmax
            case .logistic: sums.map { $0.through(logistic) }
            case .softmaxWithZeroReference: ([Number(0)] + sums).softmax
            }
        return [output: .array(values)]
    }

    func landmarks(limit: Int) -> [Landmark] { table.landmarks(limit: limit) }
}

/// Trees that classify (TreeEnsembleClassifier).
struct TreeClassification: RefereeModel {
    private let table: TreeTable
    private let function: TreeFunction
    private let inputs: VectorInputs
    private let classes: ClassTable
    var takesMissing: Bool { true }

    init(_ message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        let text = try TreeText(message)
        (table, function) = (text.table, text.function)
        inputs = try VectorInputs(interface.inputs)
        classes = try ClassTable(text.labels, interface)
        let isBinary = table.dimensions == 1 && text.labels.count == 2
        let reference = function == .softmaxWithZeroReference ? 1 : 0
        guard isBinary || table.dimensions + reference == text.labels.count else {
            throw ImpossibleJudgment(
                "the file's trees have \(table.dimensions) dimensions for \(text.labels.count) classes")
        }
        // One number has no softmax of two classes.
        guard !isBinary || function != .softmax else {
            throw ImpossibleJudgment("the file's trees have a softmax of one number for two classes")
        }
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        let sums = try table.sums(inputs.vector(row, takesMissing: true))
        if sums.count == 1, classes.labels.count == 2 { return try outputs(ofSecondClass: sums[0]) }
        switch function {
        case .none:
            // coremltools writes forests of several classes as the sums of the trees' shares.
            guard sums.allSatisfy({ $0.value >= 0 }), let shares = sums.shares else {
                return try classes.outputs(sums, unjudged: "the scores of the trees are no shares")
            }
            return try classes.outputs(shares)
        case .softmax: return try classes.outputs(sums.softmax)
        case .logistic: return try classes.outputs(sums, unjudged: "the file does not say how they add up to 1")
        case .softmaxWithZeroReference: return try classes.outputs(([Number(0)] + sums).softmax)
        }
    }

    /// A single number is that of the second class: its probability, or with a transform its logit.
    private func outputs(ofSecondClass sum: Number) throws(RowProblem) -> RefereeRow {
        guard function != .none else { return try classes.outputs([Number(1) + Number(-1) * sum, sum]) }
        return try classes.outputs([(Number(-1) * sum).through(logistic), sum.through(logistic)])
    }

    func landmarks(limit: Int) -> [Landmark] { table.landmarks(limit: limit) }
}

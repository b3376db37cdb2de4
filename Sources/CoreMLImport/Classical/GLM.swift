/// A matrix of weights with one offset for each row (GLMRegressor.proto, GLMClassifier.proto: `weights`, `offset`).
struct LinearRows: Sendable {
    /// Row-major.
    private let weights: [Double]
    private let offsets: [Double]
    let columns: Int
    var rows: Int { offsets.count }

    init(_ message: Message) throws(Problem) {
        var weights: [Double] = []
        var columns: Int?
        let offsets = try message.doubles(2)
        var rows = 0
        for row in try message.messages(1) {
            let values = try row.doubles(1)
            if let columns, columns != values.count {
                throw Problem("weights[\(rows)] has \(values.count) numbers, weights[0] has \(columns)")
            }
            try requireFinite(values, "weights[\(rows)]")
            columns = values.count
            weights += values
            rows += 1
        }
        guard let columns, columns > 0 else { throw Problem("has no weights") }
        guard offsets.count == rows || offsets.isEmpty else {
            throw Problem("has \(rows) rows of weights and \(offsets.count) offsets")
        }
        try requireFinite(offsets, "offset")
        self.weights = weights
        self.columns = columns
        self.offsets = offsets.isEmpty ? [Double](repeating: 0, count: rows) : offsets
    }

    /// - Parameter vector: one number for each column.
    func callAsFunction(_ vector: [Double]) -> [Double] {
        offsets.indices.map { row in
            var sum = 0.0
            for column in 0..<columns { sum += weights[row * columns + column] * vector[column] }
            return sum + offsets[row]
        }
    }
}

/// A generalized linear model that predicts numbers (GLMRegressor.proto).
struct GLMRegressor: ClassicalModel {
    private let rows: LinearRows
    private let transform: Transform
    private let inputs: NumberInputs
    private let output: FeatureSpecification
    var inputCount: Int? { rows.columns }

    private enum Transform: Int { case none, logit, probit }

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        rows = try LinearRows(message)
        let number = try message.integer(3)
        guard let transform = Transform(rawValue: number) else {
            throw Problem("has the unknown post-evaluation transform \(number)")
        }
        self.transform = transform
        inputs = try NumberInputs(description.inputs)
        output = try description.regressorOutput()
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        let sums = rows(try inputs.vector(table, count: rows.columns))
        let values =
            switch transform {
            case .none: sums
            case .logit: sums.map(Transforms.logistic)
            case .probit: sums.map(Transforms.probit)
            }
        return [output.name: .array(NumberArray(values))]
    }
}

/// A generalized linear model that classifies (GLMClassifier.proto).
struct GLMClassifier: ClassicalModel {
    private let rows: LinearRows
    private let link: Link
    private let encoding: Encoding
    private let inputs: NumberInputs
    private let outputs: ClassifierOutputs
    var inputCount: Int? { rows.columns }
    var labels: [Category]? { outputs.labels }

    private enum Link: Int { case logit, probit }
    private enum Encoding: Int { case referenceClass, oneVersusRest }

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        rows = try LinearRows(message)
        let link = try message.integer(3), encoding = try message.integer(4)
        guard let link = Link(rawValue: link) else {
            throw Problem("has the unknown post-evaluation transform \(link)")
        }
        guard let encoding = Encoding(rawValue: encoding) else {
            throw Problem("has the unknown class encoding \(encoding)")
        }
        self.link = link
        self.encoding = encoding
        inputs = try NumberInputs(description.inputs)
        outputs = try ClassifierOutputs(labels: ClassifierOutputs.labels(message), description: description)
        let classes = outputs.labels.count
        let isBinary = rows.rows == 1 && classes == 2
        guard isBinary || rows.rows == (encoding == .referenceClass ? classes - 1 : classes) else {
            throw Problem(
                "has \(rows.rows) rows of weights and \(classes) classes, which do not match for "
                    + (encoding == .referenceClass ? "a reference class" : "one versus rest"))
        }
        if link == .probit, encoding == .referenceClass, !isBinary {
            throw Problem("has the probit transform and \(classes) classes: expected two with a reference class")
        }
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        let sums = rows(try inputs.vector(table, count: rows.columns))
        if sums.count == 1, outputs.labels.count == 2 {
            // Computed by symmetry, not as 1 - p, which loses digits near 1.
            return outputs.table([probability(-sums[0]), probability(sums[0])])
        }
        switch encoding {
        case .referenceClass: return outputs.table(Transforms.softmax([0] + sums))
        case .oneVersusRest: return outputs.table(Transforms.shares(sums.map(probability)))
        }
    }

    private func probability(_ sum: Double) -> Double {
        link == .logit ? Transforms.logistic(sum) : Transforms.probit(sum)
    }
}

/// A matrix of weights with one offset for each row (GLMRegressor.proto, GLMClassifier.proto).
struct LinearTable: Sendable {
    private(set) var rows: [[Double]] = []
    private(set) var offsets: [Double] = []
    /// The function (field 3); for classifiers, the encoding of the classes (field 4) and their labels.
    private(set) var function: Int64 = 0, encoding: Int64 = 0
    private(set) var labels: [Key] = []

    init(_ message: WireMessage) throws(ImpossibleJudgment) {
        var (rows, offsets, function, encoding, labels): ([[Double]], [Double], Int64, Int64, [Key]) = (
            [], [], 0, 0, []
        )
        try message.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1:
                try field.text.keep(1)
                var row: [Double] = []
                try field.message().fields { (field) throws(ImpossibleJudgment) in
                    if field.number == 1 { try field.append(to: &row) }
                }
                rows.append(row)
            case 2: try field.append(to: &offsets)
            case 3: function = try field.integer()
            case 4: encoding = try field.integer()
            case 100, 101: labels = try ClassTable.labels(field, areTexts: field.number == 100)
            default: break
            }
        }
        guard let first = rows.first, !first.isEmpty, rows.allSatisfy({ $0.count == first.count }) else {
            throw ImpossibleJudgment("the file has no matrix of weights")
        }
        guard offsets.isEmpty || offsets.count == rows.count else {
            throw ImpossibleJudgment("the file has \(rows.count) rows of weights and \(offsets.count) offsets")
        }
        self.rows = rows
        self.offsets = offsets.isEmpty ? [Double](repeating: 0, count: rows.count) : offsets
        (self.function, self.encoding, self.labels) = (function, encoding, labels)
    }

    var columns: Int { rows.first?.count ?? 0 }

    func sums(_ vector: [Number]) -> [Number] {
        zip(rows, offsets).map { row, offset in
            var sum = Total()
            for (weight, number) in zip(row, vector) { sum.add(Number(weight) * number) }
            sum.add(offset)
            return sum.number
        }
    }

    /// The numbers nearest to zero for which a row's sum is 0 or another small number: a function of it is steep there.
    func landmarks(limit: Int) -> [Landmark] {
        let sums: [Double] = [0, 1, -1, 0.25, -2]
        return zip(rows, offsets).prefix(limit / sums.count).flatMap { row, offset -> [Landmark] in
            let square = row.reduce(0) { $0 + $1 * $1 }
            guard square > 0, square.isFinite else { return [] }
            return sums.map { sum in
                Landmark(values: row.enumerated().map { ($0.offset, $0.element * (sum - offset) / square) })
            }
        }
    }
}

/// A generalized linear model that predicts numbers (GLMRegressor.proto).
struct LinearRegression: RefereeModel {
    private let table: LinearTable
    private let inputs: VectorInputs
    private let output: String

    init(_ message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        table = try LinearTable(message)
        guard (0...2).contains(table.function) else {
            throw ImpossibleJudgment("the file's linear model has the unknown transform \(table.function)")
        }
        inputs = try VectorInputs(interface.inputs)
        output = try interface.regression.name
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        let sums = table.sums(try inputs.vector(row, count: table.columns))
        let values =
            switch table.function {
            case 1: sums.map { $0.through(logistic) }
            case 2: sums.map { $0.through(normalDistribution) }
            default: sums
            }
        return [output: .array(values)]
    }

    func landmarks(limit: Int) -> [Landmark] { table.landmarks(limit: limit) }
}

/// A generalized linear model that classifies (GLMClassifier.proto).
struct LinearClassification: RefereeModel {
    private let table: LinearTable
    private let inputs: VectorInputs
    private let classes: ClassTable
    private let isBinary: Bool

    init(_ message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        table = try LinearTable(message)
        inputs = try VectorInputs(interface.inputs)
        classes = try ClassTable(table.labels, interface)
        let (rows, count) = (table.rows.count, table.labels.count)
        isBinary = rows == 1 && count == 2
        guard (0...1).contains(table.function), (0...1).contains(table.encoding) else {
            throw ImpossibleJudgment("the file's linear model has an unknown transform or encoding")
        }
        guard isBinary || rows == count - (table.encoding == 0 ? 1 : 0) else {
            throw ImpossibleJudgment("the file's linear model has \(rows) rows for \(count) classes")
        }
        guard isBinary || table.function == 0 else {
            throw ImpossibleJudgment("the format has no probit of more than two classes")
        }
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        let sums = table.sums(try inputs.vector(row, count: table.columns))
        if isBinary {
            let function = table.function == 0 ? logistic : normalDistribution
            return try classes.outputs([(Number(-1) * sums[0]).through(function), sums[0].through(function)])
        }
        if table.encoding == 0 { return try classes.outputs(([Number(0)] + sums).softmax) }
        guard let shares = sums.map({ $0.through(logistic) }).shares else {
            throw .unjudged("all probabilities are zero")
        }
        return try classes.outputs(shares)
    }

    func landmarks(limit: Int) -> [Landmark] { table.landmarks(limit: limit) }
}

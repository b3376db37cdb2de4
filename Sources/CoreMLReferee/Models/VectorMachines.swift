/// A support vector machine that predicts a number (SVM.proto: SupportVectorRegressor).
struct VectorRegression: RefereeModel {
    private let kernel: VectorKernel
    private let list: VectorList
    private let weights: [Double]
    private let rho: Double
    private let inputs: VectorInputs
    private let output: String

    init(_ message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        (kernel, list) = try VectorMachine.vectors(message, sparse: 2, dense: 3)
        var weights: [Double] = []
        try message.last(4)?.message().fields { (field) throws(ImpossibleJudgment) in
            if field.number == 1 { try field.append(to: &weights) }
        }
        guard weights.count == list.vectors.count else {
            throw ImpossibleJudgment("the file has \(list.vectors.count) support vectors and \(weights.count) weights")
        }
        self.weights = weights
        rho = try message.last(5)?.double() ?? 0
        inputs = try VectorInputs(interface.inputs)
        output = try interface.regression.name
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        let vector = try inputs.vector(row, count: list.width)
        var sum = Total()
        for (weight, support) in zip(weights, list.vectors) { sum.add(Number(weight) * kernel.value(vector, support)) }
        sum.add(-rho)
        return [output: .number(sum.number)]
    }

    func landmarks(limit: Int) -> [Landmark] { list.landmarks(limit: limit) }
}

enum VectorMachine {
    /// The kernel (field 1) and the support vectors of a machine, which has one of two fields for them.
    static func vectors(
        _ message: WireMessage, sparse: Int, dense: Int
    ) throws(ImpossibleJudgment) -> (VectorKernel, VectorList) {
        var kernel: VectorKernel?
        var list: VectorList?
        try message.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: kernel = try VectorKernel(field.message())
            case sparse: list = try VectorList(sparse: field.message())
            case dense: list = try VectorList(dense: field.message())
            default: break
            }
        }
        guard let kernel, let list else { throw ImpossibleJudgment("the file has no support vectors with a kernel") }
        return (kernel, list)
    }
}

/// A support vector machine that classifies (SVM.proto: SupportVectorClassifier), as libsvm does: each pair of classes
/// has a decision of its own.
struct VectorClassification: RefereeModel {
    private let kernel: VectorKernel
    private let list: VectorList
    /// The class of each support vector.
    private let owners: [Int]
    private let weights: [[Double]]
    private let rho: [Double], slopes: [Double], offsets: [Double]
    private let inputs: VectorInputs
    private let classes: ClassTable
    private var count: Int { classes.labels.count }

    /// The most classes: the coupling of their probabilities takes the cube of them.
    private static let maximumClasses = 64

    init(_ message: WireMessage, _ interface: ModelInterface) throws(ImpossibleJudgment) {
        (kernel, list) = try VectorMachine.vectors(message, sparse: 3, dense: 4)
        var (counts, weights, labels): ([Int64], [[Double]], [Key]) = ([], [], [])
        var (rho, slopes, offsets): ([Double], [Double], [Double]) = ([], [], [])
        try message.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 2: try field.append(to: &counts)
            case 5:
                try field.text.keep(1)
                var row: [Double] = []
                try field.message().fields { (field) throws(ImpossibleJudgment) in
                    if field.number == 1 { try field.append(to: &row) }
                }
                weights.append(row)
            case 6: try field.append(to: &rho)
            case 7: try field.append(to: &slopes)
            case 8: try field.append(to: &offsets)
            case 100, 101: labels = try ClassTable.labels(field, areTexts: field.number == 100)
            default: break
            }
        }
        let total = list.vectors.count
        guard (2...Self.maximumClasses).contains(labels.count) else {
            throw ImpossibleJudgment("the file has support vectors for \(labels.count) classes")
        }
        let pairs = labels.count * (labels.count - 1) / 2
        guard counts.count == labels.count, counts.allSatisfy({ (0...Int64(total)).contains($0) }),
            counts.reduce(0, +) == Int64(total), weights.count == labels.count - 1,
            weights.allSatisfy({ $0.count == total }), rho.count == pairs,
            slopes.count == offsets.count, slopes.isEmpty || slopes.count == pairs
        else { throw ImpossibleJudgment("the numbers of the file's support vectors do not match its classes") }
        owners = counts.enumerated().flatMap { [Int](repeating: $0.offset, count: Int($0.element)) }
        (self.weights, self.rho, self.slopes, self.offsets) = (weights, rho, slopes, offsets)
        inputs = try VectorInputs(interface.inputs)
        classes = try ClassTable(labels, interface)
    }

    func outputs(_ row: RefereeRow) throws(RowProblem) -> RefereeRow {
        let vector = try inputs.vector(row, count: list.width)
        let kernels = list.vectors.map { kernel.value(vector, $0) }
        var decisions: [[Number]] = []
        var pair = 0
        for first in 0..<count {
            var row = [Number](repeating: Number(0), count: count)
            for second in (first + 1)..<max(count, first + 1) {
                row[second] = decision(first, second, kernels) + Number(-rho[pair])
                pair += 1
            }
            decisions.append(row)
        }
        return slopes.isEmpty ? try votes(decisions) : try probabilities(decisions)
    }

    /// The weight of a vector against another class is in the row of that class; the rows leave out the vector's own
    /// class.
    private func decision(_ first: Int, _ second: Int, _ kernels: [Number]) -> Number {
        var sum = Total()
        for (index, owner) in owners.enumerated() where owner == first || owner == second {
            let other = owner == first ? second : first
            sum.add(Number(weights[other < owner ? other : other - 1][index]) * kernels[index])
        }
        return sum.number
    }

    /// Each pair of classes has a vote; without probabilities the file names only the class with the most.
    private func votes(_ decisions: [[Number]]) throws(RowProblem) -> RefereeRow {
        var votes = [Double](repeating: 0, count: count)
        for first in 0..<count {
            for second in (first + 1)..<max(count, first + 1) {
                let decision = decisions[first][second]
                guard decision.isKnown, abs(decision.value) > decision.slack || decision.slack == 0 else {
                    throw .unjudged("a support vector machine does not decide between two classes")
                }
                votes[decision.value > 0 ? first : second] += 1
            }
        }
        return try classes.outputs(votes.map { Number($0) }, unjudged: "the file has no probabilities")
    }

    /// Platt's probabilities of each pair, coupled.
    private func probabilities(_ decisions: [[Number]]) throws(RowProblem) -> RefereeRow {
        var pairs = [[Number]](repeating: [Number](repeating: Number(0), count: count), count: count)
        var pair = 0
        for first in 0..<count {
            for second in (first + 1)..<max(count, first + 1) {
                let logit = decisions[first][second] * Number(slopes[pair]) + Number(offsets[pair])
                let share = (Number(-1) * logit).through(logistic).through { min(max($0, 1e-7), 1 - 1e-7) }
                guard share.isKnown else { throw .unjudged("a probability is not finite") }
                (pairs[first][second], pairs[second][first]) = (share, Number(1) + Number(-1) * share)
                pair += 1
            }
        }
        return try classes.outputs(PairCoupling.probabilities(pairs))
    }

    func landmarks(limit: Int) -> [Landmark] { list.landmarks(limit: limit) }
}

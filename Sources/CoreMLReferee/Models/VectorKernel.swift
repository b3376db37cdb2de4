/// The function of two vectors (SVM.proto: Kernel).
enum VectorKernel: Sendable {
    case linear
    case radial(gamma: Double)
    case polynomial(degree: Int, c: Double, gamma: Double)
    case sigmoid(gamma: Double, c: Double)

    /// The greatest degree: powers are products of as many factors.
    private static let maximumDegree: Int64 = 64

    init(_ message: WireMessage) throws(ImpossibleJudgment) {
        var kernel: VectorKernel?
        try message.fields { (field) throws(ImpossibleJudgment) in
            switch field.number {
            case 1: kernel = .linear
            case 2: kernel = .radial(gamma: try field.message().last(1)?.double() ?? 0)
            case 3:
                let message = try field.message(), degree = try message.last(1)?.integer() ?? 0
                guard (0...Self.maximumDegree).contains(degree) else {
                    throw ImpossibleJudgment("the file has a polynomial kernel of degree \(degree)")
                }
                kernel = .polynomial(
                    degree: Int(degree), c: try message.last(2)?.double() ?? 0,
                    gamma: try message.last(3)?.double() ?? 0)
            case 4:
                let message = try field.message()
                kernel = .sigmoid(
                    gamma: try message.last(1)?.double() ?? 0, c: try message.last(2)?.double() ?? 0)
            default: break
            }
        }
        guard let kernel else { throw ImpossibleJudgment("the file's support vectors have no kernel") }
        self = kernel
    }

    /// The kernel of an input and a support vector, which is zero after its last number.
    func value(_ input: [Number], _ vector: [Double]) -> Number {
        switch self {
        case .linear: Self.product(input, vector)
        case .radial(let gamma):
            (Number(-gamma) * Self.squaredDistance(input, vector)).through(exponential)
        case .polynomial(let degree, let c, let gamma):
            (Number(gamma) * Self.product(input, vector) + Number(c)).through { base in
                (0..<degree).reduce(1) { power, _ in power * base }
            }
        case .sigmoid(let gamma, let c):
            (Number(gamma) * Self.product(input, vector) + Number(c)).through(hyperbolicTangent)
        }
    }

    private static func product(_ input: [Number], _ vector: [Double]) -> Number {
        var sum = Total()
        for (number, weight) in zip(input, vector) { sum.add(number * Number(weight)) }
        return sum.number
    }

    /// The square of Euclid's distance.
    static func squaredDistance(_ input: [Number], _ vector: [Double]) -> Number {
        var sum = Total()
        for (position, number) in input.enumerated() {
            let difference = number + Number(position < vector.count ? -vector[position] : 0)
            sum.add(difference * difference)
        }
        return sum.number
    }
}

/// Vectors of the file, with zeros in place of the numbers that sparse ones leave out.
struct VectorList: Sendable {
    private(set) var vectors: [[Double]] = []
    /// The number of numbers of each if they are dense; nil if they are sparse.
    private(set) var width: Int?
    /// The most numbers, with these zeros.
    private static let maximum = 4_000_000

    init(dense message: WireMessage) throws(ImpossibleJudgment) {
        var vectors: [[Double]] = []
        try message.fields { (field) throws(ImpossibleJudgment) in
            guard field.number == 1 else { return }
            try field.text.keep(1)
            var vector: [Double] = []
            try field.message().fields { (field) throws(ImpossibleJudgment) in
                if field.number == 1 { try field.append(to: &vector) }
            }
            vectors.append(vector)
        }
        width = vectors.first?.count
        guard vectors.allSatisfy({ $0.count == width }) else {
            throw ImpossibleJudgment("the file's support vectors have different lengths")
        }
        self.vectors = vectors
    }

    init(sparse message: WireMessage) throws(ImpossibleJudgment) {
        var vectors: [[Double]] = []
        var total = 0
        try message.fields { (field) throws(ImpossibleJudgment) in
            guard field.number == 1 else { return }
            try field.text.keep(1)
            let vector = try Self.sparse(field.message())
            total += vector.count
            guard total <= Self.maximum else {
                throw ImpossibleJudgment("the file's sparse support vectors are too large for the slow evaluation")
            }
            vectors.append(vector)
        }
        self.vectors = vectors
    }

    private static func sparse(_ message: WireMessage) throws(ImpossibleJudgment) -> [Double] {
        var vector: [Double] = []
        try message.fields { (field) throws(ImpossibleJudgment) in
            guard field.number == 1 else { return }
            try field.text.keep(2)
            let node = try field.message(), index = try node.last(1)?.integer() ?? 0
            // Indices begin with 1, as in libsvm.
            guard index > vector.count, index <= Int64(maximum) else {
                throw ImpossibleJudgment("the file has a sparse support vector with the index \(index)")
            }
            vector += [Double](repeating: 0, count: Int(index) - vector.count)
            vector[Int(index) - 1] = try node.last(2)?.double() ?? 0
        }
        return vector
    }

    /// The vectors themselves and the middle between one and the next, spread evenly over the list.
    func landmarks(limit: Int) -> [Landmark] {
        let count = min((limit + 1) / 2, vectors.count)
        let chosen = (0..<count).map { vectors[$0 * vectors.count / count] }
        let middles = zip(chosen, chosen.dropFirst()).map { one, next in
            zip(one, next).map { ($0 + $1) / 2 }
        }
        return (chosen + middles).map(Landmark.init)
    }
}

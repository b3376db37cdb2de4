/// A support vector machine that decides between each pair of classes (SVM.proto: `SupportVectorClassifier`; libsvm's
/// layout).
struct SupportVectorClassifier: ClassicalModel {
    /// The index of the first support vector of each class, then their number.
    private let starts: [Int]
    /// `classes - 1` rows with one number for each support vector.
    private let coefficients: [[Double]]
    /// One number for each pair of classes: (0,1), (0,2), ... (1,2), ...
    private let rho: [Double], probabilityA: [Double], probabilityB: [Double]
    private let inputs: SupportVectorInputs
    private let outputs: ClassifierOutputs
    private var classes: Int { starts.count - 1 }
    var labels: [Category]? { outputs.labels }

    /// The maximum number of classes: the number of pairs grows with its square.
    private static let maximumClasses = 2_048

    init(_ message: Message, _ description: InterfaceSpecification) throws(Problem) {
        let vectors = try SupportVectors(message, sparse: 3, dense: 4)
        inputs = try SupportVectorInputs(description, vectors: vectors)
        outputs = try ClassifierOutputs(labels: ClassifierOutputs.labels(message), description: description)
        let classes = outputs.labels.count
        guard (2...Self.maximumClasses).contains(classes) else {
            throw Problem("has \(classes) classes: expected 2 to \(Self.maximumClasses)")
        }
        let counts = try message.integers(2)
        guard counts.count == classes else {
            throw Problem("has \(classes) classes and \(counts.count) numbers of support vectors")
        }
        var starts = [0]
        for count in counts {
            let start = starts[starts.count - 1]
            guard count >= 0, count <= vectors.count - start else {
                throw Problem("numberOfSupportVectorsPerClass \(counts) do not add up to \(vectors.count) vectors")
            }
            starts.append(start + count)
        }
        guard starts.last == vectors.count else {
            throw Problem("numberOfSupportVectorsPerClass \(counts) do not add up to \(vectors.count) vectors")
        }
        self.starts = starts
        var coefficients: [[Double]] = []
        for row in try message.messages(5) { coefficients.append(try row.doubles(1)) }
        guard coefficients.count == classes - 1, coefficients.allSatisfy({ $0.count == vectors.count }) else {
            throw Problem(
                "has \(coefficients.count) rows of coefficients: expected \(classes - 1) of \(vectors.count) numbers each"
            )
        }
        self.coefficients = coefficients
        rho = try message.doubles(6)
        probabilityA = try message.doubles(7)
        probabilityB = try message.doubles(8)
        let pairs = classes * (classes - 1) / 2
        for (what, list) in [("rho", rho), ("probA", probabilityA), ("probB", probabilityB)] {
            guard list.count == pairs || what != "rho" && list.isEmpty else {
                throw Problem("\(what) has \(list.count) numbers: expected \(pairs), one for each pair of classes")
            }
            try requireFinite(list, what)
        }
        guard probabilityA.count == probabilityB.count else { throw Problem("has only one of probA and probB") }
        for (index, row) in coefficients.enumerated() { try requireFinite(row, "coefficients[\(index)]") }
    }

    func evaluate(_ table: FeatureTable) throws(EvaluationError) -> FeatureTable {
        let decisions = decisions(try inputs.kernels(table))
        if probabilityA.isEmpty { return vote(decisions) }
        var pairwise = [[Double]](repeating: [Double](repeating: 0, count: classes), count: classes)
        var pair = 0
        for first in 0..<classes {
            for second in first + 1..<classes {
                let logit = -(decisions[pair] * probabilityA[pair] + probabilityB[pair])
                let share = min(max(Transforms.logistic(logit), 1e-7), 1 - 1e-7)
                pairwise[first][second] = share
                pairwise[second][first] = 1 - share
                pair += 1
            }
        }
        return outputs.table(PairwiseCoupling.probabilities(pairwise))
    }

    /// One decision for each pair of classes; a positive one selects the first class.
    private func decisions(_ kernels: [Double]) -> [Double] {
        var decisions: [Double] = []
        decisions.reserveCapacity(rho.count)
        for first in 0..<classes {
            for second in first + 1..<classes {
                var sum = 0.0
                // The weight of a vector of one class against another class is in the row of that other class.
                for index in starts[first]..<starts[first + 1] {
                    sum += coefficients[second - 1][index] * kernels[index]
                }
                for index in starts[second]..<starts[second + 1] { sum += coefficients[first][index] * kernels[index] }
                decisions.append(sum - rho[decisions.count])
            }
        }
        return decisions
    }

    /// The class that won most pairs (of equals, the first). Its share of all pairs stands in for a probability, which
    /// the file does not have.
    private func vote(_ decisions: [Double]) -> FeatureTable {
        var votes = [Double](repeating: 0, count: classes)
        var pair = 0
        for first in 0..<classes {
            for second in first + 1..<classes {
                votes[decisions[pair] > 0 ? first : second] += 1
                pair += 1
            }
        }
        return outputs.table(Transforms.shares(votes))
    }
}

/// Computes class probabilities from pairwise ones (Wu, Lin and Weng, "Probability Estimates for Multi-class
/// Classification by Pairwise Coupling", 2004: the second method).
enum PairwiseCoupling {
    /// - Parameter pairwise: `[i][j]` is the probability of class i given that it is i or j.
    static func probabilities(_ pairwise: [[Double]]) -> [Double] {
        let count = pairwise.count
        var matrix = [[Double]](repeating: [Double](repeating: 0, count: count), count: count)
        for row in 0..<count {
            for column in 0..<count where column != row {
                matrix[row][row] += pairwise[column][row] * pairwise[column][row]
                matrix[row][column] = -pairwise[column][row] * pairwise[row][column]
            }
        }
        var shares = [Double](repeating: 1 / Double(count), count: count)
        var products = [Double](repeating: 0, count: count)
        let tolerance = 0.005 / Double(count)
        for _ in 0..<max(100, count) {
            // Recompute products and sum in each round: the updates below accumulate rounding errors.
            var total = 0.0
            for row in 0..<count {
                products[row] = zip(matrix[row], shares).reduce(0) { $0 + $1.0 * $1.1 }
                total += shares[row] * products[row]
            }
            if !products.contains(where: { abs($0 - total) >= tolerance }) { break }
            for row in 0..<count where matrix[row][row] != 0 {
                let change = (total - products[row]) / matrix[row][row]
                shares[row] += change
                total = (total + change * (change * matrix[row][row] + 2 * products[row])) / (1 + change) / (1 + change)
                for column in 0..<count {
                    products[column] = (products[column] + change * matrix[row][column]) / (1 + change)
                    shares[column] /= 1 + change
                }
            }
        }
        return shares
    }
}

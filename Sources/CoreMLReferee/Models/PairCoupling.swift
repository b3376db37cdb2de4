/// The probabilities of several classes from those of each pair: Wu, Lin and Weng, "Probability Estimates for
/// Multi-class Classification by Pairwise Coupling" (2004), algorithm 2 with the stopping rule of libsvm.
///
/// libsvm stops at a rough solution, which differs from the exact one in the third decimal place. The file's numbers
/// are meant for that solution, so the referee follows its steps, but computes each from nothing but the probabilities.
enum PairCoupling {
    /// - Parameter pairs: `[i][j]` is the probability of class i given that the class is i or j.
    static func probabilities(_ pairs: [[Number]]) throws(RowProblem) -> [Number] {
        let count = pairs.count
        let doubt = pairs.joined().map(\.slack).max() ?? 0
        let matrix = (0..<count).map { row in
            (0..<count).map { column -> Double in
                guard row == column else { return -pairs[column][row].value * pairs[row][column].value }
                return (0..<count).filter { $0 != row }.reduce(0) {
                    $0 + pairs[$1][row].value * pairs[$1][row].value
                }
            }
        }
        func product(_ row: Int, _ shares: [Double]) -> Double {
            zip(matrix[row], shares).reduce(0) { $0 + $1.0 * $1.1 }
        }
        func energy(_ shares: [Double]) -> Double {
            shares.indices.reduce(0) { $0 + shares[$1] * product($1, shares) }
        }
        var shares = [Double](repeating: 1 / Double(count), count: count)
        let tolerance = 0.005 / Double(count), closeness = 1e-9 + 8 * doubt
        for _ in 0..<max(100, count) {
            let total = energy(shares)
            let error = shares.indices.map { abs(product($0, shares) - total) }.max() ?? 0
            guard abs(error - tolerance) > closeness else {
                throw .unjudged("rounding decides when the coupling of probabilities ends")
            }
            if error < tolerance { break }
            for row in shares.indices where matrix[row][row] != 0 {
                shares[row] += (energy(shares) - product(row, shares)) / matrix[row][row]
                let sum = shares.reduce(0, +)
                shares = shares.map { $0 / sum }
            }
        }
        // Later versions of libsvm take two classes' probabilities as they are.
        let direct = count == 2 ? abs(pairs[0][1].value - shares[0]) : 0
        return shares.map { Number($0, slack: 1e-9 + 64 * doubt + direct) }
    }
}

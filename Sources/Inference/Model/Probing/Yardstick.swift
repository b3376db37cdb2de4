/// Measures how much correct kernels differ in one output: the referee's usual kernels, its other ones, and its usual
/// ones on an input that has changed by about as much as rounding changes intermediate values.
struct Yardstick {
    private let rule: AgreementRule
    private let type: ElementType
    /// The differences of the first engine from the nearest answer of the referee, on the inputs in question.
    private var first = Sum()
    /// The differences of other answers of the referee from its usual ones, by the number of the other answers: on the
    /// inputs in question, and on all.
    private var others: [Sum], othersOnAll: [Sum]
    private let runs: [OtherRun]
    /// The usual answers.
    private var signal = Sum()
    private var extent = 0.0
    private var grid = ValueGrid()
    private var isRefuted = false

    /// - Parameter runs: the other answers of the referee.
    init(_ rule: AgreementRule, _ type: ElementType, _ runs: [OtherRun]) {
        self.rule = rule
        self.type = type
        self.runs = runs
        others = runs.map { _ in Sum() }
        othersOnAll = others
    }

    /// Adds the answers to one input.
    /// - Parameters:
    ///   - found: that of the first engine; nil if it agrees.
    ///   - others: other answers of the referee; nil where one is missing.
    mutating func add(
        _ found: EngineAnswer?, _ expected: EngineAnswer, others: [EngineAnswer?], _ pattern: ProbePattern
    ) {
        let b = expected.values, pattern = rule.effective(pattern, type)
        let known = others.map { other -> [Double]? in
            guard let other, other.shape == expected.shape, !rule.compare(other, expected, pattern).isReordered else {
                return nil
            }
            return other.values
        }
        if pattern.isGradual {
            signal.add(b)
            extent = max(extent, AgreementRule.extent(of: b))
            if rule.traits.computesInIntegers { grid.add(b) }
            for (index, values) in known.enumerated() {
                guard let values else { continue }
                othersOnAll[index].add(values, b)
                if found != nil { self.others[index].add(values, b) }
            }
        }
        guard let found else { return }
        let a = found.values
        let allowed = rule.allowed(type, extent: AgreementRule.extent(of: b))
        let answers = [b] + known.compactMap { $0 }
        for place in a.indices {
            var nearest = Double.infinity
            for answer in answers {
                let (x, y) = (a[place], answer[place])
                if AgreementRule.areEqual(x, y, 0, pattern) {
                    nearest = 0
                    break
                }
                // A distance of NaN is not less.
                if abs(x - y) < nearest { nearest = abs(x - y) }
            }
            // A number in the place of NaN, or the reverse, is no matter of degree.
            if !nearest.isFinite || (!pattern.isGradual && nearest > allowed) { isRefuted = true }
            first.add(nearest)
        }
    }

    /// True if correct kernels differ as much.
    var explains: Bool {
        guard !isRefuted else { return false }
        func most(_ factor: (OtherRun) -> Double, _ size: (Sum) -> Double) -> Double {
            zip(runs, zip(others, othersOnAll)).map { factor($0) * max(size($1.0), size($1.1)) }.max() ?? 0
        }
        if AgreementRule.isIndex(type) {
            let exceptions = first.count / AgreementRule.indicesPerException
            return Double(first.different) <= most(\.factor) { Double($0.different) } + Double(exceptions)
        }
        // An output of integers, or of numbers that stand for them, has whole steps.
        let step = 2 * (type.isFloatingPoint ? grid.step : rule.traits.computesInIntegers ? 1 : 0)
        let mean = rule.rounding(type) * signal.rootMeanSquare
        return first.rootMeanSquare <= most(\.factor, \.rootMeanSquare) + max(mean, step)
            && first.largest <= most(\.largestFactor, \.largest) + max(rule.allowed(type, extent: extent), step)
    }

    /// A sum of squares.
    private struct Sum {
        private(set) var count = 0, different = 0, largest = 0.0
        private var squares = 0.0

        var rootMeanSquare: Double { count > 0 ? (squares / Double(count)).squareRoot() : 0 }

        mutating func add(_ value: Double) {
            guard value.isFinite else { return }
            count += 1
            if value != 0 { different += 1 }
            largest = max(largest, abs(value))
            squares += value * value
        }

        mutating func add(_ values: [Double]) { for value in values { add(value) } }
        mutating func add(_ a: [Double], _ b: [Double]) { for (x, y) in zip(a, b) { add(x == y ? 0 : x - y) } }
    }
}

/// Finds the distance of the values of an output that are integers times a scale, as after DequantizeLinear.
private struct ValueGrid {
    private var values: Set<Double> = []
    private var isFull = false
    private static let maximum = 256
    /// Fewer values, or values within fewer steps, are on a grid by chance, or are truths.
    private static let minimum = 12

    mutating func add(_ more: [Double]) {
        for value in more where !isFull && value.isFinite {
            values.insert(value)
            isFull = values.count > Self.maximum
        }
    }

    /// The distance; 0 if the values are on no grid of 8 bits.
    var step: Double {
        guard !isFull, values.count >= Self.minimum else { return 0 }
        let sorted = values.sorted(), gaps = zip(sorted, sorted.dropFirst()).map { $1 - $0 }
        guard let least = gaps.min(), least > 0 else { return 0 }
        let steps = gaps.map { $0 / least }
        guard steps.reduce(0, +) <= Double(Self.maximum) else { return 0 }
        return steps.allSatisfy { abs($0 - $0.rounded()) <= 0.01 } ? least : 0
    }
}

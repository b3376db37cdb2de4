/// Wilson's interval of a proportion, at 95 %.
package enum WilsonInterval {
    /// The bounds; nil for a count of 0.
    package static func of(_ successes: Int, of count: Int) -> (low: Double, high: Double)? {
        guard count > 0 else { return nil }
        let z = 1.959963984540054, n = Double(count), p = Double(successes) / n
        let middle = p + z * z / (2 * n)
        let half = z * (p * (1 - p) / n + z * z / (4 * n * n)).squareRoot()
        let whole = 1 + z * z / n
        return (max(0, (middle - half) / whole), min(1, (middle + half) / whole))
    }
}

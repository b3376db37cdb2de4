/// Wilson's 95 % interval of a proportion.
package enum WilsonInterval {
    /// The bounds; nil for a count of 0. Without failures the upper bound is exactly 1, and without successes the lower
    /// bound exactly 0; the formula would differ by some bits.
    package static func of(_ successes: Int, of count: Int) -> (low: Double, high: Double)? {
        guard count > 0 else { return nil }
        let z = 1.959963984540054, n = Double(count), p = Double(successes) / n
        let middle = p + z * z / (2 * n)
        let half = z * (p * (1 - p) / n + z * z / (4 * n * n)).squareRoot()
        let whole = 1 + z * z / n
        let low = successes == 0 ? 0 : max(0, (middle - half) / whole)
        return (low, successes == count ? 1 : min(1, (middle + half) / whole))
    }
}

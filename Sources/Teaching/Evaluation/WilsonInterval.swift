/// Wilson's interval of a proportion, at 95 %.
package enum WilsonInterval {
    /// The bounds; nil for a count of 0. Without a failure the upper one is 1, and without a success the lower one 0:
    /// computed, they are some bits away.
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

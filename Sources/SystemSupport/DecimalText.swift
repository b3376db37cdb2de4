/// Numbers as text with a fixed number of decimals, without locales.
package enum DecimalText {
    /// - Parameter places: the number of decimals, 0 to 6; others count as the nearest of these.
    /// - Returns: nil for a number that is not finite, or from 1e15, or with more than 18 digits.
    package static func fixed(_ value: Double, places: Int) -> String? {
        guard value.isFinite, abs(value) < 1e15 else { return nil }
        let places = min(max(places, 0), 6), factor = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000][places]
        let product = (abs(value) * Double(factor)).rounded()
        guard product <= 1e18 else { return nil }
        let scaled = Int(product)
        let sign = value < 0 && scaled != 0 ? "-" : ""
        guard places > 0 else { return "\(sign)\(scaled)" }
        let digits = String(scaled % factor)
        return "\(sign)\(scaled / factor)." + String(repeating: "0", count: places - digits.count) + digits
    }
}

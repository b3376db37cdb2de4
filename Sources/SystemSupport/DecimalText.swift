/// Numbers as text with a fixed number of decimals, without locales.
package enum DecimalText {
    /// - Parameter places: the number of decimals, 0 to 3; others count as the nearest of these.
    /// - Returns: nil for a number that is not finite, or from 1e15.
    package static func fixed(_ value: Double, places: Int) -> String? {
        guard value.isFinite, abs(value) < 1e15 else { return nil }
        let places = min(max(places, 0), 3), factor = [1, 10, 100, 1000][places]
        let scaled = Int((abs(value) * Double(factor)).rounded())
        let sign = value < 0 && scaled != 0 ? "-" : ""
        guard places > 0 else { return "\(sign)\(scaled)" }
        let digits = String(scaled % factor)
        return "\(sign)\(scaled / factor)." + String(repeating: "0", count: places - digits.count) + digits
    }
}

/// Numbers as text for reports.
enum NumberText {
    /// Three significant digits.
    static func decimal(_ value: Double) -> String {
        guard value.isFinite, abs(value) < 1e12 else { return "-" }
        let places = abs(value) < 10 ? 2 : abs(value) < 1000 ? 1 : 0
        return fixed(value, places: places)
    }

    /// A fixed number of decimals, 0 to 3.
    static func fixed(_ value: Double, places: Int) -> String {
        guard value.isFinite, abs(value) < 1e12 else { return "-" }
        let factor = [1, 10, 100, 1000][min(max(places, 0), 3)]
        let scaled = Int((abs(value) * Double(factor)).rounded())
        let sign = value < 0 && scaled != 0 ? "-" : ""
        guard factor > 1 else { return "\(sign)\(scaled)" }
        let part = String(scaled % factor)
        return "\(sign)\(scaled / factor)." + String(repeating: "0", count: max(0, places - part.count)) + part
    }

    static func milliseconds(_ nanoseconds: UInt64) -> String { decimal(Double(nanoseconds) / 1e6) }

    static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }
}

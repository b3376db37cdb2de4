internal import SystemSupport

/// Numbers as text for reports.
enum NumberText {
    /// Three significant digits.
    static func decimal(_ value: Double) -> String {
        let places = abs(value) < 10 ? 2 : abs(value) < 1000 ? 1 : 0
        return fixed(value, places: places)
    }

    /// A fixed number of decimals, 0 to 3.
    static func fixed(_ value: Double, places: Int) -> String {
        guard abs(value) < 1e12, let text = DecimalText.fixed(value, places: places) else { return "-" }
        return text
    }

    static func milliseconds(_ nanoseconds: UInt64) -> String { decimal(Double(nanoseconds) / 1e6) }
}

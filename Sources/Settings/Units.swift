internal import SystemSupport

/// Amounts of memory and times as text.
package enum Units {
    private static let byteUnits: [(name: String, factor: Int)] = [
        ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40),
        ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("B", 1),
    ]

    private static let timeUnits: [(name: String, factor: Double)] = [
        ("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600),
    ]

    /// Parses an amount of memory such as `20MiB`, `1.5 GiB` or `4096`, in bytes.
    package static func parseBytes(_ text: String) -> Int? {
        let unit = byteUnits.first { text.hasSuffix($0.name) }
        let digits = unit.map { String(text.dropLast($0.name.count)) } ?? text
        guard let number = Double(trimmed(digits)), number.isFinite, number >= 0 else { return nil }
        let bytes = number * Double(unit?.factor ?? 1)
        guard bytes < 0x1p62 else { return nil }
        return Int(bytes.rounded())
    }

    /// A sentence about an amount of memory that was given without a unit, if it is hardly meant as bytes; nil
    /// otherwise.
    package static func unlikelyReading(bytes count: Int) -> String? {
        guard (1..<1024).contains(count) else { return nil }
        return
            "\(count) has no unit and means \(count) bytes: write \(count)MiB or \(count)KiB, or \(count)B if that is meant"
    }

    /// Parses a time such as `30s`, `500ms`, `1.5m` or `30`, in seconds.
    package static func parseDuration(_ text: String) -> Double? {
        let unit = timeUnits.first { text.hasSuffix($0.name) }
        let digits = unit.map { String(text.dropLast($0.name.count)) } ?? text
        guard let number = Double(trimmed(digits)), number.isFinite, number >= 0 else { return nil }
        return number * (unit?.factor ?? 1)
    }

    /// Bytes in the largest unit that gives a short number.
    package static func bytes(_ count: Int) -> String {
        for (name, factor) in byteUnits[0...3].reversed() where count >= factor {
            return count % factor == 0
                ? "\(count / factor)\(name)" : "\(decimal(Double(count) / Double(factor), places: 1))\(name)"
        }
        return "\(count)B"
    }

    /// Seconds in the unit that gives a short number.
    package static func duration(_ seconds: Double) -> String {
        func text(_ value: Double, _ unit: String) -> String {
            (value == value.rounded() ? "\(Int(value))" : decimal(value, places: 1)) + unit
        }
        if seconds >= 3600, seconds.truncatingRemainder(dividingBy: 3600) == 0 { return text(seconds / 3600, "h") }
        if seconds >= 120, seconds.truncatingRemainder(dividingBy: 60) == 0 { return text(seconds / 60, "m") }
        if seconds >= 1 || seconds == 0 { return text(seconds, "s") }
        return text(seconds * 1000, "ms")
    }

    /// A number with a fixed number of decimals.
    package static func decimal(_ value: Double, places: Int) -> String {
        DecimalText.fixed(value, places: places) ?? "\(value)"
    }

    private static func trimmed(_ text: String) -> String {
        var text = text[...]
        while text.last == " " { text.removeLast() }
        while text.first == " " { text.removeFirst() }
        return String(text)
    }
}

/// The type of a setting's value.
package enum SettingKind: Sendable {
    case integer(ClosedRange<Int>)
    /// An integer in a range, or `auto`.
    case automaticInteger(ClosedRange<Int>)
    /// An amount of memory: a number of bytes, or text such as `20MiB`.
    case bytes(ClosedRange<Int>)
    /// An amount of memory, or `auto`.
    case automaticBytes(ClosedRange<Int>)
    /// A time: a number of seconds, or text such as `30s`, `500ms`, `2m`, `1h`.
    case duration(ClosedRange<Double>)
    /// A time, or `auto`.
    case automaticDuration(ClosedRange<Double>)
    case number(ClosedRange<Double>)
    case bool
    case string
    /// A list of strings; on the command line, the flag may be repeated.
    case strings
    /// A list of addresses to listen on, which may have options with commas: `?routes=infer,read`.
    case addresses
    case choice([String])
    /// A list of choices, with a minimum length.
    case choices([String], atLeast: Int)

    /// A description of the accepted values, for error messages and help.
    package var expectation: String {
        switch self {
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .automaticInteger(let range): "\"auto\" or a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .bytes(let range):
            "an amount of memory from \(Units.bytes(range.lowerBound)) to \(Units.bytes(range.upperBound)), such as \"20MiB\""
        case .automaticBytes(let range):
            "\"auto\" or an amount of memory from \(Units.bytes(range.lowerBound)) to \(Units.bytes(range.upperBound))"
        case .duration(let range):
            "a time from \(Units.duration(range.lowerBound)) to \(Units.duration(range.upperBound)), such as \"30s\""
        case .automaticDuration(let range):
            "\"auto\" or a time from \(Units.duration(range.lowerBound)) to \(Units.duration(range.upperBound))"
        case .number(let range): "a number from \(range.lowerBound) to \(range.upperBound)"
        case .bool: "true or false"
        case .string: "text"
        case .strings, .addresses: "text, or a list of texts"
        case .choice(let names): "one of " + names.map { "\"\($0)\"" }.joined(separator: ", ")
        case .choices(let names, _): "a list of " + names.map { "\"\($0)\"" }.joined(separator: ", ")
        }
    }

    /// The placeholder of the value in `--help`.
    package var placeholder: String {
        switch self {
        case .integer, .automaticInteger, .number: "N"
        case .bytes, .automaticBytes: "SIZE"
        case .duration, .automaticDuration: "TIME"
        case .bool: "BOOL"
        case .string, .strings, .addresses: "TEXT"
        case .choice(let names): names.joined(separator: "|")
        case .choices: "NAMES"
        }
    }
}

/// The value of a setting of any type.
package enum SettingValue: Sendable, Hashable {
    case integer(Int)
    case automatic
    case number(Double)
    case bool(Bool)
    case string(String)
    case strings([String])
}

extension SettingKind {
    /// Parses a flag or a variable; nil if the text is not valid.
    package func value(of text: String) -> SettingValue? {
        switch self {
        case .integer(let range): Int(text).flatMap { range.contains($0) ? .integer($0) : nil }
        case .automaticInteger(let range):
            text == "auto" ? .automatic : Int(text).flatMap { range.contains($0) ? .integer($0) : nil }
        case .bytes(let range): Units.parseBytes(text).flatMap { range.contains($0) ? .integer($0) : nil }
        case .automaticBytes(let range):
            text == "auto" ? .automatic : Units.parseBytes(text).flatMap { range.contains($0) ? .integer($0) : nil }
        case .duration(let range): Units.parseDuration(text).flatMap { range.contains($0) ? .number($0) : nil }
        case .automaticDuration(let range):
            text == "auto" ? .automatic : Units.parseDuration(text).flatMap { range.contains($0) ? .number($0) : nil }
        case .number(let range): Double(text).flatMap { range.contains($0) ? .number($0) : nil }
        case .bool:
            ["true": true, "yes": true, "on": true, "1": true, "false": false, "no": false, "off": false, "0": false][
                text
            ]
            .map { .bool($0) }
        case .string: .string(text)
        case .strings: .strings(text.split(separator: ",").map { String($0) })
        case .addresses: .strings(Self.addresses(text))
        case .choice(let names): names.contains(text) ? .string(text) : nil
        case .choices: choices(text.split(separator: ",").map { String($0) })
        }
    }

    /// The names, if all of them are choices and there are enough; else nil.
    func choices(_ names: [String]) -> SettingValue? {
        guard case .choices(let known, let minimum) = self, names.count >= minimum, names.allSatisfy(known.contains)
        else {
            return nil
        }
        return .strings(names)
    }

    /// Splits a list of addresses at commas. A word after a comma that is not an address belongs to the routes of the
    /// address before it.
    private static func addresses(_ text: String) -> [String] {
        var addresses: [String] = []
        for part in text.split(separator: ",") {
            let isAddress = part.contains(":") || part.hasPrefix("systemd")
            if !isAddress, let last = addresses.last, last.contains("routes=") {
                addresses[addresses.count - 1] += ",\(part)"
            } else {
                addresses.append(String(part))
            }
        }
        return addresses
    }
}

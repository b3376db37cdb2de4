package import JSON

/// Unquoted words of YAML (core schema) and Python.
package enum PlainScalar {
    /// The value of a word; nil if it is text.
    package static func value(_ word: String, isPython: Bool = false) -> JSONValue? {
        switch word {
        case "None" where isPython, "~" where !isPython, "null" where !isPython, "Null" where !isPython: return .null
        case "True": return .bool(true)
        case "False": return .bool(false)
        case "true" where !isPython: return .bool(true)
        case "false" where !isPython: return .bool(false)
        default: break
        }
        guard let first = word.utf8.first, (48...57).contains(first) || "+-.".utf8.contains(first) else { return nil }
        if let integer = Int(word) { return .integer(integer) }
        // Double's initializer would accept "0x1p3" and "nan".
        guard word.utf8.allSatisfy({ (48...57).contains($0) || "+-.eE".utf8.contains($0) }), let number = Double(word),
            number.isFinite
        else { return nil }
        return .number(number)
    }

    /// A scalar as text, in its form as a key; nil for lists and objects.
    package static func text(_ value: JSONValue) -> String? {
        switch value {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .integer(let number): String(number)
        case .number(let number): String(number)
        case .string(let text): text
        case .array, .object: nil
        }
    }
}

/// The members of a JSON object in a file, while they are read by key. A value of an unexpected kind is noted with its
/// path, and then counts as missing.
package protocol JSONMembers {
    /// The path of the object in the file; empty for the whole.
    var path: String { get }

    /// Any value; nil if it is missing or null.
    func value(_ key: String) -> JSONValue?

    /// Notes a problem of a member.
    func note(_ key: String, _ reason: String)
}

extension JSONMembers {
    /// The path of a member.
    package func path(of key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    package func has(_ key: String) -> Bool { value(key) != nil }

    /// A value as `convert` returns it; nil if it is missing, or noted because `convert` returns nil.
    /// - Parameter expected: the values that `convert` takes, in words.
    package func read<T>(_ key: String, _ expected: String, _ convert: (JSONValue) -> T?) -> T? {
        guard let value = value(key) else { return nil }
        guard let result = convert(value) else {
            note(key, "expected \(expected), found \(value.kind)")
            return nil
        }
        return result
    }

    package func string(_ key: String) -> String? {
        read(key, "a string") { if case .string(let text) = $0 { text } else { nil } }
    }

    package func number(_ key: String) -> Double? { read(key, "a number") { $0.finite } }

    package func elements(_ key: String) -> [JSONValue]? {
        read(key, "an array") { if case .array(let elements) = $0 { elements } else { nil } }
    }
}

extension JSONValue {
    /// A number that is finite; nil for another value.
    package var finite: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number) where number.isFinite: number
        default: nil
        }
    }
}

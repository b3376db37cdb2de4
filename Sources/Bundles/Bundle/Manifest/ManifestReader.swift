package import EngineAPI
package import JSON
internal import SystemSupport

/// Collects the problems of a bundle while it is read, so that all are reported at once.
package final class ProblemList {
    package private(set) var problems: [BundleProblem] = []

    /// No problems.
    package init() {}

    package func add(_ path: String, _ reason: String) {
        problems.append(BundleProblem(path: path, reason: reason))
    }
}

/// A JSON object while it is read. Each key that is read is recorded; values of a wrong type, and finally keys that
/// were never read, are problems.
package struct ManifestObject: JSONMembers {
    package let path: String
    let problems: ProblemList
    private let members: [String: JSONValue]
    private let known: KnownKeys

    private final class KnownKeys {
        var names: Set<String> = []
    }

    /// Reads the object at a path; another type of value is a problem, and is treated as an empty object.
    package init(_ value: JSONValue, path: String, problems: ProblemList) {
        self.path = path
        self.problems = problems
        known = KnownKeys()
        if case .object(let members) = value {
            self.members = members
        } else {
            problems.add(path, "expected an object, found \(value.kind)")
            members = [:]
        }
    }

    /// Any value; nil if it is missing or null.
    package func value(_ key: String) -> JSONValue? {
        known.names.insert(key)
        guard let value = members[key], value != .null else { return nil }
        return value
    }

    package func note(_ key: String, _ reason: String) { problems.add(path(of: key), reason) }

    /// A string that must be present and not empty.
    func requiredString(_ key: String) -> String {
        guard let text = string(key) else {
            if members[key] == nil || members[key] == .null {
                note(key, "is missing: expected a string")
            }
            return ""
        }
        if text.isEmpty { note(key, "is empty") }
        return text
    }

    func bool(_ key: String) -> Bool? {
        read(key, "true or false") { if case .bool(let flag) = $0 { flag } else { nil } }
    }

    func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        read(key, "an integer from \(range.lowerBound) to \(range.upperBound)") { value in
            if case .integer(let number) = value, range.contains(number) { number } else { nil }
        }
    }

    /// One of the raw values of an enumeration.
    func choice<T: RawRepresentable & CaseIterable>(_ key: String, _: T.Type) -> T? where T.RawValue == String {
        let names = T.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        return read(key, "one of \(names)") { if case .string(let text) = $0 { T(rawValue: text) } else { nil } }
    }

    package func object(_ key: String) -> ManifestObject? {
        value(key).map { ManifestObject($0, path: path(of: key), problems: problems) }
    }

    /// The elements of an array, each as an object.
    package func objects(_ key: String) -> [ManifestObject] {
        (elements(key) ?? []).enumerated().map { index, element in
            ManifestObject(element, path: "\(path(of: key))[\(index)]", problems: problems)
        }
    }

    /// Adds a problem for every key that was not read, with the nearest known key. Call it after all known keys were
    /// read. Keys that begin with `$` or `_` are remarks of the file's author.
    func refuseUnknownKeys() {
        for key in members.keys.sorted() where !known.names.contains(key) && !key.hasPrefix("$") && !key.hasPrefix("_")
        {
            let hint = Spelling.hint(for: key, among: known.names)
            note(key, "is not a known key\(hint)")
        }
    }
}

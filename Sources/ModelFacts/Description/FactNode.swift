internal import FileFormats
internal import JSON

/// An object in a file of facts. Programs wrote it, so 0 and 1 are flags, and a number such as 224.0 is an integer.
final class FactNode: JSONMembers {
    let source: String
    let path: String
    private let members: [String: JSONValue]
    /// Shared by all nodes of a file.
    private let notes: Notes

    final class Notes {
        var problems: [FactProblem] = []
    }

    init(_ value: JSONValue, source: String, path: String = "", notes: Notes = Notes()) {
        self.source = source
        self.path = path
        self.notes = notes
        if case .object(let members) = value {
            self.members = members
        } else {
            members = [:]
            notes.problems.append(
                FactProblem(
                    source: source, reason: "\(path.isEmpty ? "" : "\(path): ")expected an object, found \(value.kind)")
            )
        }
    }

    var problems: [FactProblem] { notes.problems }
    var keys: [String] { members.keys.sorted() }

    func note(_ key: String, _ reason: String) {
        notes.problems.append(FactProblem(source: source, reason: "\(path(of: key)): \(reason)"))
    }

    /// Any value; nil if it is missing or null.
    func value(_ key: String) -> JSONValue? {
        guard let value = members[key], value != .null else { return nil }
        return value
    }

    /// A string, or a number as text.
    func scalarText(_ key: String) -> String? { read(key, "text") { PlainScalar.text($0) } }

    func flag(_ key: String) -> Bool? {
        read(key, "true or false") { value in
            switch value {
            case .bool(let flag): flag
            case .integer(0): false
            case .integer(1): true
            default: nil
            }
        }
    }

    func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        read(key, "an integer from \(range.lowerBound) to \(range.upperBound)") { Self.integer($0, in: range) }
    }

    static func integer(_ value: JSONValue, in range: ClosedRange<Int>) -> Int? {
        switch value {
        case .integer(let number) where range.contains(number): number
        case .number(let number) where number == number.rounded() && abs(number) < 1e15 && range.contains(Int(number)):
            Int(number)
        default: nil
        }
    }

    /// One number for all channels, or an array of 1 or 3 numbers.
    func numbers(_ key: String) -> [Double]? {
        read(key, "a number, or an array of 1 or 3 numbers") { value in
            if let number = value.finite { return [number] }
            guard case .array(let elements) = value else { return nil }
            let numbers = elements.compactMap(\.finite)
            return numbers.count == elements.count && (numbers.count == 1 || numbers.count == 3) ? numbers : nil
        }
    }

    func object(_ key: String) -> FactNode? {
        value(key).map { FactNode($0, source: source, path: path(of: key), notes: notes) }
    }

    /// `[height, width]`, or one number for both.
    func size(_ key: String) -> FactSize? {
        read(key, "a side, or [height, width]") { value in
            if let side = Self.integer(value, in: FactSize.sides) { return FactSize(height: side, width: side) }
            guard case .array(let elements) = value else { return nil }
            let sides = elements.compactMap { Self.integer($0, in: FactSize.sides) }
            guard sides.count == elements.count else { return nil }
            if sides.count == 1 { return FactSize(height: sides[0], width: sides[0]) }
            return sides.count == 2 ? FactSize(height: sides[0], width: sides[1]) : nil
        }
    }
}

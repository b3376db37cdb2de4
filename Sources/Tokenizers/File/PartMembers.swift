internal import JSON

/// The members of an object of a tokenizer file, with its path for messages.
struct PartMembers {
    /// The maximum number of steps of a file, in all sequences.
    static let maximumSteps = 100

    let path: String
    private let members: [String: JSONValue]

    init(_ value: JSONValue, path: String) throws(TokenizerProblem) {
        guard case .object(let members) = value else {
            throw .malformed("\(path): expected an object, found \(value.kind)")
        }
        self.path = path
        self.members = members
    }

    /// A problem of a member.
    func problem(_ key: String, _ reason: String) -> TokenizerProblem { .malformed("\(path).\(key): \(reason)") }

    /// A value; nil if it is missing or null.
    func optional(_ key: String) -> JSONValue? {
        guard let value = members[key], value != .null else { return nil }
        return value
    }

    private func required(_ key: String, _ expected: String) throws(TokenizerProblem) -> JSONValue {
        guard let value = optional(key) else { throw problem(key, "expected \(expected), found no value") }
        return value
    }

    /// A value as `convert` returns it, which is nil for a value of another kind.
    private func read<T>(
        _ key: String, _ expected: String, _ convert: (JSONValue) -> T?
    ) throws(TokenizerProblem) -> T {
        let value = try required(key, expected)
        guard let result = convert(value) else { throw problem(key, "expected \(expected), found \(value.kind)") }
        return result
    }

    func optionalString(_ key: String) throws(TokenizerProblem) -> String? {
        optional(key) == nil ? nil : try string(key)
    }

    func string(_ key: String) throws(TokenizerProblem) -> String {
        try read(key, "a string") { if case .string(let text) = $0 { text } else { nil } }
    }

    /// True or false; a missing value is `standard`, and an error if that is nil.
    func bool(_ key: String, standard: Bool? = nil) throws(TokenizerProblem) -> Bool {
        if let standard, optional(key) == nil { return standard }
        return try read(key, "true or false") { if case .bool(let value) = $0 { value } else { nil } }
    }

    /// An integer of a range.
    func integer(_ key: String, _ range: ClosedRange<Int>) throws(TokenizerProblem) -> Int {
        try read(key, "an integer of \(range.lowerBound) to \(range.upperBound)") {
            if case .integer(let value) = $0, range.contains(value) { value } else { nil }
        }
    }

    /// An id.
    func id(_ key: String) throws(TokenizerProblem) -> UInt32 {
        UInt32(try integer(key, 0...Int(TokenTable.maximumID)))
    }

    func array(_ key: String) throws(TokenizerProblem) -> [JSONValue] {
        try read(key, "an array") { if case .array(let values) = $0 { values } else { nil } }
    }

    /// Counts a step.
    func take(_ steps: inout Int) throws(TokenizerProblem) {
        steps -= 1
        guard steps >= 0 else {
            throw .tooLarge("\(path): expected at most \(Self.maximumSteps) steps in all, found more")
        }
    }

    /// The objects of an array.
    func objects(_ key: String) throws(TokenizerProblem) -> [PartMembers] {
        var result: [PartMembers] = []
        for (index, value) in try array(key).enumerated() {
            result.append(try PartMembers(value, path: "\(path).\(key)[\(index)]"))
        }
        return result
    }

    func object(_ key: String) throws(TokenizerProblem) -> PartMembers {
        try PartMembers(try required(key, "an object"), path: "\(path).\(key)")
    }

    /// One character.
    func character(_ key: String) throws(TokenizerProblem) -> Unicode.Scalar {
        try read(key, "one character") {
            guard case .string(let text) = $0, let first = text.unicodeScalars.first else { return nil }
            return text.unicodeScalars.count == 1 ? first : nil
        }
    }

    /// A value of an enumeration.
    func choice<T: RawRepresentable<String> & CaseIterable>(
        _ key: String, standard: T? = nil
    ) throws(TokenizerProblem) -> T {
        if let standard, optional(key) == nil { return standard }
        let names = T.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        return try read(key, "one of \(names)") { if case .string(let text) = $0 { T(rawValue: text) } else { nil } }
    }

    /// The problem of a part with a type that is not implemented.
    func unsupportedType(_ supported: [String]) throws(TokenizerProblem) -> TokenizerProblem {
        let type = try string("type")
        let names = supported.map { "\"\($0)\"" }.joined(separator: ", ")
        return .unsupported("\(path): the type \"\(type.prefix(60))\" is not supported; supported are \(names)")
    }
}

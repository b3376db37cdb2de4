/// Reads values of an expected kind. Another kind is an error of kind `value`: the text is valid JSON, but the input is
/// wrong.
extension JSONScanner {
    /// Throws if the next value is of another kind than expected.
    /// - Parameter what: the name of the value in messages, as in `"id"`.
    package mutating func expect(_ expectedKind: Kind, _ what: @autoclosure () -> String) throws(JSONError) {
        let found = try kind()
        guard found == expectedKind else {
            throw .value("\(what()): expected \(expectedKind.rawValue), found \(found.rawValue)")
        }
    }

    /// Reads a string; `what` is its name in messages.
    package mutating func string(_ what: @autoclosure () -> String) throws(JSONError) -> String {
        try expect(.string, what())
        return try string()
    }

    /// Reads `true` or `false`; `what` is its name in messages.
    package mutating func bool(_ what: @autoclosure () -> String) throws(JSONError) -> Bool {
        try expect(.bool, what())
        return try bool()
    }

    /// Reads an object; `what` is its name in messages.
    package mutating func object(
        _ what: @autoclosure () -> String, _ member: (String, inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        try expect(.object, what())
        try object(member)
    }

    /// Reads an array; `what` is its name in messages.
    package mutating func array(
        _ what: @autoclosure () -> String, _ element: (Int, inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        try expect(.array, what())
        try array(element)
    }

    /// Reads a non-negative integer; `what` is its name in messages.
    /// - Parameter expected: the expected quantity, as in `a number of bytes`.
    package mutating func count(_ what: @autoclosure () -> String, _ expected: String) throws(JSONError) -> Int {
        let kind = try kind()
        guard kind == .number else {
            throw .value("\(what()): expected \(expected), found \(kind.rawValue)")
        }
        let number = try number()
        guard let value = number.integer(Int.self, in: text), value >= 0 else {
            let found = String(decoding: text[number.start..<number.start + number.length].prefix(40), as: UTF8.self)
            throw .value("\(what()): expected \(expected), an integer of 0 or more, found \(found)")
        }
        return value
    }

    /// Takes `NaN`, `Infinity` or `-Infinity` if it is next: they are not JSON, but Python and TensorFlow Serving write
    /// them.
    package mutating func takesNonFinite() -> Double? {
        skipSpace()
        guard let byte, byte == UInt8(ascii: "N") || byte == UInt8(ascii: "I") || byte == UInt8(ascii: "-") else {
            return nil
        }
        for (word, value) in [("NaN", Double.nan), ("Infinity", .infinity), ("-Infinity", -.infinity)]
        where text[position...].starts(with: word.utf8) {
            advance(by: word.utf8.count)
            return value
        }
        return nil
    }

    /// Takes `null` if it is next: some clients write it for members that they omit.
    package mutating func takesNull() throws(JSONError) -> Bool {
        guard try kind() == .null else { return false }
        try null()
        return true
    }
}

/// Values of a kind that is wanted, by name: what is valid JSON but something else is the input's mistake, not the
/// text's.
extension JSONScanner {
    /// Refuses a value of another kind than is wanted. What comes next must be JSON.
    /// - Parameter what: names the value, as in `"id"`.
    package mutating func expect(_ wanted: Kind, _ what: @autoclosure () -> String) throws(JSONError) {
        let found = try kind()
        guard found == wanted else {
            throw .value("\(what()): expected \(wanted.rawValue), found \(found.rawValue)")
        }
    }

    /// A string, or an error that names it.
    package mutating func string(_ what: @autoclosure () -> String) throws(JSONError) -> String {
        try expect(.string, what())
        return try string()
    }

    /// `true` or `false`, or an error that names it.
    package mutating func bool(_ what: @autoclosure () -> String) throws(JSONError) -> Bool {
        try expect(.bool, what())
        return try bool()
    }

    /// An object, or an error that names it.
    package mutating func object(
        _ what: @autoclosure () -> String, _ member: (String, inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        try expect(.object, what())
        try object(member)
    }

    /// An array, or an error that names it.
    package mutating func array(
        _ what: @autoclosure () -> String, _ element: (Int, inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        try expect(.array, what())
        try array(element)
    }

    /// An integer that is not negative, or an error that names it.
    /// - Parameter expected: what it counts, as in `a number of bytes`.
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

    /// Takes `NaN`, `Infinity` or `-Infinity`, if one is next: not JSON, but Python and TensorFlow Serving write them.
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

    /// Takes `null`, if it is next: some clients write it for members that they leave out.
    package mutating func takesNull() throws(JSONError) -> Bool {
        guard try kind() == .null else { return false }
        try null()
        return true
    }
}

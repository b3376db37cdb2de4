/// Writes members with simple values: name and value in one call.
extension JSONWriter {
    package mutating func member(_ name: String, _ value: String) {
        key(name)
        string(value)
    }

    package mutating func member(_ name: String, _ value: Int) {
        key(name)
        integer(value)
    }

    package mutating func member(_ name: String, _ value: Double) {
        key(name)
        number(value)
    }

    package mutating func member(_ name: String, _ value: Float) {
        key(name)
        number(value)
    }

    package mutating func member(_ name: String, thousandths value: Double) {
        key(name)
        thousandths(value)
    }

    package mutating func member(_ name: String, _ value: Bool) {
        key(name)
        bool(value)
    }

    /// Writes nanoseconds as milliseconds with three decimals; null for nil.
    package mutating func member(_ name: String, milliseconds nanoseconds: UInt64?) {
        key(name)
        if let nanoseconds { milliseconds(nanoseconds) } else { null() }
    }

    /// Writes an integer; null for nil.
    package mutating func member(_ name: String, ifKnown value: Int?) {
        key(name)
        if let value { integer(value) } else { null() }
    }

    /// Writes an array of strings.
    package mutating func member(_ name: String, _ values: [String]) {
        key(name)
        array { writer in for value in values { writer.string(value) } }
    }

    /// The text of an object with one member, an array of objects; `body` writes the members of each.
    package static func table<Row>(
        _ name: String, _ rows: [Row], _ body: (_ row: Row, _ writer: inout JSONWriter) -> Void
    ) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key(name)
            writer.array { writer in for row in rows { writer.object { body(row, &$0) } } }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

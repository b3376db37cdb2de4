/// Members with a plain value: the name and the value at once.
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

    package mutating func member(_ name: String, thousandths value: Double) {
        key(name)
        thousandths(value)
    }

    package mutating func member(_ name: String, _ value: Bool) {
        key(name)
        bool(value)
    }

    /// Nanoseconds as milliseconds, to the microsecond; null for nil.
    package mutating func member(_ name: String, milliseconds nanoseconds: UInt64?) {
        key(name)
        if let nanoseconds { milliseconds(nanoseconds) } else { null() }
    }

    /// A whole number that may not be known: null for nil.
    package mutating func member(_ name: String, ifKnown value: Int?) {
        key(name)
        if let value { integer(value) } else { null() }
    }

    /// An array of texts.
    package mutating func member(_ name: String, _ values: [String]) {
        key(name)
        array { writer in for value in values { writer.string(value) } }
    }
}

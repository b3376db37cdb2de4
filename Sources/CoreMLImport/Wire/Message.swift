/// The fields of one message by number, for messages with few fields: `try layer.integer(10, default: 1)`.
///
/// If a field that is not repeated occurs several times, the last occurrence is used. Unknown fields are ignored.
package struct Message {
    package let fields: [Field]
    /// The maximum number of fields. Long lists are read with `MessageReader` instead.
    private static let maximumFields = 1 << 18

    package static let empty = Message(fields: [])

    package init(_ reader: MessageReader) throws(Problem) {
        var reader = reader
        var fields: [Field] = []
        while let field = try reader.next() {
            guard fields.count < Self.maximumFields else {
                throw Problem("a message has more than \(Self.maximumFields) fields")
            }
            fields.append(field)
        }
        self.fields = fields
    }

    private init(fields: [Field]) {
        self.fields = fields
    }

    package func last(_ number: Int) -> Field? { fields.last { $0.number == number } }
    package func all(_ number: Int) -> [Field] { fields.filter { $0.number == number } }
    package func has(_ number: Int) -> Bool { fields.contains { $0.number == number } }

    package func integer(_ number: Int, default value: Int = 0) throws(Problem) -> Int {
        try last(number)?.signed() ?? value
    }
    package func bool(_ number: Int) throws(Problem) -> Bool { try last(number)?.bool() ?? false }
    package func float(_ number: Int, default value: Float = 0) throws(Problem) -> Float {
        try last(number)?.float() ?? value
    }
    package func double(_ number: Int, default value: Double = 0) throws(Problem) -> Double {
        try last(number)?.double() ?? value
    }
    package func string(_ number: Int) throws(Problem) -> String { try last(number)?.string() ?? "" }
    package func data(_ number: Int) throws(Problem) -> Bytes? { try last(number)?.data() }
    package func message(_ number: Int) throws(Problem) -> Message? { try last(number)?.message() }

    package func integers(_ number: Int) throws(Problem) -> [Int] {
        var values: [Int] = []
        for field in fields where field.number == number { values += try field.integers() }
        return values
    }

    package func strings(_ number: Int) throws(Problem) -> [String] {
        var values: [String] = []
        for field in fields where field.number == number { values.append(try field.string()) }
        return values
    }

    package func messages(_ number: Int) throws(Problem) -> [Message] {
        var values: [Message] = []
        for field in fields where field.number == number { values.append(try field.message()) }
        return values
    }

    /// The bytes of a repeated float or double field: a slice of the file, or joined if the field occurs several times.
    package func packed(_ number: Int, width: Int) throws(Problem) -> Bytes {
        let parts = all(number)
        if parts.count == 1, let part = parts.first { return try part.packed(width: width) }
        var memory: [UInt8] = []
        for part in parts { try part.packed(width: width).withUnsafeBytes { memory.append(contentsOf: $0) } }
        return Bytes(memory)
    }

    package func floats(_ number: Int) throws(Problem) -> [Float] { try packed(number, width: 4).elements() }
    package func doubles(_ number: Int) throws(Problem) -> [Double] { try packed(number, width: 8).elements() }
}

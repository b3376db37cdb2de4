/// Reads tables of FlatBuffers (internals.md of the format's documentation): every offset is checked, and tables are reached from the root
/// through a bounded number of steps only.
struct FlatBuffer {
    var source: ByteSource
    /// The place of the buffer in the source, and its bytes.
    let range: Range<Int>
    private var tables = 0

    private static let mostTables = 200_000

    /// A table: where it stands, and where its fields' offsets do.
    struct Table: Hashable {
        let position: Int
        let fields: Int
        let fieldBytes: Int
    }

    /// - Parameter identifier: the four letters behind the root's offset.
    init(_ source: ByteSource, range: Range<Int>, identifier: String) throws(FactError) {
        self.source = source
        self.range = range
        guard range.count >= 8 else { throw FactError("has \(range.count) bytes, too few for a FlatBuffer") }
        let found = String(decoding: try self.source.bytes(at: range.lowerBound + 4, count: 4), as: UTF8.self)
        guard found == identifier else {
            throw FactError("begins with \"\(found)\" where a FlatBuffer has \"\(identifier)\"")
        }
    }

    mutating func root() throws(FactError) -> Table {
        try table(at: try follow(range.lowerBound))
    }

    /// The place that an offset at a place points to.
    private mutating func follow(_ place: Int) throws(FactError) -> Int {
        let offset = Int(try source.integer(UInt32.self, at: try check(place, 4)))
        return try check(place + offset, 1)
    }

    private func check(_ place: Int, _ count: Int) throws(FactError) -> Int {
        guard place >= range.lowerBound, place <= range.upperBound - count else {
            throw FactError("refers to byte \(place), outside its \(range.count) bytes")
        }
        return place
    }

    private mutating func table(at place: Int) throws(FactError) -> Table {
        tables += 1
        guard tables <= Self.mostTables else { throw FactError("has more than \(Self.mostTables) tables") }
        let back = Int(try source.integer(Int32.self, at: try check(place, 4)))
        let fields = try check(place - back, 4)
        let bytes = Int(try source.integer(UInt16.self, at: fields))
        guard bytes >= 4 else {
            throw FactError("has a table at byte \(place) whose list of fields has \(bytes) bytes")
        }
        _ = try check(fields, bytes)
        return Table(position: place, fields: fields, fieldBytes: bytes)
    }

    /// The offset of a field's value; nil if it has its default.
    private mutating func place(_ table: Table, _ field: Int) throws(FactError) -> Int? {
        let entry = 4 + field * 2
        guard entry + 2 <= table.fieldBytes else { return nil }
        let offset = Int(try source.integer(UInt16.self, at: table.fields + entry))
        return offset == 0 ? nil : try check(table.position + offset, 1)
    }

    mutating func number<T: FixedWidthInteger>(_ table: Table, _ field: Int, _ type: T.Type) throws(FactError) -> T? {
        guard let place = try place(table, field) else { return nil }
        return try source.integer(type, at: try check(place, MemoryLayout<T>.size))
    }

    mutating func float(_ table: Table, _ field: Int) throws(FactError) -> Float? {
        try number(table, field, UInt32.self).map { Float(bitPattern: $0) }
    }

    mutating func table(_ table: Table, _ field: Int) throws(FactError) -> Table? {
        guard let place = try place(table, field) else { return nil }
        return try self.table(at: try follow(place))
    }

    /// The offset of a vector's first element, and the number of elements.
    private mutating func vector(
        _ table: Table, _ field: Int, elementBytes: Int, most: Int
    ) throws(FactError) -> (start: Int, count: Int)? {
        guard let place = try place(table, field) else { return nil }
        let start = try follow(place)
        let count = Int(try source.integer(UInt32.self, at: try check(start, 4)))
        guard count <= most else {
            throw FactError("has a list of \(count) elements at byte \(start): the limit is \(most)")
        }
        _ = try check(start + 4, count * elementBytes)
        return (start + 4, count)
    }

    /// Text of at most a megabyte. What is not UTF-8 in it is replaced.
    mutating func text(_ table: Table, _ field: Int) throws(FactError) -> String? {
        guard let (start, count) = try vector(table, field, elementBytes: 1, most: 1 << 20) else { return nil }
        return String(decoding: try source.bytes(at: start, count: count), as: UTF8.self)
    }

    mutating func floats(_ table: Table, _ field: Int) throws(FactError) -> [Float]? {
        guard let (start, count) = try vector(table, field, elementBytes: 4, most: 4_096) else { return nil }
        var values: [Float] = []
        for index in 0..<count {
            values.append(Float(bitPattern: try source.integer(UInt32.self, at: start + index * 4)))
        }
        return values
    }

    /// The first of a list of 64-bit numbers.
    mutating func firstLong(_ table: Table, _ field: Int) throws(FactError) -> Int64? {
        guard let (start, count) = try vector(table, field, elementBytes: 8, most: 65_536), count > 0 else {
            return nil
        }
        return try source.integer(Int64.self, at: start)
    }

    mutating func integers(_ table: Table, _ field: Int) throws(FactError) -> [Int]? {
        guard let (start, count) = try vector(table, field, elementBytes: 4, most: 65_536) else { return nil }
        var values: [Int] = []
        for index in 0..<count { values.append(Int(try source.integer(Int32.self, at: start + index * 4))) }
        return values
    }

    /// The range of a vector of bytes in the source.
    mutating func byteRange(_ table: Table, _ field: Int) throws(FactError) -> Range<Int>? {
        guard let (start, count) = try vector(table, field, elementBytes: 1, most: .max) else { return nil }
        return start..<start + count
    }

    mutating func count(_ table: Table, _ field: Int, most: Int = 65_536) throws(FactError) -> Int {
        try vector(table, field, elementBytes: 4, most: most)?.count ?? 0
    }

    /// One table of a list.
    mutating func element(_ table: Table, _ field: Int, _ index: Int) throws(FactError) -> Table? {
        guard let (start, count) = try vector(table, field, elementBytes: 4, most: 65_536), index >= 0, index < count
        else {
            return nil
        }
        return try self.table(at: try follow(start + index * 4))
    }

    /// All tables of a list.
    mutating func elements(_ table: Table, _ field: Int, most: Int = 4_096) throws(FactError) -> [Table] {
        let count = try count(table, field, most: most)
        var tables: [Table] = []
        for index in 0..<count {
            if let element = try element(table, field, index) { tables.append(element) }
        }
        return tables
    }
}

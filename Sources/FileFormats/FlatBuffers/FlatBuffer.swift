/// Reads FlatBuffers tables (the format's internals.md), in memory or in pieces. Every offset is checked, and the
/// number of tables read is bounded.
package final class FlatBuffer {
    package let source: ByteSource
    /// The range of the buffer in the source.
    package let range: Range<Int>
    private var tables = 0

    package static let maximumTables = 200_000

    /// - Parameters:
    ///   - range: the range of the buffer; nil for the whole source.
    ///   - identifier: the four letters after the root's offset.
    package init(_ source: ByteSource, range: Range<Int>? = nil, identifier: String) throws(FormatError) {
        let range = range ?? 0..<source.count
        self.source = source
        self.range = range
        guard range.count >= 8 else { throw FormatError("has \(range.count) bytes, too few for a FlatBuffer") }
        let found = String(decoding: try source.bytes(at: range.lowerBound + 4, count: 4), as: UTF8.self)
        guard found == identifier else {
            throw FormatError("begins with \"\(found)\" where a FlatBuffer has \"\(identifier)\"")
        }
    }

    package func root() throws(FormatError) -> Table { try table(at: follow(range.lowerBound)) }

    /// Follows the offset at a position.
    package func follow(_ place: Int) throws(FormatError) -> Int {
        let offset = Int(try source.integer(UInt32.self, at: try check(place, 4)))
        guard offset > 0 else { throw FormatError("has an offset of 0 at byte \(place)") }
        return try check(place + offset, 1)
    }

    fileprivate func check(_ place: Int, _ count: Int) throws(FormatError) -> Int {
        guard place >= range.lowerBound, count <= range.count, place <= range.upperBound - count else {
            throw FormatError("refers to byte \(place), outside its \(range.count) bytes")
        }
        return place
    }

    fileprivate func table(at place: Int) throws(FormatError) -> Table {
        tables += 1
        guard tables <= Self.maximumTables else { throw FormatError("has more than \(Self.maximumTables) tables") }
        let back = Int(try source.integer(Int32.self, at: try check(place, 4)))
        let fields = try check(place - back, 4)
        let bytes = Int(try source.integer(UInt16.self, at: fields))
        guard bytes >= 4 else {
            throw FormatError("has a table at byte \(place) whose list of fields has \(bytes) bytes")
        }
        _ = try check(fields, bytes)
        return Table(buffer: self, place: place, fields: fields, fieldBytes: bytes)
    }
}

extension FlatBuffer {
    /// A table: its position, and that of its field offsets. A field with its default value is nil.
    package struct Table {
        package let buffer: FlatBuffer
        package let place: Int
        fileprivate let fields: Int
        fileprivate let fieldBytes: Int

        /// The number of its fields, including those with default values.
        package var fieldCount: Int { (fieldBytes - 4) / 2 }

        /// The position of a field's value.
        package func field(_ index: Int) throws(FormatError) -> Int? {
            guard index >= 0, index < fieldCount else { return nil }
            let offset = Int(try buffer.source.integer(UInt16.self, at: fields + 4 + index * 2))
            return offset == 0 ? nil : try buffer.check(place + offset, 1)
        }

        package func number<T: FixedWidthInteger>(_ index: Int, _ type: T.Type) throws(FormatError) -> T? {
            guard let place = try field(index) else { return nil }
            return try buffer.source.integer(type, at: try buffer.check(place, MemoryLayout<T>.size))
        }

        package func float(_ index: Int) throws(FormatError) -> Float? {
            try number(index, UInt32.self).map { Float(bitPattern: $0) }
        }

        package func table(_ index: Int) throws(FormatError) -> Table? {
            guard let place = try field(index) else { return nil }
            return try buffer.table(at: try buffer.follow(place))
        }
    }

    /// A vector in a buffer. All of its elements are inside the buffer.
    package struct Vector {
        /// The position of the first element.
        package let start: Int
        package let count: Int
        package let elementBytes: Int

        package var range: Range<Int> { start..<start + count * elementBytes }
    }
}

extension FlatBuffer.Table {
    /// Reads a vector.
    /// - Parameter maximum: the maximum number of elements.
    package func vector(
        _ index: Int, elementBytes: Int, maximum: Int = .max
    ) throws(FormatError) -> FlatBuffer.Vector? {
        guard let place = try field(index) else { return nil }
        let start = try buffer.follow(place)
        let count = Int(try buffer.source.integer(UInt32.self, at: try buffer.check(start, 4)))
        guard count <= maximum else {
            throw FormatError("has a list of \(count) elements at byte \(start): the limit is \(maximum)")
        }
        _ = try buffer.check(start + 4, count * elementBytes)
        return FlatBuffer.Vector(start: start + 4, count: count, elementBytes: elementBytes)
    }

    /// Reads text of at most one megabyte. Bytes that are not UTF-8 are replaced.
    package func text(_ index: Int, maximum: Int = 1 << 20) throws(FormatError) -> String? {
        guard let vector = try vector(index, elementBytes: 1, maximum: maximum) else { return nil }
        return String(decoding: try buffer.source.bytes(at: vector.start, count: vector.count), as: UTF8.self)
    }

    /// Reads a vector of bytes. For a buffer in memory, the result is a slice without a copy.
    package func bytes(_ index: Int) throws(FormatError) -> ArraySlice<UInt8>? {
        guard let vector = try vector(index, elementBytes: 1) else { return nil }
        return try buffer.source.bytes(at: vector.start, count: vector.count, maximum: vector.count)
    }

    /// Reads a vector of numbers.
    package func numbers<T: FixedWidthInteger>(
        _ index: Int, _ type: T.Type, maximum: Int = 65_536
    ) throws(FormatError) -> [T]? {
        let size = MemoryLayout<T>.size
        guard let vector = try vector(index, elementBytes: size, maximum: maximum) else { return nil }
        var values: [T] = []
        values.reserveCapacity(vector.count)
        for element in 0..<vector.count {
            values.append(try buffer.source.integer(type, at: vector.start + element * size))
        }
        return values
    }

    package func floats(_ index: Int) throws(FormatError) -> [Float]? {
        try numbers(index, UInt32.self, maximum: 4_096)?.map { Float(bitPattern: $0) }
    }

    /// Reads a vector of signed 32-bit numbers.
    package func integers(_ index: Int, maximum: Int = 65_536) throws(FormatError) -> [Int]? {
        try numbers(index, Int32.self, maximum: maximum)?.map(Int.init)
    }

    package func count(_ index: Int, maximum: Int = 65_536) throws(FormatError) -> Int {
        try vector(index, elementBytes: 4, maximum: maximum)?.count ?? 0
    }

    /// One table of a vector; nil if the vector is shorter.
    package func element(_ index: Int, _ place: Int, maximum: Int = 65_536) throws(FormatError) -> FlatBuffer.Table? {
        guard let vector = try vector(index, elementBytes: 4, maximum: maximum), place >= 0, place < vector.count else {
            return nil
        }
        return try buffer.table(at: try buffer.follow(vector.start + place * 4))
    }

    /// All tables of a vector; nil if the vector is missing.
    package func tables(_ index: Int, maximum: Int = 4_096) throws(FormatError) -> [FlatBuffer.Table]? {
        guard let vector = try vector(index, elementBytes: 4, maximum: maximum) else { return nil }
        var tables: [FlatBuffer.Table] = []
        for place in 0..<vector.count {
            tables.append(try buffer.table(at: try buffer.follow(vector.start + place * 4)))
        }
        return tables
    }
}

/// Writes new tables before a FlatBuffer, which is kept unchanged after them. Offsets only point forward, so the new
/// tables may refer to each other and to the old part.
///
/// The format's "Internals" page: a table begins with the distance back to its list of fields; references are forward
/// distances of 32 bits.
package struct FlatBufferFront {
    /// The target of an offset.
    package indirect enum Node {
        /// The node at this position in the old file.
        case old(Int)
        /// A vector of numbers aligned to `alignment` bytes.
        case numbers(count: Int, alignment: Int, [UInt8])
        case string(String)
        /// A vector of offsets.
        case vector([Node])
        case table([Int: Value])
    }

    /// The value of a table's field.
    package enum Value {
        /// A number of 1, 4 or 8 bytes.
        case number([UInt8])
        case offset(Node)
    }

    /// The type of a field, by its number in the schema.
    package enum Kind {
        /// A number of the given size in bytes.
        case number(Int)
        case offset
    }

    /// The file cannot be rewritten: it is damaged, too large, or has unknown fields.
    package struct Unsuitable: Error {
        package init() {}
    }

    private var bytes: [UInt8] = []
    /// The offsets in the new part and their target nodes, in the order in which the nodes are written.
    private var open: [(place: Int, node: Node)] = []
    /// Offsets into the old file.
    private var old: [(place: Int, target: Int)] = []
    private let limit: Int

    /// The new tables followed by the old file.
    /// - Parameter limit: the maximum size of the new part in bytes.
    package static func writing(_ root: Node, identifier: String, before file: [UInt8], limit: Int) throws(Unsuitable)
        -> [UInt8]
    {
        var front = FlatBufferFront(limit: limit)
        front.open.append((0, root))
        front.bytes = [0, 0, 0, 0] + identifier.utf8
        var next = 0
        while next < front.open.count {
            let (place, node) = front.open[next]
            next += 1
            try front.write(node, for: place)
        }
        front.align(16)
        guard front.bytes.count + file.count <= Int(Int32.max) else { throw Unsuitable() }
        for (place, target) in front.old { front.patch(place, target: front.bytes.count + target) }
        return front.bytes + file
    }

    private init(limit: Int) {
        self.limit = limit
    }

    private mutating func write(_ node: Node, for place: Int) throws(Unsuitable) {
        switch node {
        case .old(let target):
            old.append((place, target))
        case .numbers(let count, let alignment, let content):
            // The count precedes the first element.
            align(alignment, before: 4)
            patch(place, target: bytes.count)
            append(UInt32(truncatingIfNeeded: count))
            bytes += content
        case .string(let string):
            align(4)
            patch(place, target: bytes.count)
            append(UInt32(truncatingIfNeeded: string.utf8.count))
            bytes += string.utf8
            bytes.append(0)
        case .vector(let nodes):
            align(4)
            patch(place, target: bytes.count)
            append(UInt32(truncatingIfNeeded: nodes.count))
            for node in nodes {
                open.append((bytes.count, node))
                append(UInt32(0))
            }
        case .table(let fields):
            write(fields, for: place)
        }
        guard bytes.count <= limit else { throw Unsuitable() }
    }

    private mutating func write(_ fields: [Int: Value], for place: Int) {
        let count = (fields.keys.max() ?? -1) + 1
        align(8)
        let list = bytes.count
        bytes += [UInt8](repeating: 0, count: 4 + 2 * count)
        align(8)
        let table = bytes.count
        patch(place, target: table)
        append(UInt32(truncatingIfNeeded: table - list))
        for (field, value) in fields.sorted(by: { $0.key < $1.key }) {
            switch value {
            case .number(let number):
                align(number.count)
                put(UInt16(truncatingIfNeeded: bytes.count - table), at: list + 4 + 2 * field)
                bytes += number
            case .offset(let node):
                align(4)
                put(UInt16(truncatingIfNeeded: bytes.count - table), at: list + 4 + 2 * field)
                open.append((bytes.count, node))
                append(UInt32(0))
            }
        }
        put(UInt16(truncatingIfNeeded: 4 + 2 * count), at: list)
        put(UInt16(truncatingIfNeeded: bytes.count - table), at: list + 2)
    }

    private mutating func align(_ multiple: Int, before size: Int = 0) {
        while (bytes.count + size) % multiple != 0 { bytes.append(0) }
    }

    private mutating func patch(_ place: Int, target: Int) {
        put(UInt32(truncatingIfNeeded: target - place), at: place)
    }

    private mutating func put<T: FixedWidthInteger>(_ value: T, at place: Int) {
        withUnsafeBytes(of: value.littleEndian) { source in
            for (index, byte) in source.enumerated() { bytes[place + index] = byte }
        }
    }

    private mutating func append<T: FixedWidthInteger>(_ value: T) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }
}

extension FlatBufferFront.Value {
    package static func number<T: FixedWidthInteger>(_ value: T) -> Self {
        .number(withUnsafeBytes(of: value.littleEndian) { Array($0) })
    }

    /// A vector of 32-bit numbers.
    package static func integers(_ values: [Int]) -> Self {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(4 * values.count)
        for value in values {
            withUnsafeBytes(of: Int32(truncatingIfNeeded: value).littleEndian) { bytes.append(contentsOf: $0) }
        }
        return .offset(.numbers(count: values.count, alignment: 4, bytes))
    }
}

extension FlatBuffer.Table {
    /// The fields of the table unchanged. The buffer must be the whole source.
    /// - Throws: if the table is damaged, or has a field that `kinds` does not include.
    package func fields(
        _ kinds: [FlatBufferFront.Kind]
    ) throws(FlatBufferFront.Unsuitable) -> [Int: FlatBufferFront.Value] {
        var fields: [Int: FlatBufferFront.Value] = [:]
        do throws(FormatError) {
            for index in 0..<fieldCount {
                guard let start = try field(index) else { continue }
                guard kinds.indices.contains(index) else { throw FormatError("has the unknown field \(index)") }
                switch kinds[index] {
                case .number(let size): fields[index] = .number(Array(try buffer.source.bytes(at: start, count: size)))
                case .offset: fields[index] = .offset(.old(try buffer.follow(start)))
                }
            }
        } catch {
            throw FlatBufferFront.Unsuitable()
        }
        return fields
    }
}

/// Reads FlatBuffers (the format's "Internals" page): tables of fields found by offsets. Every read is checked; what lies outside of
/// the bytes is nil.
struct FlatBufferBytes {
    let bytes: [UInt8]

    /// A little-endian number of `T`.
    func read<T: FixedWidthInteger>(_ place: Int, as: T.Type) -> T? {
        let size = MemoryLayout<T>.size
        guard place >= 0, place <= bytes.count - size else { return nil }
        return bytes.withUnsafeBytes { T(littleEndian: $0.loadUnaligned(fromByteOffset: place, as: T.self)) }
    }

    /// The place that an offset at a place leads to.
    func follow(_ place: Int) -> Int? {
        guard let offset = read(place, as: UInt32.self), offset > 0 else { return nil }
        let target = place + Int(offset)
        return target < bytes.count ? target : nil
    }

    /// The root table.
    var root: Table? { follow(0).map { Table(buffer: self, place: $0) } }

    struct Table {
        let buffer: FlatBufferBytes
        let place: Int

        /// The place of a field's value; nil if the table does not have it.
        func field(_ index: Int) -> Int? {
            guard let distance = buffer.read(place, as: Int32.self) else { return nil }
            let vtable = place - Int(distance)
            guard let size = buffer.read(vtable, as: UInt16.self), 4 + 2 * index + 2 <= Int(size),
                let offset = buffer.read(vtable + 4 + 2 * index, as: UInt16.self), offset > 0
            else { return nil }
            return place + Int(offset)
        }

        func integer<T: FixedWidthInteger>(_ index: Int, as type: T.Type) -> T? {
            field(index).flatMap { buffer.read($0, as: type) }
        }

        func table(_ index: Int) -> Table? {
            field(index).flatMap(buffer.follow).map { Table(buffer: buffer, place: $0) }
        }

        /// The elements of a vector of `size` bytes each; nil if they are not all there.
        func vector(_ index: Int, size: Int) -> Vector? {
            guard let start = field(index).flatMap(buffer.follow), let count = buffer.read(start, as: UInt32.self)
            else {
                return nil
            }
            let (length, overflow) = Int(count).multipliedReportingOverflow(by: size)
            guard !overflow, length <= buffer.bytes.count - start - 4 else { return nil }
            return Vector(buffer: buffer, start: start + 4, count: Int(count), size: size)
        }

        /// The tables of a vector of tables.
        func tables(_ index: Int) -> [Table]? {
            guard let vector = vector(index, size: 4) else { return nil }
            var tables: [Table] = []
            for element in 0..<vector.count {
                guard let place = buffer.follow(vector.start + 4 * element) else { return nil }
                tables.append(Table(buffer: buffer, place: place))
            }
            return tables
        }

        func integers<T: FixedWidthInteger>(_ index: Int, as type: T.Type) -> [T]? {
            guard let vector = vector(index, size: MemoryLayout<T>.size) else { return nil }
            return (0..<vector.count).compactMap { buffer.read(vector.start + $0 * vector.size, as: type) }
        }

        func string(_ index: Int) -> String? {
            guard let vector = vector(index, size: 1), vector.count <= 4_096 else { return nil }
            return String(decoding: buffer.bytes[vector.start..<vector.start + vector.count], as: UTF8.self)
        }
    }

    struct Vector {
        let buffer: FlatBufferBytes
        /// The first element.
        let start: Int
        let count: Int, size: Int

        var bytes: ArraySlice<UInt8> { buffer.bytes[start..<start + count * size] }
    }
}

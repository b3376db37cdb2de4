/// Writes numbers and texts as bytes, little-endian.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func byte(_ value: UInt8) { bytes.append(value) }
    mutating func number(_ value: Int) { integer(Int64(value)) }
    mutating func integer(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func raw(_ values: [UInt8]) { bytes.append(contentsOf: values) }

    mutating func text(_ value: String) {
        let text = Array(value.utf8)
        integer(UInt32(clamping: text.count))
        bytes.append(contentsOf: text)
    }

    mutating func floats(_ values: [Float]) {
        integer(UInt32(clamping: values.count))
        for value in values { integer(value.bitPattern) }
    }

    mutating func doubles(_ values: [Double]) {
        integer(UInt32(clamping: values.count))
        for value in values { integer(value.bitPattern) }
    }
}

/// Reads the output of ``ByteWriter``. Every error is nil, and nothing is read beyond the end.
struct ByteReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// True after the last byte.
    var isAtEnd: Bool { position == bytes.count }

    mutating func byte() -> UInt8? { integer(UInt8.self) }
    mutating func number() -> Int? { integer(Int64.self).flatMap { Int(exactly: $0) } }

    mutating func integer<T: FixedWidthInteger>(_: T.Type) -> T? {
        guard let piece = take(MemoryLayout<T>.size) else { return nil }
        return T(littleEndian: piece.loadUnaligned(as: T.self))
    }

    mutating func raw(_ count: Int) -> [UInt8]? { take(count).map { Array($0) } }

    /// Some numbers with the same number of bytes.
    mutating func raw(_ count: Int, of size: Int) -> [UInt8]? {
        let (bytes, isLarge) = count.multipliedReportingOverflow(by: size)
        return isLarge ? nil : raw(bytes)
    }

    mutating func text() -> String? {
        guard let count = integer(UInt32.self), let piece = take(Int(count)) else { return nil }
        return String(validating: piece, as: UTF8.self)
    }

    mutating func floats() -> [Float]? {
        guard let count = integer(UInt32.self), let piece = take(Int(count) * 4) else { return nil }
        let values = (0..<Int(count)).map {
            Float(bitPattern: UInt32(littleEndian: piece.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self)))
        }
        return values.allSatisfy(\.isFinite) ? values : nil
    }

    mutating func doubles() -> [Double]? {
        guard let count = integer(UInt32.self), let piece = take(Int(count) * 8) else { return nil }
        let values = (0..<Int(count)).map {
            Double(bitPattern: UInt64(littleEndian: piece.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self)))
        }
        return values.allSatisfy(\.isFinite) ? values : nil
    }

    /// Reads a list with its count; nil if an element is missing.
    mutating func list<T>(_ element: (inout ByteReader) -> T?) -> [T]? {
        guard let count = integer(UInt32.self) else { return nil }
        var list: [T] = []
        for _ in 0..<count {
            guard let value = element(&self) else { return nil }
            list.append(value)
        }
        return list
    }

    private mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count >= 0, count <= bytes.count - position else { return nil }
        defer { position += count }
        return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
    }
}

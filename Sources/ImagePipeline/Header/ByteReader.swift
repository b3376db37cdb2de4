#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// Reads numbers from untrusted bytes. Every access is checked; none traps.
struct ByteReader {
    let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var count: Int { bytes.count }

    func byte(_ offset: Int) -> UInt8? {
        offset >= 0 && offset < bytes.count ? bytes[offset] : nil
    }

    func big16(_ offset: Int) -> Int? {
        guard holds(2, at: offset) else { return nil }
        return Int(bytes[offset]) << 8 | Int(bytes[offset + 1])
    }

    func big32(_ offset: Int) -> Int? {
        guard let high = big16(offset), let low = big16(offset &+ 2) else { return nil }
        return high << 16 | low
    }

    func little16(_ offset: Int) -> Int? {
        guard holds(2, at: offset) else { return nil }
        return Int(bytes[offset + 1]) << 8 | Int(bytes[offset])
    }

    func little24(_ offset: Int) -> Int? {
        guard let low = little16(offset), let high = byte(offset &+ 2) else { return nil }
        return Int(high) << 16 | low
    }

    func little32(_ offset: Int) -> Int? {
        guard let low = little16(offset), let high = little16(offset &+ 2) else { return nil }
        return high << 16 | low
    }

    /// True if the bytes at the offset equal `text`.
    func has(_ text: StaticString, at offset: Int) -> Bool {
        guard holds(text.utf8CodeUnitCount, at: offset) else { return false }
        for index in 0..<text.utf8CodeUnitCount where text.utf8Start[index] != bytes[offset + index] {
            return false
        }
        return true
    }

    /// The offset of the next such byte, at or after `offset`.
    func next(_ byte: UInt8, from offset: Int) -> Int? {
        guard offset >= 0, offset < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + offset, Int32(byte), bytes.count - offset)
        else { return nil }
        return UnsafeRawPointer(found) - base
    }

    /// A part of the bytes, clipped at their end.
    func slice(_ start: Int, _ length: Int) -> ByteReader {
        guard start >= 0, length > 0, start < bytes.count else {
            return ByteReader(UnsafeRawBufferPointer(rebasing: bytes[0..<0]))
        }
        return ByteReader(UnsafeRawBufferPointer(rebasing: bytes[start..<start + min(length, bytes.count - start)]))
    }

    private func holds(_ length: Int, at offset: Int) -> Bool {
        offset >= 0 && length <= bytes.count && offset <= bytes.count - length
    }
}

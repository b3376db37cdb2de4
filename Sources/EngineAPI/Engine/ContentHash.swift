/// A checksum of 128 bits, for recognizing equal bytes later. It is fast, but does not protect against files that are
/// constructed to collide.
package struct ContentHash: Sendable, Hashable {
    /// The checksum of no bytes.
    package init() {}

    private var first: UInt64 = 0x243F_6A88_85A3_08D3, second: UInt64 = 0x1319_8A2E_0370_7344
    private var length: UInt64 = 0
    /// Bytes that do not fill a word yet: `length` modulo 8 of them.
    private var rest: UInt64 = 0

    /// Adds bytes to the current file or text.
    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var offset = 0
        while length % 8 != 0, offset < bytes.count { add(bytes[offset], &offset) }
        while offset + 8 <= bytes.count {
            mix(bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
            length &+= 8
        }
        while offset < bytes.count { add(bytes[offset], &offset) }
    }

    private mutating func add(_ byte: UInt8, _ offset: inout Int) {
        rest |= UInt64(byte) << (8 * (length % 8))
        length &+= 1
        offset += 1
        if length % 8 == 0 { mixRest() }
    }

    private mutating func mixRest() {
        mix(rest)
        rest = 0
    }

    /// Ends a file or text, so that the boundaries between texts are part of the checksum.
    private mutating func end() {
        if length % 8 != 0 { mixRest() }
        mix(length)
        length = 0
    }

    /// Adds the bytes of one file.
    package mutating func add(contents bytes: UnsafeRawBufferPointer) {
        add(bytes)
        end()
    }

    /// Adds one text.
    package mutating func add(_ text: String) {
        var text = text
        text.withUTF8 { add(contents: UnsafeRawBufferPointer($0)) }
    }

    private mutating func mix(_ word: UInt64) {
        first = (first ^ word) &* 0x9E37_79B9_7F4A_7C15
        first ^= first >> 29
        second = ((second &+ word) << 27 | (second &+ word) >> 37) &* 0xD6E8_FEB8_6659_FD93
    }

    /// Adds a file's contents. Blocks.
    /// - Parameter piece: called with each piece of the file, preceded by up to 64 bytes of the previous piece.
    /// - Returns: whether the file could be read.
    package mutating func add(file path: String, _ piece: (UnsafeRawBufferPointer) -> Void = { _ in }) -> Bool {
        guard let file = try? OpenFile(path) else { return false }
        let overlap = 64, size = 256 << 10
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: overlap + size, alignment: 16)
        defer { buffer.deallocate() }
        var kept = 0
        while true {
            guard let count = try? file.next(UnsafeMutableRawBufferPointer(rebasing: buffer[kept..<kept + size])) else {
                return false
            }
            guard count > 0 else {
                end()
                return true
            }
            add(UnsafeRawBufferPointer(rebasing: buffer[kept..<kept + count]))
            piece(UnsafeRawBufferPointer(rebasing: buffer[..<(kept + count)]))
            let end = kept + count, next = min(overlap, end)
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[(end - next)..<end]))
            kept = next
        }
    }

    /// 32 hexadecimal digits.
    package var text: String {
        [first ^ second >> 32, second].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

internal import SystemSupport

/// A checksum of files and texts in 128 bits, for recognizing equal ones later: SipHash with a key that is known, so
/// that it does not protect against files that are constructed to collide.
package struct ContentHash: Sendable {
    /// The checksum of no bytes.
    package init() {}

    private var hash = SipHash(key: SipHash.Key(low: 0, high: 0))
    /// The bytes of the current file or text.
    private var length: UInt64 = 0

    /// Adds bytes to the current file or text.
    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        hash.update(bytes)
        length &+= UInt64(bytes.count)
    }

    /// Ends a file or text, so that the boundaries between texts are part of the checksum.
    private mutating func end() {
        hash.update(length)
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
        let sum = hash.finish()
        return [sum.low, sum.high].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

/// A range of bytes in a buffer that the caller keeps alive. The parser passes it to checks of values, without a copy.
/// Never stored.
struct ByteSlice {
    let bytes: UnsafeRawBufferPointer
    var start: Int
    var end: Int

    @inline(__always) var count: Int { end &- start }
    @inline(__always) var isEmpty: Bool { start >= end }
    @inline(__always) subscript(_ index: Int) -> UInt8 { bytes[start &+ index] }

    var rebased: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[start..<end]) }
    var string: String { String(decoding: rebased, as: UTF8.self) }
    /// The first bytes in quotes, for messages.
    var excerpt: String {
        let shown = ByteSlice(bytes: bytes, start: start, end: min(end, start &+ 60)).string
        return count > 60 ? "\"\(shown)…\"" : "\"\(shown)\""
    }

    /// The slice without leading and trailing spaces and tabs.
    func trimmed() -> ByteSlice {
        var slice = self
        while !slice.isEmpty && ASCII.isBlank(slice.bytes[slice.start]) { slice.start &+= 1 }
        while !slice.isEmpty && ASCII.isBlank(slice.bytes[slice.end &- 1]) { slice.end &-= 1 }
        return slice
    }

    /// True if the slice equals `word` (lower case), ignoring the case of letters.
    func equals(lowercase word: StaticString) -> Bool {
        guard count == word.utf8CodeUnitCount else { return false }
        let expected = word.utf8Start
        for index in 0..<count where !ASCII.matches(bytes[start &+ index], lowercase: expected[index]) { return false }
        return true
    }

    /// Calls `body` with each member of a comma-separated list (RFC 9110 section 5.6.1), trimmed; skips empty members.
    func forEachListMember(_ body: (ByteSlice) -> Void) {
        var memberStart = start
        for index in start...max(start, end) where index == end || bytes[index] == ASCII.comma {
            let member = ByteSlice(bytes: bytes, start: memberStart, end: index).trimmed()
            if !member.isEmpty { body(member) }
            memberStart = index &+ 1
        }
    }
}

extension ASCII {
    /// True if `byte` equals `expected` (a lower-case letter, or any other byte), ignoring the case of letters.
    @inline(__always)
    static func matches(_ byte: UInt8, lowercase expected: UInt8) -> Bool {
        if byte == expected { return true }
        return byte | 0x20 == expected && expected &- 0x61 < 26
    }
}

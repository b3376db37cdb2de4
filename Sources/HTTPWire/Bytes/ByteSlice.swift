/// A range of bytes in a buffer that the caller keeps alive. The parser passes it to the checks of a value, with
/// no copy. Never stored.
struct ByteSlice {
    let bytes: UnsafeRawBufferPointer
    var start: Int
    var end: Int

    @inline(__always) var count: Int { end &- start }
    @inline(__always) var isEmpty: Bool { start >= end }
    @inline(__always) subscript(_ index: Int) -> UInt8 { bytes[start &+ index] }

    var rebased: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[start..<end]) }
    var string: String { String(decoding: rebased, as: UTF8.self) }
    /// Its beginning in quotes, for the error message.
    var excerpt: String {
        let shown = ByteSlice(bytes: bytes, start: start, end: min(end, start &+ 60)).string
        return count > 60 ? "\"\(shown)…\"" : "\"\(shown)\""
    }

    /// Without the spaces and tabs at both ends.
    func trimmed() -> ByteSlice {
        var slice = self
        while !slice.isEmpty && ASCII.isBlank(slice.bytes[slice.start]) { slice.start &+= 1 }
        while !slice.isEmpty && ASCII.isBlank(slice.bytes[slice.end &- 1]) { slice.end &-= 1 }
        return slice
    }

    /// True if this is `word`, which is given in lower case, in any case. Only letters of `word` match in two cases.
    func equals(lowercase word: StaticString) -> Bool {
        guard count == word.utf8CodeUnitCount else { return false }
        let expected = word.utf8Start
        for index in 0..<count where !ASCII.matches(bytes[start &+ index], lowercase: expected[index]) { return false }
        return true
    }

    /// Calls `body` with each member of a comma-separated list (RFC 9110 section 5.6.1), trimmed, empty ones left out.
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
    /// True if `byte` is `expected` (a lower-case letter, or any other byte), letters in either case.
    @inline(__always)
    static func matches(_ byte: UInt8, lowercase expected: UInt8) -> Bool {
        if byte == expected { return true }
        return byte | 0x20 == expected && expected &- 0x61 < 26
    }
}

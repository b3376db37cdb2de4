/// `uri-host [ ":" port ]`, RFC 9110 section 7.2 and RFC 3986 section 3.2: what Host holds. No user information.
enum Authority {
    /// Whether the slice is a host and an optional port. An empty one is: it says that the client knows no host.
    static func isValid(_ slice: ByteSlice) -> Bool {
        var index = slice.start
        let bytes = slice.bytes
        if !slice.isEmpty && slice[0] == ASCII.leftBracket {
            index &+= 1
            let addressStart = index
            while index < slice.end && ByteSet.addressLiteral.contains(bytes[index]) { index &+= 1 }
            guard index &- addressStart >= 2, index < slice.end, bytes[index] == ASCII.rightBracket else {
                return false
            }
            index &+= 1
        } else {
            while index < slice.end && ByteSet.registeredName.contains(bytes[index]) {
                if bytes[index] == ASCII.percent {
                    guard PercentCoding.escaped(bytes, at: index, end: slice.end) != nil else { return false }
                }
                index &+= 1
            }
        }
        return isPort(bytes, from: index, to: slice.end)
    }

    /// Nothing, or a colon and a number of at most 65535 (RFC 3986 lets it be empty).
    private static func isPort(_ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Bool {
        guard start < end else { return true }
        guard bytes[start] == ASCII.colon else { return false }
        var port = 0
        for index in (start &+ 1)..<end {
            guard ASCII.isDigit(bytes[index]) else { return false }
            port = port &* 10 &+ Int(bytes[index] &- ASCII.zero)
            guard port <= 65_535 else { return false }
        }
        return true
    }
}

/// `uri-host [ ":" port ]`, the value of Host: RFC 9110 section 7.2 and RFC 3986 section 3.2, without user information.
enum Authority {
    /// True if the slice is a host with an optional port. It may be empty, for a client that knows no host.
    static func isValid(_ slice: ByteSlice) -> Bool {
        var index = slice.start
        let bytes = slice.bytes
        if !slice.isEmpty && slice[0] == ASCII.leftBracket {
            index &+= 1
            let addressStart = index
            while index < slice.end && ByteSet.addressLiteral.contains(bytes[index]) { index &+= 1 }
            guard index < slice.end, bytes[index] == ASCII.rightBracket,
                isAddress(ByteSlice(bytes: bytes, start: addressStart, end: index))
            else { return false }
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

    /// True if the text between brackets is an IPv6address or IPvFuture (RFC 3986 section 3.2.2).
    private static func isAddress(_ text: ByteSlice) -> Bool {
        guard !text.isEmpty else { return false }
        if text[0] | 0x20 == UInt8(ascii: "v") { return isFutureAddress(text) }
        var groups = 0
        var isCompressed = false
        var index = text.start
        if text.bytes[index] == ASCII.colon {
            // A leading colon must belong to "::".
            guard text.count >= 2, text[1] == ASCII.colon else { return false }
            isCompressed = true
            index &+= 2
        }
        while index < text.end {
            let start = index
            while index < text.end, ASCII.hexValue(text.bytes[index]) != nil { index &+= 1 }
            if index < text.end, text.bytes[index] == ASCII.dot {
                // The last 32 bits may be in the IPv4 form.
                groups &+= 2
                guard isIPv4(ByteSlice(bytes: text.bytes, start: start, end: text.end)) else { return false }
                break
            }
            guard (1...4).contains(index &- start), groups < 8 else { return false }
            groups &+= 1
            guard index < text.end else { break }
            guard text.bytes[index] == ASCII.colon else { return false }
            index &+= 1
            guard index < text.end else { return false }
            if text.bytes[index] == ASCII.colon {
                guard !isCompressed else { return false }
                isCompressed = true
                index &+= 1
            }
        }
        return isCompressed ? groups <= 7 : groups == 8
    }

    /// Four decimal numbers from 0 to 255 without leading zeros (RFC 3986, dec-octet).
    private static func isIPv4(_ text: ByteSlice) -> Bool {
        var (numbers, digits, value) = (1, 0, 0)
        for index in text.start..<text.end {
            let byte = text.bytes[index]
            if byte == ASCII.dot {
                guard digits > 0 else { return false }
                (numbers, digits, value) = (numbers &+ 1, 0, 0)
            } else {
                guard ASCII.isDigit(byte), digits < 3, digits == 0 || value > 0 else { return false }
                value = value &* 10 &+ Int(byte &- ASCII.zero)
                digits &+= 1
                guard value <= 255 else { return false }
            }
        }
        return numbers == 4 && digits > 0
    }

    /// `"v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" )`; the caller has checked the bytes after the dot.
    private static func isFutureAddress(_ text: ByteSlice) -> Bool {
        var index = text.start &+ 1
        while index < text.end, ASCII.hexValue(text.bytes[index]) != nil { index &+= 1 }
        return index > text.start &+ 1 && index &+ 1 < text.end && text.bytes[index] == ASCII.dot
    }

    /// True for an empty text, or a colon and a number up to 65535, which may be missing (RFC 3986).
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

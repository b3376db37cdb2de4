/// Percent-encoding, RFC 3986 section 2.1.
enum PercentCoding {
    /// Decodes `slice`. A `%` without two hexadecimal digits after it is kept; the parser refuses such targets before.
    static func decode(_ slice: ByteSlice, plusIsSpace: Bool) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(slice.count)
        var index = slice.start
        while index < slice.end {
            let byte = slice.bytes[index]
            if byte == ASCII.percent, let value = escaped(slice.bytes, at: index, end: slice.end) {
                decoded.append(value)
                index &+= 3
            } else {
                decoded.append(plusIsSpace && byte == ASCII.plus ? ASCII.space : byte)
                index &+= 1
            }
        }
        return decoded
    }

    /// The byte encoded at `index`, or nil unless two hexadecimal digits follow before `end`.
    @inline(__always)
    static func escaped(_ bytes: UnsafeRawBufferPointer, at index: Int, end: Int) -> UInt8? {
        guard index &+ 2 < end, let high = ASCII.hexValue(bytes[index &+ 1]),
            let low = ASCII.hexValue(bytes[index &+ 2])
        else { return nil }
        return high &<< 4 | low
    }
}

/// The bytes of a head that was refused: malformed or incomplete.
public enum RefusedHead {
    /// The maximum number of bytes searched for a name.
    private static let longest = 32 << 10

    /// The value of the first field with a name, for the error response.
    ///
    /// - Parameters:
    ///   - name: the name, in lower case.
    ///   - bytes: the bytes received so far, from the start of the head.
    /// - Returns: nil if no complete line of the head has the name.
    public static func value(of name: StaticString, in bytes: UnsafeRawBufferPointer) -> String? {
        let end = min(bytes.count, longest)
        var start = 0
        while start < end, bytes[start] == ASCII.carriageReturn || bytes[start] == ASCII.lineFeed { start &+= 1 }
        var isRequestLine = true
        while let feed = lineFeed(bytes, from: start, to: end) {
            var line = ByteSlice(bytes: bytes, start: start, end: feed)
            if !line.isEmpty, bytes[feed &- 1] == ASCII.carriageReturn { line.end &-= 1 }
            guard !line.isEmpty else { return nil }
            if !isRequestLine, let value = Self.value(of: name, line: line) { return value }
            isRequestLine = false
            start = feed &+ 1
        }
        return nil
    }

    private static func lineFeed(_ bytes: UnsafeRawBufferPointer, from start: Int, to end: Int) -> Int? {
        var index = start
        while index < end {
            if bytes[index] == ASCII.lineFeed { return index }
            index &+= 1
        }
        return nil
    }

    private static func value(of name: StaticString, line: ByteSlice) -> String? {
        let colon = line.start &+ name.utf8CodeUnitCount
        guard colon < line.end, line.bytes[colon] == ASCII.colon,
            ByteSlice(bytes: line.bytes, start: line.start, end: colon).equals(lowercase: name)
        else { return nil }
        return ByteSlice(bytes: line.bytes, start: colon &+ 1, end: line.end).trimmed().string
    }
}

/// The parameters after a media type or a disposition: `*( OWS ";" OWS [ name "=" ( token / quoted-string ) ] )`,
/// RFC 9110 section 5.6.6.
struct ParameterList {
    private var rest: ByteSlice
    /// The error for malformed lists.
    private let reason: WireError.Reason

    /// Splits `value` at the first semicolon into its first word and its parameters.
    static func split(_ value: ByteSlice, reason: WireError.Reason) -> (word: ByteSlice, parameters: ParameterList) {
        var end = value.start
        while end < value.end && value.bytes[end] != ASCII.semicolon { end &+= 1 }
        let word = ByteSlice(bytes: value.bytes, start: value.start, end: end).trimmed()
        let rest = ByteSlice(bytes: value.bytes, start: end, end: value.end)
        return (word, ParameterList(rest: rest, reason: reason))
    }

    /// The next parameter, with quotes and escapes removed from its value; nil at the end.
    mutating func next() throws(WireError) -> (name: ByteSlice, value: [UInt8])? {
        while !rest.isEmpty && (rest[0] == ASCII.semicolon || ASCII.isBlank(rest[0])) { rest.start &+= 1 }
        guard !rest.isEmpty else { return nil }
        var name = rest
        while !rest.isEmpty && ByteSet.token.contains(rest[0]) { rest.start &+= 1 }
        name.end = rest.start
        guard !name.isEmpty, !rest.isEmpty, rest[0] == ASCII.equals else {
            throw WireError(reason, "a parameter must be name=value")
        }
        rest.start &+= 1
        let value = try !rest.isEmpty && rest[0] == ASCII.quote ? quoted() : word()
        while !rest.isEmpty && ASCII.isBlank(rest[0]) { rest.start &+= 1 }
        guard rest.isEmpty || rest[0] == ASCII.semicolon else {
            throw WireError(reason, "unexpected \(ASCII.describe(rest[0])) after a parameter")
        }
        return (name, value)
    }

    // A few clients do not quote a boundary that is not a token: accept all characters of boundaries.
    private mutating func word() throws(WireError) -> [UInt8] {
        let start = rest.start
        while !rest.isEmpty && rest[0] != ASCII.space
            && (ByteSet.token.contains(rest[0]) || ByteSet.boundary.contains(rest[0]))
        {
            rest.start &+= 1
        }
        guard rest.start > start else { throw WireError(reason, "a parameter has no value") }
        return [UInt8](rest.bytes[start..<rest.start])
    }

    // A backslash escapes only a quote or a backslash: browsers send Windows paths with single backslashes.
    private mutating func quoted() throws(WireError) -> [UInt8] {
        rest.start &+= 1
        var value: [UInt8] = []
        while !rest.isEmpty {
            var byte = rest[0]
            rest.start &+= 1
            if byte == ASCII.quote { return value }
            if byte == ASCII.backslash && !rest.isEmpty && (rest[0] == ASCII.quote || rest[0] == ASCII.backslash) {
                byte = rest[0]
                rest.start &+= 1
            }
            value.append(byte)
        }
        throw WireError(reason, "a quoted parameter does not end")
    }
}

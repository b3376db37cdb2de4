/// Framing and connection by the field lines of one head: RFC 9112 sections 3.2, 6 and 9.3.
///
/// If the RFC lets a server choose between repairing and refusing, this refuses: two servers in a row that repair
/// differently are what request smuggling is made of.
struct FieldSemantics: Sendable {
    private var hasHost = false
    private var contentLength: UInt64?
    private var isChunked = false
    private var saysClose = false
    private var saysKeepAlive = false
    private var saysContinue = false

    /// Takes one field line; `value` is trimmed.
    mutating func take(_ kind: FieldKind, _ value: ByteSlice, version: HTTPVersion) throws(WireError) {
        switch kind {
        case .other: break
        case .host: try takeHost(value)
        case .contentLength: try takeContentLength(value)
        case .transferEncoding: try takeTransferEncoding(value, version: version)
        case .connection: takeConnection(value)
        case .expect: try takeExpect(value)
        }
    }

    /// Once the head is complete: what only the absence of a field decides.
    func checkEnd(version: HTTPVersion) throws(WireError) {
        if !hasHost && version >= .http11 { throw WireError(.hostMissing) }
    }

    var framing: BodyFraming {
        if isChunked { return .chunked }
        return contentLength.map(BodyFraming.length) ?? .none
    }

    /// RFC 9112 section 9.3: `close` wins; 1.1 persists by default, 1.0 when asked to.
    func keepAlive(version: HTTPVersion) -> Bool {
        if saysClose { return false }
        return version >= .http11 || saysKeepAlive
    }

    /// RFC 9110 section 10.1.1: ignored in HTTP/1.0, and pointless where no body follows.
    func expectsContinue(version: HTTPVersion) -> Bool {
        guard saysContinue && version >= .http11 else { return false }
        return isChunked || (contentLength ?? 0) > 0
    }

    private mutating func takeHost(_ value: ByteSlice) throws(WireError) {
        if hasHost { throw WireError(.hostRepeated) }
        hasHost = true
        guard Authority.isValid(value) else { throw WireError(.hostInvalid) }
    }

    private mutating func takeContentLength(_ value: ByteSlice) throws(WireError) {
        if isChunked { throw WireError(.lengthAndEncoding) }
        // RFC 9110 section 8.6 lets equal repeated lengths be merged or refused.
        if contentLength != nil { throw WireError(.contentLengthRepeated) }
        guard !value.isEmpty else { throw WireError(.contentLengthInvalid, "it is empty") }
        var length: UInt64 = 0
        var isTooLarge = false
        for index in value.start..<value.end {
            let byte = value.bytes[index]
            guard ASCII.isDigit(byte) else {
                throw WireError(.contentLengthInvalid, "\(ASCII.describe(byte)) is not a digit")
            }
            // At most Int64.max, so that adding lengths up needs no care about signs.
            guard length < 922_337_203_685_477_580 else {
                isTooLarge = true
                continue
            }
            length = length &* 10 &+ UInt64(byte &- ASCII.zero)
        }
        if isTooLarge { throw WireError(.contentLengthTooLarge) }
        contentLength = length
    }

    private mutating func takeTransferEncoding(_ value: ByteSlice, version: HTTPVersion) throws(WireError) {
        // RFC 9112 section 6.1: faulty framing, whatever it says.
        if version < .http11 { throw WireError(.transferEncodingVersion) }
        if isChunked { throw WireError(.transferEncodingRepeated) }
        guard value.equals(lowercase: "chunked") else { throw refusal(of: value) }
        if contentLength != nil { throw WireError(.lengthAndEncoding) }
        isChunked = true
    }

    /// 501 for well-formed codings that are only not known here (RFC 9112 section 6.1), 400 where chunked is there but
    /// not once and last, or what is there is no list of codings (section 6.3). The connection is closed after either.
    private func refusal(of value: ByteSlice) -> WireError {
        var codings = 0
        var chunked = 0
        var lastIsChunked = false
        var areTokens = true
        value.forEachListMember { member in
            codings += 1
            lastIsChunked = member.equals(lowercase: "chunked")
            if lastIsChunked { chunked += 1 }
            for index in member.start..<member.end where !ByteSet.token.contains(member.bytes[index]) {
                areTokens = false
            }
        }
        // A lone chunked with empty members beside it is not this list: it was not taken for chunked, and is malformed.
        let areUnknown = chunked == 0 ? codings > 0 : codings > 1 && chunked == 1 && lastIsChunked
        if contentLength == nil && areTokens && areUnknown {
            return WireError(.transferEncodingUnknown, "\(value.excerpt) came")
        }
        return contentLength == nil ? WireError(.transferEncodingInvalid) : WireError(.lengthAndEncoding)
    }

    private mutating func takeConnection(_ value: ByteSlice) {
        var close = false
        var keepAlive = false
        value.forEachListMember { member in
            close = close || member.equals(lowercase: "close")
            keepAlive = keepAlive || member.equals(lowercase: "keep-alive")
        }
        saysClose = saysClose || close
        saysKeepAlive = saysKeepAlive || keepAlive
    }

    private mutating func takeExpect(_ value: ByteSlice) throws(WireError) {
        var known = 0
        var unknown = 0
        value.forEachListMember { member in
            if member.equals(lowercase: "100-continue") { known += 1 } else { unknown += 1 }
        }
        if unknown > 0 { throw WireError(.expectation, "\(value.excerpt) came") }
        saysContinue = saysContinue || known > 0
    }
}

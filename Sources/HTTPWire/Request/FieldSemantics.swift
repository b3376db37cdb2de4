/// Derives framing and connection handling from the field lines of a head: RFC 9112 sections 3.2, 6 and 9.3.
///
/// If the RFC allows a server to repair or to refuse, the parser refuses: request smuggling exploits two servers in a
/// chain that repair differently.
struct FieldSemantics: Sendable {
    private var hasHost = false
    private var contentLength: UInt64?
    private var isChunked = false
    private var hasClose = false
    private var hasKeepAlive = false
    private var hasContinue = false

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

    /// Checks for missing fields, once the head is complete.
    func checkEnd(version: HTTPVersion) throws(WireError) {
        if !hasHost && version >= .http11 { throw WireError(.hostMissing) }
    }

    var framing: BodyFraming {
        if isChunked { return .chunked }
        return contentLength.map(BodyFraming.length) ?? .none
    }

    /// True if the connection persists (RFC 9112 section 9.3): `close` wins; HTTP/1.1 persists by default, HTTP/1.0 on
    /// request.
    func keepAlive(version: HTTPVersion) -> Bool {
        if hasClose { return false }
        return version >= .http11 || hasKeepAlive
    }

    /// True if the client expects 100 (Continue) (RFC 9110 section 10.1.1): ignored in HTTP/1.0 and for requests
    /// without a body.
    func expectsContinue(version: HTTPVersion) -> Bool {
        guard hasContinue && version >= .http11 else { return false }
        return isChunked || (contentLength ?? 0) > 0
    }

    private mutating func takeHost(_ value: ByteSlice) throws(WireError) {
        if hasHost { throw WireError(.hostRepeated) }
        hasHost = true
        guard Authority.isValid(value) else { throw WireError(.hostInvalid) }
    }

    private mutating func takeContentLength(_ value: ByteSlice) throws(WireError) {
        if isChunked { throw WireError(.lengthAndEncoding) }
        // RFC 9110 section 8.6 allows a server to merge or to refuse equal repeated lengths.
        if contentLength != nil { throw WireError(.contentLengthRepeated) }
        guard !value.isEmpty else { throw WireError(.contentLengthInvalid, "it is empty") }
        var length: UInt64 = 0
        var isTooLarge = false
        for index in value.start..<value.end {
            let byte = value.bytes[index]
            guard ASCII.isDigit(byte) else {
                throw WireError(.contentLengthInvalid, "\(ASCII.describe(byte)) is not a digit")
            }
            // At most Int64.max, so that lengths can be added without regard to signs.
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
        // RFC 9112 section 6.1: the framing is faulty, whatever the value is.
        if version < .http11 { throw WireError(.transferEncodingVersion) }
        if isChunked { throw WireError(.transferEncodingRepeated) }
        guard value.equals(lowercase: "chunked") else { throw refusal(of: value) }
        if contentLength != nil { throw WireError(.lengthAndEncoding) }
        isChunked = true
    }

    /// 501 for well-formed but unknown codings (RFC 9112 section 6.1); 400 if chunked is present but not the only and
    /// last one, or the value is not a list of codings (section 6.3). The connection is closed in both cases.
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
        // A single chunked with empty list members is malformed, not unknown: it was not recognized as chunked.
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
        hasClose = hasClose || close
        hasKeepAlive = hasKeepAlive || keepAlive
    }

    private mutating func takeExpect(_ value: ByteSlice) throws(WireError) {
        var known = 0
        var unknown = 0
        value.forEachListMember { member in
            if member.equals(lowercase: "100-continue") { known += 1 } else { unknown += 1 }
        }
        if unknown > 0 { throw WireError(.expectation, "\(value.excerpt) came") }
        hasContinue = hasContinue || known > 0
    }
}

/// The rule that finds the end of a request's body (RFC 9112 section 6.3).
public enum BodyFraming: Sendable, Hashable, BitwiseCopyable {
    /// No body: neither Content-Length nor Transfer-Encoding was sent.
    case none
    /// Content-Length: the number of bytes, at most `Int64.max`.
    case length(UInt64)
    /// `Transfer-Encoding: chunked`: a `ChunkedDecoder` finds the end.
    case chunked
}

/// The fields that determine framing and connection handling; other fields are only stored.
enum FieldKind: Sendable {
    case other
    case host
    case contentLength
    case transferEncoding
    case connection
    case expect

    /// The kind of a field name. Compares the length first, because most names differ in it.
    @inline(__always)
    init(_ name: ByteSlice) {
        switch name.count {
        case 4 where name.equals(lowercase: "host"): self = .host
        case 6 where name.equals(lowercase: "expect"): self = .expect
        case 10 where name.equals(lowercase: "connection"): self = .connection
        case 14 where name.equals(lowercase: "content-length"): self = .contentLength
        case 17 where name.equals(lowercase: "transfer-encoding"): self = .transferEncoding
        default: self = .other
        }
    }
}

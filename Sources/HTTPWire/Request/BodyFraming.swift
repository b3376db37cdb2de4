/// The rule that finds the end of a request's body (RFC 9112 section 6.3).
public enum BodyFraming: Sendable, Hashable, BitwiseCopyable {
    /// No body: neither Content-Length nor Transfer-Encoding was sent.
    case none
    /// Content-Length: the number of bytes, at most `Int64.max`.
    case length(UInt64)
    /// `Transfer-Encoding: chunked`: a `ChunkedDecoder` finds the end.
    case chunked
}

/// The limits for input of unknown length. In bytes unless noted otherwise; negative values count as 0, and values
/// above 2^28 as 2^28.
public struct WireLimits: Sendable, Hashable {
    /// The request line without its CR LF; beyond it, the answer is 414. Default 8,192.
    public var requestLineBytes = 8_192
    /// All field lines of a head, with their CR LF and the final empty line; beyond it, 431. Default 16,384.
    public var headerBytes = 16_384
    /// The number of field lines in a head, and separately in a trailer section; beyond it, 431. Default 100.
    public var fieldCount = 100
    /// The name of a method; a longer one is answered by 501 (RFC 9112 section 3). Default 32.
    public var methodBytes = 32
    /// All chunk extensions of one body together, including semicolons (RFC 9112 section 7.1.1). Default 1,024.
    public var chunkExtensionBytes = 1_024
    /// All trailer lines of one body, with their CR LF and the final empty line (RFC 9112 section 7.1.2); beyond it,
    /// 431. Default 4,096.
    public var trailerBytes = 4_096
    /// The number of parts of one multipart body. Default 64.
    public var multipartParts = 64
    /// All header lines of one part with their CR LF. Default 4,096.
    public var multipartHeaderBytes = 4_096
    /// The number of header lines of one part. Default 16.
    public var multipartHeaderCount = 16

    /// The default limits.
    public init() {}
}

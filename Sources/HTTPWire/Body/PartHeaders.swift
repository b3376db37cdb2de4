/// The header of one part of a `multipart/form-data` body (RFC 7578 section 4).
public struct PartHeaders: Sendable, Hashable {
    /// The name of the form field, from Content-Disposition. Bytes that are not UTF-8 are replaced by U+FFFD.
    public let name: String
    /// The file name from the client: for display only, never used as a path. RFC 7578 section 4.2 forbids `filename*`;
    /// if a client sends nothing else, its value is used without decoding.
    public let filename: String?
    /// The Content-Type of the part; nil if it has no such field, which means `text/plain`.
    public let contentType: String?

    /// A header as the decoder emits it; also for tests.
    public init(name: String, filename: String? = nil, contentType: String? = nil) {
        self.name = name
        self.filename = filename
        self.contentType = contentType
    }
}

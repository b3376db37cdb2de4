/// The header of one part of a `multipart/form-data` body (RFC 7578 section 4).
public struct PartHeaders: Sendable, Hashable {
    /// The form field's name, from Content-Disposition. Bytes that are not UTF-8 are replaced by U+FFFD.
    public let name: String
    /// The file's name as the client states it: a hint for people, never a path. RFC 7578 section 4.2 forbids
    /// `filename*`; from clients that send nothing else it is taken as it stands, not decoded.
    public let filename: String?
    /// The part's Content-Type; nil if there is none, which means `text/plain`.
    public let contentType: String?

    /// A header as a decoder emits it; also for tests of those who read it.
    public init(name: String, filename: String? = nil, contentType: String? = nil) {
        self.name = name
        self.filename = filename
        self.contentType = contentType
    }
}

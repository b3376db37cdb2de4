/// Collects the header lines of one part (RFC 7578 section 4, RFC 2046 section 5.1).
struct PartHeaderParser: Sendable {
    private var name: String?
    private var filename: String?
    /// The value of `filename*`, not decoded.
    private var extendedFilename: String?
    private var contentType: String?
    private(set) var lines = 0

    /// Takes one line without its CR LF and without control characters.
    mutating func take(_ line: ByteSlice) throws(WireError) {
        lines &+= 1
        guard !ASCII.isBlank(line[0]) else { throw WireError(.multipartHeader, "a line starts with a space or tab") }
        var colon = line.start
        while colon < line.end && ByteSet.token.contains(line.bytes[colon]) { colon &+= 1 }
        guard colon > line.start, colon < line.end, line.bytes[colon] == ASCII.colon else {
            throw WireError(.multipartHeader, "a line does not start with a field name and a colon")
        }
        let field = ByteSlice(bytes: line.bytes, start: line.start, end: colon)
        let value = ByteSlice(bytes: line.bytes, start: colon &+ 1, end: line.end).trimmed()
        if field.equals(lowercase: "content-disposition") {
            try takeDisposition(value)
        } else if field.equals(lowercase: "content-type") {
            guard contentType == nil else { throw WireError(.multipartHeader, "there is more than one Content-Type") }
            contentType = value.string
        } else if field.equals(lowercase: "content-transfer-encoding") {
            // RFC 7578 section 4.7 deprecates the field; these three values have no effect.
            guard ["7bit", "8bit", "binary"].contains(where: { value.equals(lowercase: $0) }) else {
                throw WireError(.multipartEncoding)
            }
        }
    }

    /// Ends the header, at its empty line.
    func end() throws(WireError) -> PartHeaders {
        guard let name else { throw WireError(.multipartDisposition, "the field is missing") }
        return PartHeaders(name: name, filename: filename ?? extendedFilename, contentType: contentType)
    }

    private mutating func takeDisposition(_ value: ByteSlice) throws(WireError) {
        guard name == nil else { throw WireError(.multipartDisposition, "there is more than one") }
        var (type, parameters) = ParameterList.split(value, reason: .multipartDisposition)
        guard type.equals(lowercase: "form-data") else {
            throw WireError(.multipartDisposition, "its type is not form-data")
        }
        while let (parameter, value) = try parameters.next() {
            if parameter.equals(lowercase: "name") {
                guard name == nil else { throw WireError(.multipartDisposition, "name is given twice") }
                name = String(decoding: value, as: UTF8.self)
            } else if parameter.equals(lowercase: "filename") {
                guard filename == nil else { throw WireError(.multipartDisposition, "filename is given twice") }
                filename = String(decoding: value, as: UTF8.self)
            } else if parameter.equals(lowercase: "filename*") {
                extendedFilename = extendedFilename ?? String(decoding: value, as: UTF8.self)
            }
        }
        guard name != nil else { throw WireError(.multipartDisposition, "it has no name") }
    }
}

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

extension MultipartDecoder {
    /// The boundary in a Content-Type.
    ///
    /// - Parameter contentType: the value of the field.
    /// - Returns: nil if the type is not `multipart/form-data`.
    /// - Throws: if the boundary of a `multipart/form-data` is missing, malformed or repeated (RFC 2046 section 5.1.1).
    public static func boundary(contentType: String) throws(WireError) -> [UInt8]? {
        var contentType = contentType
        let found: Result<[UInt8]?, WireError> = contentType.withUTF8 { utf8 in
            let bytes = UnsafeRawBufferPointer(utf8)
            let value = ByteSlice(bytes: bytes, start: 0, end: bytes.count)
            return Result { () throws(WireError) in try boundary(value) }
        }
        return try found.get()
    }

    private static func boundary(_ value: ByteSlice) throws(WireError) -> [UInt8]? {
        var (type, parameters) = ParameterList.split(value, reason: .multipartBoundary)
        guard type.equals(lowercase: "multipart/form-data") else { return nil }
        var boundary: [UInt8]?
        while let (name, value) = try parameters.next() {
            guard name.equals(lowercase: "boundary") else { continue }
            guard boundary == nil else { throw WireError(.multipartBoundary, "it is given twice") }
            boundary = value
        }
        guard let boundary else { throw WireError(.multipartBoundary, "the Content-Type has none") }
        guard isValid(boundary) else { throw WireError(.multipartBoundary) }
        return boundary
    }

    /// 1 to 70 `bchars`, of which the last one is not a space (RFC 2046 section 5.1.1).
    static func isValid(_ boundary: [UInt8]) -> Bool {
        (1...70).contains(boundary.count) && boundary.last != ASCII.space
            && boundary.allSatisfy { ByteSet.boundary.contains($0) }
    }
}

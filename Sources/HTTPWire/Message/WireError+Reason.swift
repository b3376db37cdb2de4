extension WireError {
    /// The errors of this module. The raw value is the label for metrics.
    package enum Reason: String, CaseIterable, Sendable {
        // The request line, RFC 9112 section 3.
        case tlsHandshake = "tls_handshake"
        case methodInvalid = "method_invalid"
        case methodTooLong = "method_too_long"
        case methodConnect = "method_connect"
        case requestLine = "request_line"
        case requestLineTooLong = "request_line_too_long"
        case targetByte = "target_byte"
        case targetForm = "target_form"
        case targetAuthority = "target_authority"
        case targetScheme = "target_scheme"
        case targetEscape = "target_escape"
        case targetControl = "target_control"
        case targetSlash = "target_encoded_slash"
        case targetDots = "target_dot_segment"
        case targetText = "target_not_utf8"
        case versionInvalid = "version_invalid"
        case versionNotSupported = "version_not_supported"

        // Lines and fields, RFC 9112 sections 2.2 and 5.
        case bareCR = "bare_cr"
        case bareLF = "bare_lf"
        case nul = "nul"
        case leadingBlank = "leading_whitespace"
        case obsFold = "obs_fold"
        case blankBeforeColon = "space_before_colon"
        case fieldName = "field_name"
        case fieldValue = "field_value"
        case headersTooLarge = "headers_too_large"
        case tooManyFields = "too_many_fields"

        // The meaning of fields, RFC 9112 sections 3.2 and 6, RFC 9110 section 10.1.1.
        case hostMissing = "host_missing"
        case hostRepeated = "host_repeated"
        case hostInvalid = "host_invalid"
        case contentLengthInvalid = "content_length_invalid"
        case contentLengthRepeated = "content_length_repeated"
        case contentLengthTooLarge = "content_length_too_large"
        case transferEncodingInvalid = "transfer_encoding_invalid"
        case transferEncodingRepeated = "transfer_encoding_repeated"
        case transferEncodingUnknown = "transfer_encoding_unknown"
        case transferEncodingVersion = "transfer_encoding_in_http10"
        case lengthAndEncoding = "content_length_and_transfer_encoding"
        case expectation = "expectation"

        // The chunked coding, RFC 9112 section 7.1.
        case chunkSize = "chunk_size"
        case chunkSizeTooLarge = "chunk_size_too_large"
        case chunkExtension = "chunk_extension"
        case chunkExtensionTooLong = "chunk_extension_too_long"
        case chunkEnd = "chunk_end"
        case trailersTooLarge = "trailers_too_large"

        // multipart/form-data, RFC 2046 section 5.1 and RFC 7578.
        case multipartBoundary = "multipart_boundary"
        case multipartDelimiter = "multipart_delimiter"
        case multipartHeader = "multipart_header"
        case multipartHeaderTooLarge = "multipart_header_too_large"
        case multipartDisposition = "multipart_disposition"
        case multipartEncoding = "multipart_encoding"
        case multipartParts = "multipart_parts"
        case multipartIncomplete = "multipart_incomplete"
    }
}

extension WireError.Reason {
    /// The code in the JSON error body: `bad_request` unless there is a more specific one.
    package var code: ErrorCode {
        switch self {
        case .requestLineTooLong: .uriTooLong
        case .headersTooLarge, .tooManyFields, .trailersTooLarge: .headersTooLarge
        case .contentLengthTooLarge, .chunkSizeTooLarge, .multipartParts: .bodyTooLarge
        case .methodTooLong, .methodConnect, .transferEncodingUnknown: .notImplemented
        case .versionNotSupported: .versionNotSupported
        case .expectation: .expectationFailed
        case .targetScheme: .misdirectedRequest
        default: .badRequest
        }
    }

    /// The beginning of the message, before the detail.
    package var sentence: String {
        switch self {
        case .tlsHandshake:
            "TLS handshake on a plain HTTP port: use http://"
        case .methodInvalid: "the request does not start with a method"
        case .methodTooLong: "the method is too long"
        case .methodConnect: "CONNECT is not supported: this server is not a proxy"
        case .requestLine: "the request line must be method, space, target, space, HTTP version"
        case .requestLineTooLong: "the request line is too long"
        case .targetByte: "the request target contains a byte that must be percent-encoded"
        case .targetForm: "the request target must be a path that starts with '/', an http URI, or '*' for OPTIONS"
        case .targetAuthority: "the host in the request target is malformed"
        case .targetScheme:
            "the target is an https URI, but the connection does not use TLS: use only the path, or an http URI"
        case .targetEscape: "the request target contains a '%' that is not followed by two hexadecimal digits"
        case .targetControl: "the request target contains an encoded control character"
        case .targetSlash: "the path of the request target contains an encoded slash or backslash"
        case .targetDots: "the path of the request target contains a '.' or '..' segment"
        case .targetText: "the request target does not decode to UTF-8"
        case .versionInvalid: "the HTTP version is malformed"
        case .versionNotSupported: "this server speaks HTTP/1.1 and HTTP/1.0 only"
        case .bareCR: "a CR is not followed by an LF"
        case .bareLF: "a line ends with LF instead of CR LF"
        case .nul: "a field line contains a NUL"
        case .leadingBlank: "the first field line starts with a space or tab"
        case .obsFold: "a field line continues on the next line (obsolete line folding is not accepted)"
        case .blankBeforeColon: "there is a space or tab between a field name and its colon"
        case .fieldName: "a field line does not start with a field name and a colon"
        case .fieldValue: "a field value contains a control character"
        case .headersTooLarge: "the header block is too large"
        case .tooManyFields: "there are too many field lines"
        case .hostMissing: "an HTTP/1.1 request must have a Host field"
        case .hostRepeated: "there is more than one Host field"
        case .hostInvalid: "the Host field is malformed"
        case .contentLengthInvalid: "Content-Length must be one decimal number"
        case .contentLengthRepeated: "there is more than one Content-Length field"
        case .contentLengthTooLarge: "Content-Length is too large"
        case .transferEncodingInvalid: "Transfer-Encoding must be chunked"
        case .transferEncodingRepeated: "there is more than one Transfer-Encoding field"
        case .transferEncodingUnknown: "unsupported transfer coding: only chunked is supported"
        case .transferEncodingVersion: "an HTTP/1.0 request cannot have a Transfer-Encoding"
        case .lengthAndEncoding: "a request cannot have both Content-Length and Transfer-Encoding"
        case .expectation: "unsupported expectation: only 100-continue is supported"
        case .chunkSize: "a chunk must start with its size in hexadecimal digits"
        case .chunkSizeTooLarge: "a chunk size is too large"
        case .chunkExtension: "a chunk extension is malformed"
        case .chunkExtensionTooLong: "the chunk extensions are too long"
        case .chunkEnd: "a chunk's data must be followed by CR LF"
        case .trailersTooLarge: "the trailer section is too large"
        case .multipartBoundary: "the boundary of multipart/form-data must be 1 to 70 characters of RFC 2046"
        case .multipartDelimiter: "a boundary line of the multipart body is malformed"
        case .multipartHeader: "a part's header is malformed"
        case .multipartHeaderTooLarge: "a part's header is too large"
        case .multipartDisposition: "a part must have one Content-Disposition: form-data with a name"
        case .multipartEncoding: "a part has a Content-Transfer-Encoding, which form-data does not use"
        case .multipartParts: "the multipart body has too many parts"
        case .multipartIncomplete: "the multipart body ends before its closing boundary"
        }
    }
}

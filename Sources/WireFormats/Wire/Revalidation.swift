package import HTTPServer
internal import HTTPWire
internal import SystemSupport

extension HTTPResponse {
    /// The answer with its entity tag, or 304 if the client has that content (RFC 9110 section 13.1.2). Only for
    /// resources that are read with GET: an answer to POST has no 304.
    package func revalidated(by request: HTTPRequest, tag: String) -> HTTPResponse {
        var response = self
        response.fields.append(("ETag", tag))
        guard status == .ok, EntityTag.matches(request.head.values(of: "if-none-match"), tag) else { return response }
        // Fields of the 304 replace those in the client's cache (RFC 9111 section 4.3.4): send only those about
        // caching.
        response.fields.removeAll { !["etag", "cache-control", "vary"].contains($0.name.lowercased()) }
        response.status = .notModified
        response.body = []
        return response
    }

    /// The entity tag of a content.
    /// - Parameter isWeak: whether contents with this tag are equal only in meaning, not byte for byte.
    package static func entityTag(of content: some Sequence<UInt8>, isWeak: Bool = false) -> String {
        var hash = SHA256()
        Array(content).withUnsafeBytes { hash.update($0) }
        return (isWeak ? "W/" : "") + "\"\(SHA256.text(hash.finish()).prefix(32))\""
    }
}

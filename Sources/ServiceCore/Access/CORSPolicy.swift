package import HTTPServer
package import HTTPWire
package import ServicePlanning
internal import Settings

/// The permission for web pages of other origins (`cors_origins`), given by the fields of the Fetch standard's CORS
/// protocol.
///
/// Only routes of the classes `infer` and `read` take part. The browser's credentials (cookies, certificates) are never
/// allowed: a page that has a token sends it itself, in `Authorization`.
package struct CORSPolicy: Sendable, Hashable {
    /// The allowed origins; nil for all.
    private let origins: Set<String>?

    /// Nil if no page of another origin is allowed.
    package init?(_ origins: [String]) {
        guard !origins.isEmpty else { return nil }
        self.origins = origins.contains("*") ? nil : Set(origins)
    }

    // MARK: Answers

    /// The response fields that a page may read, in addition to those that every page may read.
    private static let exposed =
        "Allow, Cache-Status, ETag, Inference-Header-Content-Length, Model-Version, Retry-After, Server-Timing, WWW-Authenticate, X-Request-ID"

    /// True if pages of other origins may use routes of a class.
    package static func concerns(_ access: AccessClass?) -> Bool { access == .infer || access == .read }

    /// The CORS fields of an answer on a route that pages of other origins may use.
    package func fields(for head: RequestHead) -> [(name: String, value: String)] {
        // Vary is needed without an origin, or with a disallowed one, too: a cache must not give this answer to another
        // page.
        var fields = [(name: "Vary", value: "Origin")]
        guard let origin = allowed(head) else { return fields }
        fields.append((name: "Access-Control-Allow-Origin", value: origin))
        fields.append((name: "Access-Control-Expose-Headers", value: Self.exposed))
        return fields
    }

    /// Answers a preflight request; nil if the request is not a preflight, or asks for something that is not allowed.
    /// - Parameter methods: the methods of the resource that pages may use.
    package func preflight(_ head: RequestHead, methods: [HTTPMethod]) -> HTTPResponse? {
        guard head.method == .options, let requestedMethod = head.value(of: "access-control-request-method"),
            methods.contains(HTTPMethod(rawValue: requestedMethod)), let origin = allowed(head)
        else { return nil }
        var fields = [
            (name: "Vary", value: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"),
            (name: "Access-Control-Allow-Origin", value: origin),
            (name: "Access-Control-Allow-Methods", value: methods.map(\.rawValue).joined(separator: ", ")),
            (name: "Access-Control-Max-Age", value: Self.seconds),
        ]
        let names = head.values(of: "access-control-request-headers").joined(separator: ",")
        if !names.isEmpty, Self.isList(names) {
            fields.append((name: "Access-Control-Allow-Headers", value: names))
        }
        return HTTPResponse(status: .noContent, fields: fields)
    }

    /// The seconds for which a browser may cache a preflight's answer; after that, a changed setting applies to all
    /// pages.
    private static let seconds = "600"

    /// The value of `Access-Control-Allow-Origin`; nil if the request has no origin, several, or one that is not
    /// allowed.
    private func allowed(_ head: RequestHead) -> String? {
        guard head.contains("origin") else { return nil }
        let given = head.values(of: "origin")
        guard given.count == 1, let origin = given.first else { return nil }
        guard let origins else { return "*" }
        return origins.contains(origin) ? origin : nil
    }

    /// True if a text is a list of field names (RFC 9110 section 5.6). Any name that a browser lists is allowed:
    /// unknown fields have no effect in this server.
    private static func isList(_ names: String) -> Bool {
        names.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: "!#$%&'*+-.^_`|~, \t".utf8.contains(byte)
            }
        }
    }

    // MARK: The setting

    /// The error in the values of `cors_origins`; nil if they are valid.
    package static func problem(with origins: [String]) -> String? {
        if origins.contains("*"), origins.count > 1 {
            return "\"*\" stands for every origin and cannot be combined with others (cors_origins)"
        }
        let wrong = origins.filter { $0 != "*" && !isOrigin($0) }
        guard !wrong.isEmpty else { return nil }
        return wrong.map { "\"\($0)\"" }.joined(separator: ", ")
            + ": expected an origin as browsers send it, such as https://app.example or http://localhost:3000 (lower case, no path, no default port), or * (cors_origins)"
    }

    /// True if a text is an origin in the form that browsers send (RFC 6454 section 6.2): origins are compared byte by
    /// byte.
    private static func isOrigin(_ text: String) -> Bool {
        guard let end = text.firstRange(of: "://") else { return false }
        let scheme = text[..<end.lowerBound], authority = text[end.upperBound...]
        let letters = { (byte: UInt8) in (0x61...0x7A).contains(byte) }
        let isScheme =
            scheme.utf8.first.map(letters) == true
            && scheme.utf8.allSatisfy { letters($0) || (0x30...0x39).contains($0) || "+-.".utf8.contains($0) }
        var host = authority[...]
        let colon = authority.lastIndex(of: ":")
        if let colon, !authority.hasSuffix("]") {
            let port = authority[authority.index(after: colon)...]
            guard let number = UInt16(port), String(number) == port, number > 0,
                !(scheme == "http" && number == 80 || scheme == "https" && number == 443)
            else { return false }
            host = authority[..<colon]
        }
        let isHost =
            host.hasPrefix("[") && host.hasSuffix("]")
            ? host.dropFirst().dropLast().utf8.allSatisfy {
                (0x30...0x3A).contains($0) || (0x61...0x66).contains($0) || $0 == 0x2E
            }
            : host.utf8.allSatisfy { letters($0) || (0x30...0x39).contains($0) || "-._".utf8.contains($0) }
        return isScheme && !host.isEmpty && isHost
    }
}

/// The destination of the requests: a parsed URL.
package struct LoadTarget: Sendable, Hashable {
    /// The address of the server.
    package enum Place: Sendable, Hashable {
        case tcp(host: String, port: UInt16)
        case unix(path: String)
    }

    package let place: Place
    /// The request target: path and query.
    package let path: String
    /// The `Host` field (RFC 9110, 7.2).
    package let authority: String

    /// The path for URLs without a path.
    package static let defaultPath = "/v1/classify"

    /// True if an argument is the URL of a server: `http://...`, `unix:...`, or HOST:PORT.
    package static func looksLikeURL(_ text: String) -> Bool {
        if text.contains("://") || text.hasPrefix("unix:") { return true }
        let authority = text.prefix { $0 != "/" }
        guard let colon = authority.lastIndex(of: ":") else { return false }
        let port = authority[authority.index(after: colon)...]
        return !port.isEmpty && port.allSatisfy { $0.isASCII && $0.isNumber }
    }

    /// Parses `http://HOST[:PORT][/PATH]`, `HOST:PORT[/PATH]`, `unix:SOCKET` or, in the syntax of proxies,
    /// `http://unix:SOCKET:/PATH`.
    /// - Parameter defaultPath: the path for URLs without a path.
    package init(parsing text: String, defaultPath: String = Self.defaultPath) throws(LoadError) {
        var rest = text[...]
        if let range = text.firstRange(of: "://") {
            let scheme = text[..<range.lowerBound].lowercased()
            guard scheme == "http" else {
                throw LoadError(
                    "\"\(text)\": \(scheme) is not supported, only http: give the address that the proxy for TLS forwards to"
                )
            }
            rest = text[range.upperBound...]
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw LoadError("\"\(text)\": a URL has no spaces, controls or letters beyond ASCII; write them as %XX")
        }
        if rest.hasPrefix("unix:") {
            rest = rest.dropFirst(5)
            let end = rest.firstRange(of: ":/").map(\.lowerBound) ?? rest.endIndex
            let socket = String(rest[..<end])
            guard !socket.isEmpty, socket.utf8.count < 108 else {
                throw LoadError("\"\(text)\": the path of a socket has 1 to 107 bytes")
            }
            place = .unix(path: socket)
            authority = "localhost"
            path = end == rest.endIndex ? defaultPath : String(rest[rest.index(after: end)...])
            return
        }
        let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
        let authority = rest[..<end]
        guard !authority.isEmpty, !authority.contains("@") else {
            throw LoadError("\"\(text)\": expected http://HOST[:PORT][/PATH], without a user or password")
        }
        var host = authority, port: UInt16 = 80
        if authority.first == "[" {
            guard let close = authority.firstIndex(of: "]") else {
                throw LoadError("\"\(text)\": an IPv6 address ends with \"]\"")
            }
            host = authority[authority.index(after: authority.startIndex)..<close]
            let tail = authority[authority.index(after: close)...]
            if !tail.isEmpty { port = try Self.port(tail.first == ":" ? tail.dropFirst() : tail, of: text) }
        } else if let colon = authority.lastIndex(of: ":") {
            host = authority[..<colon]
            port = try Self.port(authority[authority.index(after: colon)...], of: text)
        }
        guard !host.isEmpty else { throw LoadError("\"\(text)\": the host is missing") }
        place = .tcp(host: String(host), port: port)
        self.authority = String(authority)
        let path = rest[end...].prefix { $0 != "#" }
        self.path = path.isEmpty ? defaultPath : path.hasPrefix("?") ? defaultPath + path : String(path)
    }

    private static func port(_ text: Substring, of url: String) throws(LoadError) -> UInt16 {
        guard let port = UInt16(text), port > 0 else {
            throw LoadError("\"\(url)\": expected a port from 1 to 65535, found \"\(text)\"")
        }
        return port
    }

    /// The URL in its complete form.
    package var description: String {
        switch place {
        case .tcp: "http://\(authority)\(path)"
        case .unix(let socket): "http://unix:\(socket):\(path)"
        }
    }
}

/// An absolute address of http or https, in the parts that decide where a request goes.
package struct WebAddress: Sendable, Hashable {
    /// `http` or `https`.
    package let scheme: String
    /// `user:password` as written, percent-encoded; nil if the address has none.
    package let credentials: String?
    /// In lower case; an IPv6 address in brackets.
    package let host: String
    package let port: Int
    /// Begins with a slash.
    package let path: String
    package let query: String?

    /// The maximum length of an address in bytes.
    private static let longest = 8192

    /// Nil if the text is not such an address.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.longest, let text = Self.escaped(text) else { return nil }
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else { return nil }
        let scheme = text[..<colon].lowercased()
        guard scheme == "http" || scheme == "https" else { return nil }
        let rest = text[text.index(colon, offsetBy: 3)...].prefix { $0 != "#" }
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let target = rest[authority.endIndex...]
        let at = authority.lastIndex(of: "@")
        guard let (host, port) = Self.place(at.map { authority[authority.index(after: $0)...] } ?? authority) else {
            return nil
        }
        let path = target.prefix { $0 != "?" }
        self.scheme = scheme
        credentials = at.map { String(authority[..<$0]) }
        self.host = host
        self.port = port ?? (scheme == "https" ? 443 : 80)
        self.path = path.isEmpty ? "/" : String(path)
        query = target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) }
    }

    private init(_ base: WebAddress, path: String, query: String?) {
        (scheme, credentials, host, port) = (base.scheme, nil, base.host, base.port)
        (self.path, self.query) = (path, query)
    }

    /// The text with bytes beyond ASCII percent-encoded; nil if it has blanks or other characters that no address has.
    private static func escaped(_ text: String) -> String? {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0...0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"):
                return nil
            case 0x80...: bytes += PercentEncoding.escape(byte)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func place(_ text: Substring) -> (host: String, port: Int?)? {
        let host: Substring
        if text.first == "[" {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[...end]
            let digits = host.dropFirst().dropLast()
            guard !digits.isEmpty, digits.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else { return nil }
        } else {
            host = text.prefix { $0 != ":" }
            guard !host.isEmpty, host.utf8.count <= 253,
                host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0)) })
            else { return nil }
        }
        let rest = text[host.endIndex...]
        guard !rest.isEmpty else { return (host.lowercased(), nil) }
        let digits = rest.dropFirst()
        guard rest.first == ":", digits.count <= 5, digits.allSatisfy({ $0.isASCII && $0.isNumber }),
            let port = Int(digits), (1...65_535).contains(port)
        else { return nil }
        return (host.lowercased(), port)
    }

    /// The address with this path and query on the same server, without credentials.
    package func with(path: String, query: String? = nil) -> WebAddress { WebAddress(self, path: path, query: query) }

    /// The address that a `Location` field of an answer to this one means; nil if it is not of http or https.
    package func resolving(_ location: String) -> WebAddress? {
        let start = location.prefix { !"/?#".contains($0) }
        if start.contains(":") { return WebAddress(location) }
        if location.hasPrefix("//") { return WebAddress(scheme + ":" + location) }
        if location.hasPrefix("/") { return WebAddress(origin + location) }
        if location.hasPrefix("?") { return WebAddress(origin + path + location) }
        guard !location.isEmpty, let slash = path.lastIndex(of: "/") else { return nil }
        return WebAddress(origin + path[...slash] + location)
    }

    /// The scheme, host and port, which decide whether two addresses are of the same server.
    package var origin: String {
        "\(scheme)://\(host)\(port == (scheme == "https" ? 443 : 80) ? "" : ":\(port)")"
    }

    /// The address for messages and records, without credentials and query, which may be secret.
    package var shown: String { origin + path }

    /// The address of the request, without credentials.
    package var requested: String { origin + path + (query.map { "?" + $0 } ?? "") }

    /// True if the host is this machine by its own name or number: nothing leaves the machine.
    package var isLoopback: Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

/// Percent-encoding (RFC 3986).
package enum PercentEncoding {
    /// A byte as `%` and two digits.
    static func escape(_ byte: UInt8) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        return [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// The text with all bytes encoded but letters, digits, `-._~` and those of `keeping`.
    package static func encode(_ text: String, keeping: String = "") -> String {
        let plain = Set("-._~".utf8).union(keeping.utf8)
        return String(
            decoding: text.utf8.flatMap { byte -> [UInt8] in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    [byte]
                default: plain.contains(byte) ? [byte] : escape(byte)
                }
            }, as: UTF8.self)
    }

    /// The text with encoded bytes decoded; nil if an encoding is damaged or the result is not UTF-8.
    package static func decode(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let high = Character(Unicode.Scalar(rest.removeFirst())).hexDigitValue,
                let low = Character(Unicode.Scalar(rest.removeFirst())).hexDigitValue
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

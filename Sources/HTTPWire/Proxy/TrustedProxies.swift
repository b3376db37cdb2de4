/// The proxies that are trusted to report the client's address, and the fields for it: `Forwarded` (RFC 7239) and
/// `X-Forwarded-For`.
///
/// Each proxy appends the address of its client. Earlier entries can be forged, so the fields are read from the end as
/// long as the proxies are trusted: the client is the last address that is not a trusted proxy.
public struct TrustedProxies: Sendable, Hashable {
    private let networks: [IPNetwork]
    private let isUnixTrusted: Bool

    /// No trusted proxies.
    public static let none = TrustedProxies(networks: [], isUnixTrusted: false)

    private init(networks: [IPNetwork], isUnixTrusted: Bool) {
        self.networks = networks
        self.isUnixTrusted = isUnixTrusted
    }

    /// Parses addresses (`192.0.2.1`), networks (`10.0.0.0/8`), and `unix` for all peers on Unix-domain sockets; nil if
    /// one of them is invalid.
    public init?(_ texts: [String]) {
        var networks: [IPNetwork] = []
        for text in texts where text != "unix" {
            guard let network = IPNetwork(parsing: text) else { return nil }
            networks.append(network)
        }
        self.init(networks: networks, isUnixTrusted: texts.contains("unix"))
    }

    /// True if no proxy is trusted.
    public var isEmpty: Bool { networks.isEmpty && !isUnixTrusted }

    /// True if a peer is trusted: `127.0.0.1:4242`, `[::1]:4242` or `unix`.
    public func trust(_ peer: String) -> Bool {
        if peer == "unix" { return isUnixTrusted }
        guard !networks.isEmpty, let endpoint = IPEndpoint(parsing: peer) else { return false }
        return trust(endpoint.address)
    }

    private func trust(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address) } }

    /// The address of the client that sent a request.
    /// - Parameter peer: the peer of the connection, or the source in its PROXY header.
    public func client(of head: RequestHead, peer: String) -> String {
        guard !isEmpty, trust(peer) else { return peer }
        let standard = head.contains("forwarded") ? Self.forwarded(head.values(of: "forwarded")) : nil
        let usual = head.contains("x-forwarded-for") ? Self.forwardedFor(head.values(of: "x-forwarded-for")) : nil
        // A proxy that sets one of the fields passes on the other one as the client sent it: if they differ, ignore
        // both.
        switch (standard.map(lastUntrusted), usual.map(lastUntrusted)) {
        case (nil, nil): return peer
        case (let client?, nil), (nil, let client?): return client?.description ?? peer
        case (let one?, let other?): return one?.address == other?.address ? one?.description ?? peer : peer
        }
    }

    /// The last hop that is not trusted; if all are, the first one. A hop without an address ends the search: nil if it
    /// is the last one.
    private func lastUntrusted(_ hops: [IPEndpoint?]) -> IPEndpoint? {
        var client: IPEndpoint?
        for hop in hops.reversed() {
            guard let hop else { return client }
            client = hop
            guard trust(hop.address) else { return client }
        }
        return client
    }

    // MARK: The fields

    /// The maximum number of hops that are read.
    private static let maximumHops = 64

    /// The hops of `X-Forwarded-For: ADDRESS, ADDRESS`; nil for an invalid address.
    static func forwardedFor(_ values: [String]) -> [IPEndpoint?] {
        values.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }.suffix(maximumHops).map {
            IPEndpoint(parsing: trimmed($0))
        }
    }

    /// The hops of `Forwarded: for=ADDRESS;proto=https, for="[2001:db8::1]:80"`; nil for a hop without an address
    /// (`unknown`, `_hidden`), and a single nil if the field is malformed.
    static func forwarded(_ values: [String]) -> [IPEndpoint?] {
        var hops: [IPEndpoint?] = []
        for value in values {
            guard let elements = split(value, at: ASCII.comma) else { return [nil] }
            for element in elements {
                guard let pairs = split(element, at: ASCII.semicolon) else { return [nil] }
                let nodes = pairs.compactMap { pair -> Substring? in
                    let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                    return parts.count == 2 && trimmed(parts[0]).lowercased() == "for" ? trimmed(parts[1]) : nil
                }
                hops.append(nodes.count == 1 ? IPEndpoint(parsing: unquoted(nodes[0])) : nil)
            }
        }
        return Array(hops.suffix(maximumHops))
    }

    /// Splits at separators outside quoted strings; nil if a quoted string is not closed.
    private static func split(_ text: some StringProtocol, at separator: UInt8) -> [Substring]? {
        let text = Substring(text)
        var parts: [Substring] = []
        var start = text.startIndex
        var isQuoted = false, isEscaped = false
        for index in text.utf8.indices {
            let byte = text.utf8[index]
            if isEscaped {
                isEscaped = false
            } else if isQuoted, byte == ASCII.backslash {
                isEscaped = true
            } else if byte == ASCII.quote {
                isQuoted.toggle()
            } else if byte == separator, !isQuoted {
                parts.append(text[start..<index])
                start = text.utf8.index(after: index)
            }
        }
        return isQuoted ? nil : parts + [text[start...]]
    }

    /// The content of a quoted string. Escapes are kept, which makes the text invalid as an address: addresses need no
    /// escapes.
    private static func unquoted(_ text: Substring) -> Substring {
        text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"") ? text.dropFirst().dropLast() : text
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var text = text.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text
    }
}

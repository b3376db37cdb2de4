/// The proxies that are trusted to name the client, and the fields in which they do so: `Forwarded` (RFC 7239) and
/// `X-Forwarded-For`.
///
/// Each proxy appends the address of its client. Entries before that may be forged, so the fields are read
/// from the end, as long as the proxies are trusted: the client is the last address that is not a trusted proxy.
public struct TrustedProxies: Sendable, Hashable {
    private let networks: [IPNetwork]
    private let isUnixTrusted: Bool

    /// None.
    public static let none = TrustedProxies(networks: [], isUnixTrusted: false)

    private init(networks: [IPNetwork], isUnixTrusted: Bool) {
        self.networks = networks
        self.isUnixTrusted = isUnixTrusted
    }

    /// Reads addresses (`192.0.2.1`), networks (`10.0.0.0/8`), and `unix` for all who come over a Unix-domain socket;
    /// nil if any of them is invalid.
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

    /// The sender of a request.
    /// - Parameter peer: who has sent it to this server, or to the proxy that sends PROXY headers.
    public func client(of head: RequestHead, peer: String) -> String {
        guard !isEmpty, trust(peer) else { return peer }
        let standard = head.contains("forwarded") ? Self.forwarded(head.values(of: "forwarded")) : nil
        let usual = head.contains("x-forwarded-for") ? Self.forwardedFor(head.values(of: "x-forwarded-for")) : nil
        // A proxy that writes one of the fields passes the other on as a client has sent it: where they differ, neither
        // counts.
        switch (standard.map(lastUntrusted), usual.map(lastUntrusted)) {
        case (nil, nil): return peer
        case (let client?, nil), (nil, let client?): return client?.description ?? peer
        case (let one?, let other?): return one?.address == other?.address ? one?.description ?? peer : peer
        }
    }

    /// The last of some hops that is not trusted, or the first of all. A hop that is not an address ends the search:
    /// nil if none comes after it.
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

    /// The most hops that are looked at.
    private static let mostHops = 64

    /// The hops of `X-Forwarded-For: ADDRESS, ADDRESS`; nil for one that is not an address.
    static func forwardedFor(_ values: [String]) -> [IPEndpoint?] {
        values.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }.suffix(mostHops).map {
            IPEndpoint(parsing: trimmed($0))
        }
    }

    /// The hops of `Forwarded: for=ADDRESS;proto=https, for="[2001:db8::1]:80"`; nil for one that has no address
    /// (`unknown`, `_hidden`), and nothing but nil if the field is malformed.
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
        return Array(hops.suffix(mostHops))
    }

    /// The parts between separators outside quoted strings; nil if a quoted string has no end.
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

    /// A quoted string's contents. An address needs no escapes: text with some is none.
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

internal import Glibc
internal import Rollout

/// The sender of a request: the holder of a token where tokens are asked for, else an address.
///
/// Of an address, what one client can hardly change: all of IPv4, and of IPv6 the first 64 bits, of which a network has
/// all the rest. Behind a proxy it is the client's own address where the proxy is trusted to say it
/// (`trusted_proxies`), as in the access log.
package struct ClientIdentity: Sendable, Hashable {
    /// Differs for each process, so that nobody can choose whom to share it with.
    package let number: UInt64
    /// The same in every process, for what must not change with a restart.
    package let sticky: UInt64
    /// As ``number``, but of the whole address: for answers, whose time would tell a neighbour what another has sent.
    package let sender: UInt64

    /// - Parameters:
    ///   - address: `192.0.2.1`, `192.0.2.1:4242`, `[2001:db8::1]:4242`, or `unix`.
    ///   - token: the token that has been accepted (``AccessControl/check(_:_:)``); nil where none is asked for.
    package init(_ address: String, token: [UInt8]?) {
        if let token {
            number = Self.number(token)
            sender = number
            // Of the field in its usual form, as in earlier versions: a client stays in its share.
            sticky = StickyShare.number(Array("Bearer ".utf8) + token)
        } else {
            let host = Self.host(address), bytes = Self.significant(host)
            number = Self.number(bytes)
            // Only of IPv6 the significant bytes are not all.
            sender = host.contains(UInt8(ascii: ":")) ? Self.number(Array(host)) : number
            sticky = StickyShare.number(bytes)
        }
    }

    private static func number(_ bytes: [UInt8]) -> UInt64 {
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// An address without its port.
    private static func host(_ address: String) -> ArraySlice<UInt8> {
        let colon = UInt8(ascii: ":"), host = Array(address.utf8)[...]
        if host.first == UInt8(ascii: "[") { return host.dropFirst().prefix { $0 != UInt8(ascii: "]") } }
        if let end = host.firstIndex(of: colon), !host[(end + 1)...].contains(colon) { return host[..<end] }
        return host
    }

    /// The bytes of an address that count.
    private static func significant(_ host: ArraySlice<UInt8>) -> [UInt8] {
        guard host.contains(UInt8(ascii: ":")) else { return Array(host) }
        var binary = in6_addr()
        guard
            inet_pton(AF_INET6, String(decoding: host.prefix { $0 != UInt8(ascii: "%") }, as: UTF8.self), &binary) == 1
        else {
            return Array(host)
        }
        let bytes = withUnsafeBytes(of: binary) { Array($0) }
        let isMapped = bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
        if isMapped { return Array(bytes[12...].map { "\($0)" }.joined(separator: ".").utf8) }
        return Array(bytes[..<8])
    }
}

internal import Glibc
internal import Rollout

/// The identity of a client: its token if tokens are required, otherwise its address.
///
/// Only the part of an address that a client can hardly change counts: all of IPv4, and the first 64 bits of IPv6,
/// because one network has all addresses below them. Behind a proxy in `trusted_proxies` it is the client's address
/// that the proxy reports, as in the access log.
package struct ClientIdentity: Sendable, Hashable {
    /// The client's number in this process. It differs in each process, so that no client can choose another to share
    /// it with.
    package let number: UInt64
    /// The client's number in every process, for decisions that must survive a restart.
    package let sticky: UInt64
    /// Like ``number``, but of the whole address. For shared answers: their time would tell a neighbour in the same /64
    /// network that a picture was sent before.
    package let sender: UInt64

    /// - Parameters:
    ///   - address: `192.0.2.1`, `192.0.2.1:4242`, `[2001:db8::1]:4242`, or `unix`.
    ///   - token: the accepted token (``AccessControl/check(_:_:)``); nil if none is required.
    package init(_ address: String, token: [UInt8]?) {
        if let token {
            number = Self.number(token)
            sender = number
            // Hash the usual form of the field, as earlier versions did: a client keeps its share.
            sticky = StickyShare.number(Array("Bearer ".utf8) + token)
        } else {
            let host = Self.host(address), bytes = Self.significant(host)
            number = Self.number(bytes)
            // Only an IPv6 address has bytes that do not count.
            sender = host.contains(UInt8(ascii: ":")) ? Self.number(Array(host)) : number
            sticky = StickyShare.number(bytes)
        }
    }

    private static func number(_ bytes: [UInt8]) -> UInt64 {
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// The address without its port.
    private static func host(_ address: String) -> ArraySlice<UInt8> {
        let colon = UInt8(ascii: ":"), host = Array(address.utf8)[...]
        if host.first == UInt8(ascii: "[") { return host.dropFirst().prefix { $0 != UInt8(ascii: "]") } }
        if let end = host.firstIndex(of: colon), !host[(end + 1)...].contains(colon) { return host[..<end] }
        return host
    }

    /// The bytes of an address that identify a client.
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

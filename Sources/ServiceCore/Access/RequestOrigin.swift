internal import Glibc
package import HTTPWire

/// The origin of a request: tells a program on this machine from a proxy or a web page that only looks like one.
///
/// Any web page that is open on this machine can send simple requests to it, and can point its own name to this machine
/// (DNS rebinding). Such requests reveal their sender by `Origin` and `Sec-Fetch-Site` (Fetch, section 3.2; Fetch
/// Metadata) and by the name in `Host`.
package struct RequestOrigin {
    let head: RequestHead
    /// The peer's address, as in ``HTTPRequest/remote``.
    let remote: String
    /// True if the request came through a listener for proxies that send PROXY headers.
    let isProxied: Bool

    package init(head: RequestHead, remote: String, isProxied: Bool = false) {
        self.head = head
        self.remote = remote
        self.isProxied = isProxied
    }

    /// Fields that proxies add (RFC 7239, RFC 8586, RFC 9110 section 7.6.3, and the usual ones of nginx, Knative and
    /// content delivery networks), and prefixes of others: not every proxy adds the client's address.
    private static let forwarding: Set<String> = [
        "forwarded", "via", "cdn-loop", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip",
        "cf-connecting-ip", "k-proxy-request",
    ]
    private static let forwardingPrefixes = ["x-forwarded-", "x-original-forwarded-", "x-envoy-"]

    /// The first field that a proxy added; nil if there is no such field.
    private var forwardingField: String? {
        (0..<head.fieldCount).lazy.map { head.field(at: $0).name.lowercased() }.first { name in
            Self.forwarding.contains(name) || Self.forwardingPrefixes.contains { name.hasPrefix($0) }
        }
    }

    /// The reason why the request does not count as one from this machine; nil if it does.
    /// - Parameters:
    ///   - names: names of this machine, in addition to `localhost`.
    ///   - listen: the listen addresses; their hosts are names of this machine too.
    package func objection(names: [String], listen: [String]) -> String? {
        // Even if the PROXY header names no address, or this machine: the client behind the proxy may be elsewhere.
        if isProxied { return "the connection was forwarded by a proxy (PROXY protocol)" }
        guard isFromLoopback else { return "\(remote) is not on this machine" }
        if let field = forwardingField {
            return "the request was forwarded by a proxy (\(field))"
        }
        if let site = head.value(of: "sec-fetch-site"), !["same-origin", "none"].contains(site.lowercased()) {
            return "a web page of another origin sent it (Sec-Fetch-Site: \(site.prefix(40)))"
        }
        let authority = (head.authority ?? "").lowercased()
        if let origin = head.value(of: "origin"), !Self.isSame(origin.lowercased(), authority) {
            return "a web page of another origin sent it (Origin: \(origin.prefix(100)))"
        }
        // A Unix-domain socket is not reached by a host name.
        guard remote != "unix", !authority.isEmpty else { return nil }
        let host = Self.host(of: authority)
        let own = ["localhost"] + names.map { $0.lowercased() } + listen.map { Self.host(of: $0.lowercased()) }
        if own.contains(host) || Self.isLoopback(host) || Self.addresses().contains(host) { return nil }
        return "\"\(authority.prefix(100))\" in Host is not a name of this machine (host_names)"
    }

    private var isFromLoopback: Bool { remote == "unix" || Self.isLoopback(Self.host(of: remote)) }

    private static func isLoopback(_ host: String) -> Bool {
        host == "::1" || host.hasPrefix("::ffff:127.") || isIPv4(host) && host.hasPrefix("127.")
    }

    private static func isIPv4(_ host: String) -> Bool {
        var address = in_addr()
        return inet_pton(AF_INET, host, &address) == 1
    }

    /// The host of `host:port` or `[address]:port`.
    private static func host(of authority: String) -> String {
        if authority.hasPrefix("[") { return String(authority.dropFirst().prefix { $0 != "]" }) }
        return String(authority.prefix { $0 != ":" })
    }

    /// True if an origin (RFC 6454) has the host and port of the authority; its scheme does not matter.
    private static func isSame(_ origin: String, _ authority: String) -> Bool {
        ["http://", "https://"].contains { scheme in
            origin.hasPrefix(scheme) && !authority.isEmpty && origin.dropFirst(scheme.count) == authority[...]
        }
    }

    /// The addresses of this machine's interfaces.
    private static func addresses() -> Set<String> {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        var found: Set<String> = []
        var next = list
        while let entry = next {
            next = entry.pointee.ifa_next
            guard let address = entry.pointee.ifa_addr else { continue }
            let size: socklen_t
            switch Int32(address.pointee.sa_family) {
            case AF_INET: size = socklen_t(MemoryLayout<sockaddr_in>.size)
            case AF_INET6: size = socklen_t(MemoryLayout<sockaddr_in6>.size)
            default: continue
            }
            var text = [CChar](repeating: 0, count: 64)
            guard getnameinfo(address, size, &text, 64, nil, 0, NI_NUMERICHOST) == 0 else { continue }
            let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            found.insert(String(String(decoding: bytes, as: UTF8.self).prefix { $0 != "%" }))
        }
        return found
    }
}

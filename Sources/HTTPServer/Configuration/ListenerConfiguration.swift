public import HTTPWire

/// An address to listen on, and whether its connections begin with a PROXY header.
public struct ListenerConfiguration: Sendable, Hashable {
    /// The address to listen on.
    public var address: ListenerAddress
    /// The version of the PROXY header that must begin each connection; nil for none. A connection that begins
    /// otherwise is closed.
    public var proxyHeader: ProxyHeader.Version?

    /// A listener on `address`, for proxies that send PROXY headers if `proxyHeader` is set.
    public init(_ address: ListenerAddress, proxyHeader: ProxyHeader.Version? = nil) {
        self.address = address
        self.proxyHeader = proxyHeader
    }
}

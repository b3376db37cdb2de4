public import HTTPWire

/// An address to listen on, and the protocol of its connections.
public struct ListenerConfiguration: Sendable, Hashable {
    /// The address to listen on.
    public var address: ListenerAddress
    /// The PROXY protocol header that each connection starts with; nil for none. One that starts otherwise is closed.
    public var proxyHeader: ProxyHeader.Version?

    /// Connections of an address, from proxies that send PROXY headers or not.
    public init(_ address: ListenerAddress, proxyHeader: ProxyHeader.Version? = nil) {
        self.address = address
        self.proxyHeader = proxyHeader
    }
}

/// An address to listen on, and what is expected of the connections that come in there.
public struct ListenerConfiguration: Sendable, Hashable {
    /// Where to listen.
    public var address: ListenerAddress
    /// Whether each connection starts with a PROXY protocol header of version 2. One that starts otherwise is closed.
    public var expectsProxyHeader: Bool

    /// Connections of an address, from proxies that send PROXY headers or not.
    public init(_ address: ListenerAddress, expectsProxyHeader: Bool = false) {
        self.address = address
        self.expectsProxyHeader = expectsProxyHeader
    }
}

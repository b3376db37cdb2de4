public import HTTPWire

/// Every setting of an `HTTPServer`. The defaults are those of Ocelli's HTTP contract.
///
/// All durations are enforced by a timer of about a tenth of a second: a limit is never cut short, and is exceeded by
/// no more than a few ticks.
public struct HTTPServerConfiguration: Sendable {
    /// The addresses to listen on. Several are served at once.
    public var listeners = [ListenerConfiguration(.tcp(host: "127.0.0.1", port: 8080))]
    /// The proxies that are trusted to name their clients, for ``ExchangeRecord/client``.
    public var trustedProxies = TrustedProxies.none
    /// Value of the `Server` field (RFC 9110, 10.2.4).
    public var serverName = "ocelli/0.1.0"
    /// Threads that serve sockets, each with its own epoll. One is enough for most machines.
    public var eventLoops = 1
    /// Connections that the kernel holds until they are accepted.
    public var backlog = 1024

    /// Limits of a request's head, its trailers and its chunk extensions.
    public var wireLimits = WireLimits()
    /// Bytes of one body. `HTTPResponder.admit` may set less for a request, never more. A refused body of at most this
    /// length is skipped and the connection kept: reading it without a copy costs less, on both sides, than another
    /// connection.
    public var maxBodyBytes = 20 << 20
    /// Memory of all bodies together, received or being received. At the limit sockets are not read, and the slowest
    /// bodies are refused.
    public var maxTotalBodyBytes = 256 << 20
    /// Bytes of all answers that clients have not read yet, with those that the kernel holds for them. At the limit the
    /// connections that have read nothing for longest are reset.
    public var maxTotalAnswerBytes = 64 << 20
    /// Bytes of answers that the kernel may hold for one connection.
    public var sendBufferBytes = 256 << 10
    /// Bytes received beyond the request that is being handled (pipelining) and kept for it to end.
    public var maxReadAheadBytes = 16 << 10

    /// From the first byte of a head (for the first request: from accepting) to its end.
    public var headerTimeout: Duration = .seconds(10)
    /// The maximum time between requests of a kept-alive connection.
    public var idleTimeout: Duration = .seconds(75)
    /// The minimum rate of a body in bytes per second, in each window of `bodyGrace`.
    public var minBodyRate = 1024
    /// The window over which `minBodyRate` is measured, and the time before it first applies to a body.
    public var bodyGrace: Duration = .seconds(10)
    /// The maximum time to receive a body, without waits for room.
    public var bodyTimeout: Duration = .seconds(120)
    /// The maximum wait of a body for room under `maxTotalBodyBytes`, after which the answer is 503.
    public var bodyBudgetTimeout: Duration = .seconds(30)
    /// The wait of a body for room after which slower ones are refused for it.
    public var bodyMemoryTimeout: Duration = .milliseconds(250)
    /// The maximum time in which a client reads nothing of its answer.
    public var writeTimeout: Duration = .seconds(30)
    /// Silence after which a lingering connection (answered, not to be used again) is closed.
    public var lingerTimeout: Duration = .seconds(5)
    /// The maximum time that a connection lingers.
    public var lingerTotal: Duration = .seconds(30)
    /// The maximum number of bytes of a refused body that are read and discarded, so that its sender reads the answer.
    public var lingerBytes = 256 << 20
    /// True if a client that has closed its sending side while its HTTP/1.1 request runs is sent 102 (Processing),
    /// once, so that the answer to it shows whether there still is a client; HTTP/1.0 clients are taken to be gone. If
    /// false, such a client counts as connected.
    public var probesHalfClosed = true

    /// The maximum number of connections, in equal shares for the event loops (at least one each). At the limit,
    /// connections are closed in this order: answered ones that only continue to send; those idle for longest; those
    /// that have been sending a head for longest; the slowest bodies, and readers that read nothing. If none can be
    /// closed, new connections get reserved places (``ReservedPlaces``): probes are answered in them, other requests
    /// wait in them.
    public var maxConnections = 4096
    /// The number of reserved places of each event loop; fewer where the process may open few files. So many requests
    /// wait for an ordinary place before the oldest of them is refused (503) for a new connection.
    public var reservedConnections = 4096
    /// Requests answered on one connection before it is closed.
    public var maxRequestsPerConnection = 100_000

    /// The contract's defaults.
    public init() {}

    /// The defaults, listening on the given addresses.
    public init(listeners: [ListenerAddress]) {
        self.listeners = listeners.map { ListenerConfiguration($0) }
    }
}

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

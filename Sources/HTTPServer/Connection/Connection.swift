import HTTPWire

/// One accepted socket and its state. Confined to its event loop.
///
/// An idle connection holds only this object: buffers, parser and body exist only while a request is being received,
/// handled or answered.
final class Connection {
    let descriptor: Int32
    /// A number that distinguishes the connection from earlier ones with the same descriptor.
    let registration: UInt32
    let remote: String
    /// The listener's index in the configuration's `listeners`.
    let listener: Int
    /// True for a connection from a proxy: its listener expects PROXY headers.
    let isProxied: Bool
    /// The version of the PROXY header that has not arrived yet; nil if none is expected.
    var awaitedProxyHeader: ProxyHeader.Version?
    /// The client's address: the peer, or the source in a trusted proxy's PROXY header.
    var client: String
    var machine: ConnectionMachine

    /// True if the socket may have bytes, or its end, to read. Set by epoll (edge-triggered), cleared by a read that
    /// empties the socket.
    var readable = false
    /// True if epoll has reported the client's FIN; its last bytes may still be unread.
    var finSignalled = false

    /// Bytes received and not consumed: the start of a head, or bytes that arrived while a request was handled.
    var leftover: [UInt8] = []
    /// True if `leftover` has bytes that the parser has not seen.
    var leftoverIsNew = false
    /// The parser, at its position within `leftover`; nil before the first byte of a request.
    var parser: RequestParser?
    /// True if the request that waits for an ordinary place is a HEAD request: a refusal then has no body.
    var isHeadRequest = false
    /// The time of the first byte of the request that is being received; 0 if no byte has arrived.
    var firstByte: UInt64 = 0

    /// The bytes of the budget that are taken for `leftover` and for the request's head.
    var charged = 0
    /// The part of `charged` for body bytes that arrived with the head and wait for room.
    var beginning = 0

    /// The request that is being received or handled.
    var exchange: Exchange?
    /// Decodes the chunked coding of a refused body; nil if the body has a length.
    var skipped: ChunkedDecoder?
    /// The task of the request's handler.
    var task: Task<Void, Never>?

    /// The bytes that the socket has not accepted yet.
    var output = PendingOutput()
    /// True if the loop will measure the kernel's send buffer.
    var needsMeasuring = false
    /// The records of answers that are rendered and not completely sent.
    var ending: [ExchangeRecord] = []

    /// The time when the timer wheel expires for this connection, at or before its deadline; 0 if it is not in the
    /// wheel.
    var timerAt: UInt64 = 0

    init(
        descriptor: Int32, registration: UInt32, remote: String, listener: Int, proxyHeader: ProxyHeader.Version?,
        machine: ConnectionMachine
    ) {
        self.descriptor = descriptor
        self.registration = registration
        self.remote = remote
        self.listener = listener
        isProxied = proxyHeader != nil
        awaitedProxyHeader = proxyHeader
        client = remote
        self.machine = machine
    }

    /// The value in epoll's user data: registration and descriptor, so that an event fetched for a closed connection
    /// never reaches the next connection with the same descriptor.
    var userData: UInt64 { UInt64(registration) << 32 | UInt64(UInt32(bitPattern: descriptor)) }
}

/// A request between its head and its answer.
struct Exchange {
    let head: RequestHead
    /// The memory that the head takes, in bytes.
    let headBytes: Int
    let requestID: String
    /// The sender: see ``ExchangeRecord/client``.
    let client: String
    var body: HTTPBody
    /// The decoder of the chunked coding; nil if the body has a length.
    var decoder: ChunkedDecoder?
    let firstByte: UInt64
    /// The handler; nil once it runs.
    var handler: RequestHandler?
    var bodyEnd: UInt64 = 0
    /// The length of the complete body. The handler then owns the body itself.
    var bodyBytes = 0
}

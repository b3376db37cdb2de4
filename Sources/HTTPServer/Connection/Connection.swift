import HTTPWire

/// One accepted socket and what is kept for it. Confined to its event loop.
///
/// An idle one holds this object and nothing else: buffers, parser and body exist only while a request is half
/// received, handled or half answered.
final class Connection {
    let descriptor: Int32
    /// Told apart from earlier connections with the same descriptor by this.
    let registration: UInt32
    let remote: String
    /// Its listener's place in the configuration's `listeners`.
    let listener: Int
    /// True if it is a proxy's: its listener expects PROXY headers.
    let isProxied: Bool
    /// The PROXY header that has not come yet.
    var awaitedProxyHeader: ProxyHeader.Version?
    /// The client: the peer, or the address in a trusted proxy's PROXY header.
    var client: String
    var machine: ConnectionMachine

    /// The socket may have bytes, or its end, to read. Set by epoll (edge-triggered), cleared by an exhausting read.
    var readable = false
    /// epoll has seen the client's FIN: the last bytes may still be unread.
    var finSignalled = false

    /// Bytes received and not consumed: the beginning of a head, or what came while a request was handled.
    var leftover: [UInt8] = []
    /// `leftover` has bytes that were not shown to the parser.
    var leftoverIsNew = false
    /// The parser, at its position within `leftover`; nil at the start of a request.
    var parser: RequestParser?
    /// The request that waits for an ordinary place is a HEAD request: a refusal has no body.
    var asksForHead = false
    /// The first byte of the request that is being received; 0 for none.
    var firstByte: UInt64 = 0

    /// Bytes of the budget that are taken for `leftover` and for the head of the request.
    var charged = 0
    /// As many of them are the beginning of a body that came with its head.
    var beginning = 0

    /// The time when the body last brought a whole `EventLoop.piece`, or the client took one of its answer: how slow it
    /// is. Of a connection that is idle or has half a head: when it became idle.
    var progressAt: UInt64 = 0
    /// The bytes that came, or were taken, since then.
    var sinceProgress = 0

    /// The request that is being received or handled.
    var exchange: Exchange?
    /// Takes the chunked coding off a refused body; nil if that has a length.
    var skipped: ChunkedDecoder?
    /// Its handler.
    var task: Task<Void, Never>?

    /// The bytes that the socket has not taken yet.
    var output = PendingOutput()
    /// The number of bytes that the kernel held beside it when it was last measured.
    var queued = 0
    /// The number of bytes that the kernel was given since then.
    var handed = 0
    /// The time when the client was last seen to take something, or began to have something to take.
    var tookAt: UInt64 = 0
    /// The loop will measure how much the kernel holds.
    var isToBeMeasured = false
    /// Bytes of `output` and `queued` that are counted in the budget for answers.
    var answerCharged = 0
    /// Records of answers that are rendered and not yet sent whole.
    var ending: [ExchangeRecord] = []

    /// The time when the timer wheel brings this connection up, at or before its deadline; 0 if it does not.
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

    /// The value in epoll's user data: the registration beside the descriptor, so that an event that was fetched for a
    /// connection closed since never reaches its successor.
    var userData: UInt64 { UInt64(registration) << 32 | UInt64(UInt32(bitPattern: descriptor)) }
}

import HTTPWire

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

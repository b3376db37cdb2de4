import HTTPWire

/// A request between its head and its answer.
struct Exchange {
    let head: RequestHead
    /// Bytes of memory that the head takes.
    let headBytes: Int
    let requestID: String
    /// The sender: see ``ExchangeRecord/client``.
    let client: String
    var body: HTTPBody
    /// Takes the chunked coding off; nil if the body has a length.
    var decoder: ChunkedDecoder?
    let firstByte: UInt64
    /// The handler that answers it; nil once it runs.
    var handler: RequestHandler?
    var bodyEnd: UInt64 = 0
    /// Length of the body once it is whole; the body itself is then the handler's.
    var bodyBytes = 0
}

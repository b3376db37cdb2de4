/// Receives a record of every request when the request has ended.
public protocol HTTPServerObserver: AnyObject, Sendable {
    /// Receives the record of one request: one that was answered, or one whose client disconnected after its first
    /// byte. Called on the event loop: it must be quick and must not block.
    func exchangeEnded(_ record: ExchangeRecord)
}

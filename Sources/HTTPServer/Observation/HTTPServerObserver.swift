/// Receives every request when it has ended.
public protocol HTTPServerObserver: AnyObject, Sendable {
    /// Called on the event loop, once for each request that got an answer, and for each whose client went away after
    /// its first byte. Must be quick and must not block.
    func exchangeEnded(_ record: ExchangeRecord)
}

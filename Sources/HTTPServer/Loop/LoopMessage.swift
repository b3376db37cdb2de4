/// A message of another thread to an event loop.
enum LoopMessage: Sendable {
    /// A handler's task is done.
    case completed(descriptor: Int32, registration: UInt32, HTTPResponse, at: UInt64)
    /// Bodies released bytes while others waited for them.
    case budgetFreed
    /// A body found no room in the budget.
    case budgetShort
    /// Look at who does not read, close them while more answers are held than may be, and call back.
    case shedReaders(done: @Sendable () -> Void)
    /// All loops have done so.
    case othersShed
    /// Accept pending connections, and call back with the number of connections without a request yet.
    case countNewcomers(@Sendable (Int) -> Void)
    /// Stop accepting and call back: the listening sockets are not touched any more. Close what is idle; call back when
    /// no connection has a request.
    case drain(disarmed: @Sendable () -> Void, whenEmpty: @Sendable () -> Void)
    /// Close everything and end the loop; call back with the number of lost requests.
    case stop(done: @Sendable (Int) -> Void)
}

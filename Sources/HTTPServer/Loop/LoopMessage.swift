/// What other threads have to say to an event loop.
enum LoopMessage: Sendable {
    /// A handler's task is done.
    case completed(descriptor: Int32, registration: UInt32, HTTPResponse, at: UInt64)
    /// Bodies gave budget back while others waited for it.
    case budgetFreed
    /// A body has found no room in the budget.
    case budgetShort
    /// Accept who has connected, and call back with the number of connections that nothing has been asked on yet.
    case countNewcomers(@Sendable (Int) -> Void)
    /// Stop accepting and call back: the listening sockets are not touched any more. Close what is idle; call back when no
    /// connection has a request.
    case drain(disarmed: @Sendable () -> Void, whenEmpty: @Sendable () -> Void)
    /// Close everything and end the loop; calls back with the number of requests that were lost.
    case stop(done: @Sendable (Int) -> Void)
}

/// A message from another thread to an event loop.
enum LoopMessage: Sendable {
    /// A handler has returned its answer at the time `at`.
    case completed(descriptor: Int32, registration: UInt32, HTTPResponse, at: UInt64)
    /// Bodies released memory while others waited for it.
    case budgetFreed
    /// A body found no room in the byte budget.
    case budgetShort
    /// Close clients that do not read while the unread answers exceed the limit, then call `done`.
    case shedReaders(done: @Sendable () -> Void)
    /// All loops have handled `shedReaders`.
    case otherLoopsDone
    /// Accept pending connections, then call back with the number of connections without a request.
    case countWithoutRequest(@Sendable (Int) -> Void)
    /// Stop accepting, then call `disarmed`: the loop does not use the listening sockets any more. Close idle
    /// connections; call `whenEmpty` when no connection has a request.
    case drain(disarmed: @Sendable () -> Void, whenEmpty: @Sendable () -> Void)
    /// Close all connections and end the loop, then call `done` with the number of lost requests.
    case stop(done: @Sendable (Int) -> Void)
}

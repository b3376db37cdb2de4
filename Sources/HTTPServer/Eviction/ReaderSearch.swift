/// Finds the clients that are closed while the unread answers of all clients exceed their limit: those that have taken
/// nothing for longest. Clients that take little, and took it recently, are spared while there are others, in the other
/// event loops too.
///
/// The search has no I/O: it asks the loop for facts, one step at a time, until the step is `stop`.
package struct ReaderSearch: Sendable {
    /// The next task of the loop.
    package enum Step: Sendable, Hashable {
        /// Measure the bytes that the socket holds, and report them (`EvictionMachine.measured`): the client may have
        /// taken some since the last measurement.
        case measure(Int32)
        /// Close the connection.
        case close(Int32)
        /// Ask all loops to close their readers, and close none here until they have answered.
        case askOthers
        /// Close no more.
        case stop
    }

    /// The maximum number of sockets measured per search, which takes some tenths of a millisecond.
    package static let maximum = 1024
    /// The maximum wait for other loops, in nanoseconds: a loop that has ended does not answer.
    private static let answerTime: UInt64 = 100_000_000

    /// False if another loop has asked for it; then recent readers are spared.
    private let mayAsk: Bool
    private var measured: Int32?
    private var left = Self.maximum
    private var spared = 0

    /// A search that begins.
    package init(mayAsk: Bool) { self.mayAsk = mayAsk }

    /// The next step, after the previous one was carried out. `isExceeded`: the unread answers exceed their limit.
    package mutating func next(in machine: inout EvictionMachine, isExceeded: Bool, now: UInt64) -> Step {
        while isExceeded, let id = machine.readers.first {
            guard measured == id else {
                guard left > 0 else { break }
                left -= 1
                measured = id
                return .measure(id)
            }
            measured = nil
            guard machine[id].readsSlowly(now: now) else { return .close(id) }
            guard spared >= machine.readers.count else {
                spared += 1
                machine.readers.moveToEnd(id)
                continue
            }
            guard mayAsk else { break }
            switch machine.others {
            case .shed: return .close(id)
            case .asked(let time) where now &- time > Self.answerTime: return .close(id)
            case .asked: return .stop
            case .notRequested:
                machine.others = .asked(at: now)
                return .askOthers
            }
        }
        return .stop
    }
}

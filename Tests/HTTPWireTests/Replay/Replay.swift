import HTTPWire

/// A consumer that takes bytes as from a socket, and logs the parsed events.
protocol Replay {
    /// Takes all unconsumed bytes; returns the number that it consumed.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> Int
    /// Ends the input; `unread` bytes were not consumed.
    mutating func end(unread: Int)
    var log: EventLog { get }
}

extension Replay {
    /// Feeds `input` split at `cuts` (ascending, within the input); each time, the bytes end directly before a guard
    /// page.
    func run(_ input: [UInt8], cuts: some Sequence<Int>, memory: GuardedBytes, atStart: Bool = false) -> [[UInt8]] {
        var replay = self
        var consumed = 0
        func feed(_ replay: inout Self, upTo end: Int) {
            let pending = input[consumed..<end]
            consumed += replay.receive(atStart ? memory.atStart(pending) : memory.atEnd(pending))
        }
        for cut in cuts { feed(&replay, upTo: cut) }
        feed(&replay, upTo: input.count)
        replay.end(unread: input.count - consumed)
        return replay.log.lines
    }
}

import HTTPWire

/// Something that takes bytes as they come from a socket, and writes down what it understood.
protocol Replay {
    /// Takes all bytes that are not consumed yet; returns how many are now.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> Int
    /// There will be no more bytes; `unread` were never consumed.
    mutating func end(unread: Int)
    var log: EventLog { get }
}

extension Replay {
    /// Feeds `input` cut at `cuts` (ascending, within the input), each time as the bytes just before a guard page.
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

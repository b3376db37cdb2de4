/// The connections of an event loop that may be closed for others, in the order in which they go, as a value without
/// I/O. The loop reports facts about connections, by descriptor; ``EvictionSearch``, ``ReaderSearch`` and
/// ``BodyShortage`` decide with them, and the loop carries the decisions out.
///
/// | queue | connections | the first one |
/// | --- | --- | --- |
/// | leaving | answered, and their clients still send | answered first |
/// | idle | without a request | longest idle |
/// | heads | with an incomplete head | longest incomplete |
/// | bodies | that receive a body | the least recent progress |
/// | readers | with answers that their clients have not taken | the least recent progress |
///
/// A connection that waits only for its client (the first three queues) and has unread answers is a reader and nothing
/// else until the client has taken them. Connections in reserved places are in no queue: closing one would free no
/// ordinary place.
///
/// Each event takes constant time, whatever the number of connections.
package struct EvictionMachine: Sendable {
    /// The number of bytes that counts as progress. A client that sends or takes this many within `slowAfter` is not
    /// slow.
    package static let piece = 16 << 10
    /// The time without a `piece` after which a client counts as slow, in nanoseconds.
    package static let slowAfter: UInt64 = 1_000_000_000

    var leaving = IndexQueue()
    var idle = IndexQueue()
    var heads = IndexQueue()
    var bodies = IndexQueue()
    var readers = IndexQueue()
    /// By descriptor.
    private var standings: [Standing] = []
    /// The state of the request to the other loops to close readers, made once only recent readers are left here.
    package var others = Others.notRequested

    package enum Others: Sendable {
        case notRequested
        /// The other loops were asked to close clients that do not read.
        case asked(at: UInt64)
        case shed
    }

    /// No connections.
    package init() {}

    /// The number of connections without a request.
    package var idleCount: Int { idle.count }

    /// The facts about an open connection.
    package subscript(id: Int32) -> Standing {
        Int(id) < standings.count ? standings[Int(id)] : Standing()
    }

    // MARK: Events

    /// A connection was accepted.
    package mutating func opened(_ id: Int32) {
        while standings.count <= Int(id) { standings.append(Standing()) }
        standings[Int(id)] = Standing()
    }

    /// A connection is about to be closed. Returns the last facts about it.
    package mutating func closed(_ id: Int32) -> Standing {
        idle.remove(id)
        heads.remove(id)
        bodies.remove(id)
        readers.remove(id)
        leaving.remove(id)
        defer { if Int(id) < standings.count { standings[Int(id)] = Standing() } }
        return self[id]
    }

    /// An event of a connection was handled, after which it is in `phase`.
    package mutating func settled(_ id: Int32, in phase: ConnectionMachine.Phase, isReserved: Bool, now: UInt64) {
        let hasTaken = self[id].queued == 0 && !isReserved
        // Move it even if it is in the queue, which is ordered by last use.
        if phase == .idle, hasTaken {
            idle.moveToEnd(id)
            standings[Int(id)].progressAt = now
        } else {
            idle.remove(id)
        }
        if phase == .head, hasTaken { heads.append(id) } else if heads.count > 0 { heads.remove(id) }
        if phase == .body || bodies.count > 0 {
            Self.place(id, in: &bodies, &standings[Int(id)], if: phase == .body && !isReserved, now: now)
        }
        if phase.isRetiring, hasTaken { leaving.append(id) } else { leaving.remove(id) }
    }

    /// A client has sent `count` bytes of its body.
    package mutating func received(_ id: Int32, _ count: Int, now: UInt64) {
        if standings[Int(id)].progress(count, now: now), bodies.contains(id) { bodies.moveToEnd(id) }
    }

    /// A client has taken `count` bytes of its answer.
    package mutating func took(_ id: Int32, _ count: Int, now: UInt64) {
        if standings[Int(id)].progress(count, now: now), readers.contains(id) { readers.moveToEnd(id) }
    }

    /// `count` bytes of answers were given to the kernel.
    package mutating func handed(_ id: Int32, _ count: Int, now: UInt64) {
        standings[Int(id)].hand(count, now: now)
    }

    /// The kernel holds `queued` bytes of a connection's answers. Returns the number of bytes that the client has taken
    /// since the last measurement.
    package mutating func measured(_ id: Int32, queued: Int, now: UInt64) -> Int {
        let taken = standings[Int(id)].measure(queued, now: now)
        took(id, max(0, taken), now: now)
        return taken
    }

    /// A connection holds `bytes` of answers, in this process and in the kernel. Returns the difference to the last
    /// call.
    package mutating func holds(_ id: Int32, _ bytes: Int, isReserved: Bool, now: UInt64) -> Int {
        let more = bytes - self[id].held
        guard more != 0 else { return 0 }
        standings[Int(id)].held = bytes
        Self.place(id, in: &readers, &standings[Int(id)], if: bytes > 0 && !isReserved, now: now)
        return more
    }

    /// A connection in `phase` was measured. If it waits only for its client, which has taken all of its answers, it
    /// returns to its queue; until then ``settled(_:in:isReserved:now:)`` leaves it out.
    package mutating func rested(_ id: Int32, in phase: ConnectionMachine.Phase, isReserved: Bool, now: UInt64) {
        guard self[id].queued == 0, !isReserved else { return }
        if phase == .idle, !idle.contains(id) {
            idle.append(id)
            standings[Int(id)].progressAt = now
        } else if phase.isRetiring {
            leaving.append(id)
        }
    }

    // MARK: The slowest

    /// The body with the least recent progress; nil if none has been without progress for `time`.
    package func slowestBody(after time: UInt64 = slowAfter, now: UInt64) -> Int32? {
        slowest(of: bodies, after: time, now: now)
    }

    /// The reader with the least recent progress; nil if none has been without progress for `time`.
    func slowestReader(after time: UInt64 = slowAfter, now: UInt64) -> Int32? {
        slowest(of: readers, after: time, now: now)
    }

    private func slowest(of queue: IndexQueue, after time: UInt64, now: UInt64) -> Int32? {
        guard let id = queue.first else { return nil }
        return now &- self[id].progressAt >= time ? id : nil
    }

    /// Puts a connection into a queue that is ordered by progress, or removes it.
    private static func place(
        _ id: Int32, in queue: inout IndexQueue, _ standing: inout Standing, if belongs: Bool, now: UInt64
    ) {
        guard belongs != queue.contains(id) else { return }
        guard belongs else { return queue.remove(id) }
        (standing.progressAt, standing.sinceProgress) = (now, 0)
        queue.append(id)
    }
}

extension ConnectionMachine.Phase {
    /// True if the connection was answered and its client still sends.
    fileprivate var isRetiring: Bool { self == .skipping || self == .lingering }
}

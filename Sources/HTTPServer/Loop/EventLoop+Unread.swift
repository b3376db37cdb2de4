import CSystem

/// The bytes of answers that the sockets of a loop may hold: the kernel keeps them until their clients have taken them,
/// and does not say when that is.
struct UnreadAnswers {
    /// Connections whose sockets were given something since they were measured, or held something then.
    var sent: [Int32] = []
    /// Those that are being measured now, and how many of them were.
    var beingMeasured: [Int32] = []
    var measured = 0
    /// The time when `sent` are measured; nil if it is empty.
    var measureAt: UInt64?
    /// Bytes that sockets were given since.
    var bytes = 0

    /// The other loops, where this one has no connection left to close but those that are about to take their answers.
    enum Others {
        case unasked
        /// They were asked to close who does not read.
        case asked(at: UInt64)
        case shed
    }
    var others = Others.unasked

    var isMeasuring: Bool { measured < beingMeasured.count }

    /// From now on `sent` has what comes later.
    mutating func beginMeasuring() {
        beingMeasured.removeAll(keepingCapacity: true)
        swap(&beingMeasured, &sent)
        (measured, measureAt, bytes) = (0, nil, 0)
    }
}

/// Answers that clients have not taken: counted, those in the kernel too, and bounded.
///
/// No request costs a system call for it. What was given to a socket is added up, and the sockets are measured
/// (SIOCOUTQ) when a second has passed or much has come together. A client that takes nothing for the write timeout, or
/// holds up too much, is closed with RST, which makes the kernel drop what it holds.
extension EventLoop {
    private static let measureInterval: UInt64 = 1_000_000_000
    /// The number of sockets that are measured in one turn, which takes some tenths of a millisecond.
    private static let measuredPerTurn = 1024
    /// Other loops are waited for as long: one that has ended says nothing.
    private static let answerTime: UInt64 = 100_000_000

    /// The socket has taken `count` bytes of answers.
    func handed(_ connection: Connection, _ count: Int) {
        guard count > 0 else { return }
        if connection.queued + connection.handed == 0 { connection.tookAt = now }
        connection.handed += count
        unread.bytes += count
        measureLater(connection)
    }

    private func measureLater(_ connection: Connection) {
        guard !connection.isToBeMeasured else { return }
        connection.isToBeMeasured = true
        unread.sent.append(connection.descriptor)
        if unread.measureAt == nil { unread.measureAt = now &+ Self.measureInterval }
    }

    /// Asks the kernel how much of what it was given the client has not taken.
    /// - Returns: bytes that the client has taken since it was last asked.
    func measure(_ connection: Connection) -> Int {
        // Its descriptor may be another's by now.
        guard connection.machine.phase != .closed else { return 0 }
        var queued = max(0, Int(csys_queued(connection.descriptor)))
        // FIN counts as a byte until it is acknowledged.
        if connection.machine.phase == .lingering || connection.machine.phase == .closing {
            queued = max(0, queued - 1)
        }
        let taken = connection.queued + connection.handed - queued
        context.counters.socketBytes.add(queued - connection.queued)
        (connection.queued, connection.handed) = (queued, 0)
        if taken > 0 { connection.tookAt = now }
        progress(connection, max(0, taken), in: &readers)
        charge(connection)
        if queued > 0 { measureLater(connection) }
        return taken
    }

    /// Measures the sockets when it is time, a bounded number in each turn.
    func measureSockets() {
        if !unread.isMeasuring {
            guard let time = unread.measureAt, now >= time || unread.bytes > context.answers.unseen else { return }
            unread.beginMeasuring()
        }
        let end = min(unread.beingMeasured.count, unread.measured + Self.measuredPerTurn)
        while unread.measured < end {
            let id = unread.beingMeasured[unread.measured]
            unread.measured += 1
            guard let connection = connections[Int(id)], connection.isToBeMeasured else { continue }
            connection.isToBeMeasured = false
            measureAgain(connection)
        }
        shed()
    }

    private func measureAgain(_ connection: Connection) {
        let before = connection.queued
        _ = measure(connection)
        if connection.queued == 0 {
            closeIfTaken(connection)
            if before > 0 { synchronize(connection) } else { rest(connection) }
        } else if now &- connection.tookAt >= context.policy.writeTimeout {
            perform(connection.machine.close(.slowReader), on: connection)
        }
    }

    /// Counts what a connection holds of answers that its client has not taken, after that has changed.
    func hold(_ connection: Connection) {
        charge(connection)
        shed()
    }

    private func charge(_ connection: Connection) {
        // What it held was given back when it was closed, which `shed` may have done while its answer was sent.
        guard connection.machine.phase != .closed else { return }
        let held = connection.output.held + connection.queued
        guard held != connection.answerCharged else { return }
        context.answers.add(held - connection.answerCharged)
        connection.answerCharged = held
        place(connection, in: &readers, if: held > 0 && !reserved.contains(connection.descriptor))
    }

    /// The connection is about to be closed.
    func forgetAnswers(_ connection: Connection) {
        context.answers.add(-connection.answerCharged)
        context.counters.socketBytes.add(-connection.queued)
        (connection.answerCharged, connection.queued) = (0, 0)
    }

    /// Closes who has taken nothing for longest while more is held for all clients together than may be.
    /// - Parameter asking: false where another loop has asked for it: then those that are about to take their answers
    ///   are spared.
    func shed(asking: Bool = true) {
        var spared = 0
        for _ in 0..<Self.measuredPerTurn {
            guard context.answers.isExceeded, let id = readers.first, let reader = connections[Int(id)] else { return }
            // It may have taken something since.
            _ = measure(reader)
            rest(reader)
            guard context.answers.isExceeded, readers.first == id else { continue }
            if takesLittle(reader) {
                if spared < readers.count {
                    spared += 1
                    readers.moveToEnd(id)
                    continue
                }
                guard asking, othersHaveShed() else { return }
            }
            context.counters.shedReaders.add()
            perform(reader.machine.close(.slowReader), on: reader)
        }
    }

    /// True if no other loop has a connection that is rather to be closed. The first call asks them, and they answer by
    /// mail.
    private func othersHaveShed() -> Bool {
        switch unread.others {
        case .unasked:
            unread.others = .asked(at: now)
            let mailbox = context.mailbox
            context.answers.askAll { mailbox.post(.othersShed) }
            return false
        case .asked(let time): return now &- time > Self.answerTime
        case .shed: return true
        }
    }

    /// True for little that was sent, or taken in part, just now: it is on its way to a client that reads, as far as
    /// can be known, and others are closed first.
    func takesLittle(_ reader: Connection) -> Bool {
        reader.answerCharged < Self.piece && now &- reader.tookAt < Self.slowAfter
    }

    // MARK: The end

    /// Ends the connection: closes it once its client has taken what the socket holds.
    func finish(_ connection: Connection, _ ending: ConnectionEnding) {
        _ = measure(connection)
        guard connection.queued > 0 else { return perform(connection.machine.close(ending), on: connection) }
        connection.leftover = []
        connection.leftoverIsNew = false
        // The client's kernel acknowledges FIN after everything else, which wakes this loop.
        csys_shutdown_write(connection.descriptor)
    }

    /// Closes a connection that has waited for its client to take what the socket holds.
    func closeIfTaken(_ connection: Connection) {
        guard connection.machine.phase == .closing else { return }
        _ = measure(connection)
        if connection.queued == 0 { perform(connection.machine.close(.finished), on: connection) }
    }
}

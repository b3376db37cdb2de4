import CSystem

/// The measurements of the bytes of answers in a loop's sockets: the kernel keeps the bytes until the clients have
/// taken them, and does not report when.
struct UnreadAnswers {
    /// Connections whose sockets got bytes since they were measured, or held bytes then.
    var sent: [Int32] = []
    /// Connections that are being measured now, and the number of them that were measured.
    var beingMeasured: [Int32] = []
    var measured = 0
    /// The time of the next measurement of `sent`; nil if `sent` is empty.
    var measureAt: UInt64?
    /// The bytes given to sockets since the last measurement.
    var bytes = 0

    /// The state of the request to the other loops to close readers, made once only recent readers are left here.
    enum Others {
        case unasked
        /// The other loops were asked to close clients that do not read.
        case asked(at: UInt64)
        case shed
    }
    var others = Others.unasked

    var isMeasuring: Bool { measured < beingMeasured.count }

    /// Moves `sent` to `beingMeasured`; `sent` collects later connections.
    mutating func beginMeasuring() {
        beingMeasured.removeAll(keepingCapacity: true)
        swap(&beingMeasured, &sent)
        (measured, measureAt, bytes) = (0, nil, 0)
    }
}

/// Counts and limits the answers that clients have not taken, including those in the kernel.
///
/// No request needs a system call for this. The loop adds up the bytes given to the sockets, and measures the sockets
/// (SIOCOUTQ) when a second has passed or many bytes were sent. A client that takes nothing within the write timeout,
/// or holds too many bytes, is closed with RST, which makes the kernel drop its bytes.
extension EventLoop {
    private static let measureInterval: UInt64 = 1_000_000_000
    /// The maximum number of sockets measured per turn, which takes some tenths of a millisecond.
    private static let measuredPerTurn = 1024
    /// The maximum wait for other loops, in nanoseconds: a loop that has ended does not answer.
    private static let answerTime: UInt64 = 100_000_000

    /// Counts `count` bytes of answers that the socket has taken.
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

    /// Reads the socket's unacknowledged bytes (SIOCOUTQ).
    /// - Returns: the number of bytes that the client has taken since the last measurement.
    func measure(_ connection: Connection) -> Int {
        // The descriptor may belong to another connection by now.
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

    /// Measures the sockets when the time has come, a bounded number per turn.
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

    /// Updates the counted bytes after a connection's unread bytes have changed, and closes readers above the limit.
    func hold(_ connection: Connection) {
        charge(connection)
        shed()
    }

    private func charge(_ connection: Connection) {
        // Closing released its bytes; `shed` may have closed it while its answer was being sent.
        guard connection.machine.phase != .closed else { return }
        let held = connection.output.held + connection.queued
        guard held != connection.answerCharged else { return }
        context.answers.add(held - connection.answerCharged)
        connection.answerCharged = held
        place(connection, in: &readers, if: held > 0 && !reserved.contains(connection.descriptor))
    }

    /// Releases the counted bytes of a connection that is about to be closed.
    func forgetAnswers(_ connection: Connection) {
        context.answers.add(-connection.answerCharged)
        context.counters.socketBytes.add(-connection.queued)
        (connection.answerCharged, connection.queued) = (0, 0)
    }

    /// Closes the clients that have taken nothing for longest while the unread bytes of all clients exceed the limit.
    /// - Parameter asking: false if another loop has asked for it; then recent readers are spared.
    func shed(asking: Bool = true) {
        var spared = 0
        for _ in 0..<Self.measuredPerTurn {
            guard context.answers.isExceeded, let id = readers.first, let reader = connections[Int(id)] else { return }
            // The client may have taken bytes since the last measurement.
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

    /// True if no other loop has a connection that should be closed first. The first call asks the other loops, which
    /// answer by mail.
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

    /// True for a few bytes that were sent, or taken in part, within the last second: they are probably in flight to a
    /// client that reads, so other connections are closed first.
    func takesLittle(_ reader: Connection) -> Bool {
        reader.answerCharged < Self.piece && now &- reader.tookAt < Self.slowAfter
    }

    // MARK: The end

    /// Ends the connection: closes it once the client has taken the bytes that the socket holds.
    func finish(_ connection: Connection, _ ending: ConnectionEnding) {
        _ = measure(connection)
        guard connection.queued > 0 else { return perform(connection.machine.close(ending), on: connection) }
        connection.leftover = []
        connection.leftoverIsNew = false
        // The client's kernel acknowledges FIN after all other bytes; that acknowledgement wakes this loop.
        csys_shutdown_write(connection.descriptor)
    }

    /// Closes a connection in `closing` once its client has taken the bytes that the socket holds.
    func closeIfTaken(_ connection: Connection) {
        guard connection.machine.phase == .closing else { return }
        _ = measure(connection)
        if connection.queued == 0 { perform(connection.machine.close(.finished), on: connection) }
    }
}

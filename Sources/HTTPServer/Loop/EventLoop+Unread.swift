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

    var isMeasuring: Bool { measured < beingMeasured.count }

    /// Moves `sent` to `beingMeasured`; `sent` collects later connections.
    mutating func beginMeasuring() {
        beingMeasured.removeAll(keepingCapacity: true)
        swap(&beingMeasured, &sent)
        (measured, measureAt, bytes) = (0, nil, 0)
    }
}

/// Counts the answers that clients have not taken, including those in the kernel.
///
/// No request needs a system call for this. The loop adds up the bytes given to the sockets, and measures the sockets
/// (SIOCOUTQ) when a second has passed or many bytes were sent. A client that takes nothing within the write timeout,
/// or holds too many bytes, is closed with RST, which makes the kernel drop its bytes.
extension EventLoop {
    private static let measureInterval: UInt64 = 1_000_000_000

    /// Counts `count` bytes of answers that the socket has taken.
    func handed(_ connection: Connection, _ count: Int) {
        guard count > 0 else { return }
        eviction.handed(connection.descriptor, count, now: now)
        unread.bytes += count
        measureLater(connection)
    }

    private func measureLater(_ connection: Connection) {
        guard !connection.needsMeasuring else { return }
        connection.needsMeasuring = true
        unread.sent.append(connection.descriptor)
        if unread.measureAt == nil { unread.measureAt = now &+ Self.measureInterval }
    }

    /// Reads the socket's unacknowledged bytes (SIOCOUTQ).
    /// - Returns: the number of bytes that the client has taken since the last measurement.
    func measure(_ connection: Connection) -> Int {
        let (id, phase) = (connection.descriptor, connection.machine.phase)
        // The descriptor may belong to another connection by now.
        guard phase != .closed else { return 0 }
        var queued = max(0, Int(csys_queued(id)))
        // FIN counts as a byte until it is acknowledged.
        if phase == .lingering || phase == .closing { queued = max(0, queued - 1) }
        context.counters.socketBytes.add(queued - eviction[id].queued)
        let taken = eviction.measured(id, queued: queued, now: now)
        charge(connection)
        if queued > 0 { measureLater(connection) }
        eviction.rested(id, in: phase, isReserved: places.reserved.contains(id), now: now)
        context.counters.idle.set(eviction.idleCount)
        return taken
    }

    /// Measures the sockets when the time has come, a bounded number per turn.
    func measureSockets() {
        if !unread.isMeasuring {
            guard let time = unread.measureAt, now >= time || unread.bytes > context.answers.unseen else { return }
            unread.beginMeasuring()
        }
        let end = min(unread.beingMeasured.count, unread.measured + ReaderSearch.maximum)
        while unread.measured < end {
            let id = unread.beingMeasured[unread.measured]
            unread.measured += 1
            guard let connection = connections[id], connection.needsMeasuring else { continue }
            connection.needsMeasuring = false
            measureAgain(connection)
        }
        shed()
    }

    private func measureAgain(_ connection: Connection) {
        let id = connection.descriptor
        let before = eviction[id].queued
        _ = measure(connection)
        let standing = eviction[id]
        if standing.queued == 0 {
            closeIfTaken(connection)
            if before > 0 { synchronize(connection) }
        } else if now &- standing.lastReadAt >= context.policy.writeTimeout {
            perform(connection.machine.close(.slowReader), on: connection)
        }
    }

    /// Updates the counted bytes after a connection's unread bytes have changed, and closes readers above the limit.
    func hold(_ connection: Connection) {
        charge(connection)
        shed()
    }

    private func charge(_ connection: Connection) {
        let id = connection.descriptor
        // Closing released its bytes; `shed` may have closed it while its answer was being sent.
        guard connection.machine.phase != .closed else { return }
        let held = connection.output.heldBytes + eviction[id].queued
        let more = eviction.holds(id, held, isReserved: places.reserved.contains(id), now: now)
        if more != 0 { context.answers.add(more) }
    }

    // MARK: The end

    /// Ends the connection: closes it once the client has taken the bytes that the socket holds.
    func finish(_ connection: Connection, _ ending: ConnectionEnding) {
        _ = measure(connection)
        guard eviction[connection.descriptor].queued > 0 else {
            return perform(connection.machine.close(ending), on: connection)
        }
        connection.leftover = []
        connection.leftoverIsNew = false
        // The client's kernel acknowledges FIN after all other bytes; that acknowledgement wakes this loop.
        csys_shutdown_write(connection.descriptor)
    }

    /// Closes a connection in `closing` once its client has taken the bytes that the socket holds.
    func closeIfTaken(_ connection: Connection) {
        guard connection.machine.phase == .closing else { return }
        _ = measure(connection)
        if eviction[connection.descriptor].queued == 0 {
            perform(connection.machine.close(.finished), on: connection)
        }
    }
}

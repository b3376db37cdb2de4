import CSystem
import Glibc
import HTTPWire

extension EventLoop {
    /// Handles the epoll events of a connection.
    func socketReady(_ connection: Connection, events: UInt32) {
        let phase = connection.machine.phase
        let hasEnded = phase == .lingering || phase == .closing
        if events & CSYS_EPOLL_ERR != 0 || events & CSYS_EPOLL_HUP != 0 && !hasEnded {
            // RST, or both directions are closed, and not by this side: nothing can be sent to the client any more.
            perform(connection.machine.peerVanished(), on: connection)
            return
        }
        if events & CSYS_EPOLL_RDHUP != 0 { connection.finSignalled = true }
        if events & (CSYS_EPOLL_IN | CSYS_EPOLL_RDHUP) != 0 { connection.readable = true }
        if events & CSYS_EPOLL_OUT != 0, !connection.output.isEmpty { flush(connection) }
        switch connection.machine.phase {
        case .body: backlog.unfinished.append(connection.descriptor)
        // Once its last byte has arrived, a body may get room that it was refused before. Chunked bodies are checked
        // only when room is freed, because each check decodes them from the start.
        case .waiting where connection.exchange?.decoder == nil:
            if connection.readable, restHasArrived(connection) { feed(connection) }
        case .skipping, .lingering: backlog.discarding.append(connection.descriptor)
        case .closing: closeIfTaken(connection)
        // A connection with more work waits for its turn, whatever its events are.
        case _ where backlog.unfinished.contains(connection.descriptor): break
        default: advance(connection)
        }
        synchronize(connection)
    }

    /// The work that a connection may do before the other connections get their turn.
    struct TimeSlice {
        /// The number of request heads.
        let heads: Int
        /// The time in nanoseconds.
        let time: UInt64

        /// The slice directly after an event.
        static let first = TimeSlice(heads: 8, time: 50_000)
        /// The slice of a connection that waited in a queue with more work.
        static let later = TimeSlice(heads: 64, time: 250_000)
    }

    /// Continues a connection until it has to wait for an event or its time slice is over. `start`: the current time,
    /// or 0 if the clock was not read; most connections have no work left before it is needed.
    func advance(_ connection: Connection, _ kind: TimeSlice = .first, from start: UInt64 = 0) {
        timeSlice = (kind.heads, start == 0 ? 0 : start &+ kind.time)
        while true {
            if places.reserved.isWaiting(connection.descriptor) { return }
            switch connection.machine.phase {
            case .idle, .head:
                if connection.leftoverIsNew {
                    resumeLeftover(connection)
                } else if connection.machine.peerFinished {
                    // FIN was received during a request, and all bytes before it are processed.
                    perform(
                        connection.machine.peerEnded(unread: false, policy: context.policy, now: now), on: connection)
                } else {
                    guard connection.readable else { return }
                    receiveHead(connection)
                }
            case .body:
                guard connection.readable || !connection.leftover.isEmpty else { return }
                receiveBody(connection)
            case .handling:
                guard connection.readable, readAhead(connection) else { return }
            case .skipping, .lingering:
                guard connection.readable || !connection.leftover.isEmpty else { return }
                discard(connection)
            case .waiting, .answering, .closing, .closed:
                return
            }
            if timeSlice.heads <= 0 { break }
            guard connection.readable || connection.leftoverIsNew else { continue }
            if isTimeSliceOver(kind) { break }
        }
        switch connection.machine.phase {
        case .closing, .closed: break
        case .skipping, .lingering: backlog.discarding.append(connection.descriptor)
        default: backlog.unfinished.append(connection.descriptor)
        }
    }

    private func isTimeSliceOver(_ kind: TimeSlice) -> Bool {
        let time = csys_monotonic()
        if timeSlice.end == 0 { timeSlice.end = time &+ kind.time }
        return time >= timeSlice.end
    }

    /// Counts a head. Returns whether another head may follow in this time slice.
    private func mayTakeHead() -> Bool {
        timeSlice.heads -= 1
        guard timeSlice.heads > 0 else { return false }
        // A large head takes tens of microseconds, a usual one two.
        if timeSlice.end != 0, timeSlice.heads % 8 == 0, csys_monotonic() >= timeSlice.end { timeSlice.heads = 0 }
        return timeSlice.heads > 0
    }

    // MARK: Reading the socket

    /// The maximum of bytes received by one call, after the kept start of a head in `scratch`.
    static let receiveSize = 64 << 10
    /// The maximum of bytes received by one call while a head is expected. Body bytes that arrive with the head are
    /// copied twice and are not yet counted in the byte budget; so few are read, and the rest is read directly into the
    /// body.
    private static let headSize = 16 << 10

    /// Receives into `target`. Returns nil if there are no bytes now, or if the connection has ended (which is then
    /// handled).
    func receive(_ connection: Connection, into target: UnsafeMutableRawBufferPointer) -> Int? {
        let received = csys_receive(connection.descriptor, target.baseAddress, target.count)
        return take(received, of: target.count, connection)
    }

    /// Handles the result of a read of at most `requestedBytes` bytes. Returns the number of bytes; nil as
    /// ``receive(_:into:)``.
    func take(_ received: Int, of requestedBytes: Int, _ connection: Connection) -> Int? {
        if received > 0 {
            // Fewer bytes than requested: the socket is empty (see edge-triggering in `EventLoop`).
            if received < requestedBytes && !connection.finSignalled { connection.readable = false }
            return received
        }
        connection.readable = false
        if received == 0 {
            let unread = !connection.leftover.isEmpty && connection.leftoverIsNew
            perform(connection.machine.peerEnded(unread: unread, policy: context.policy, now: now), on: connection)
        } else if received != -Int(EAGAIN) {
            perform(connection.machine.peerVanished(), on: connection)
        }
        return nil
    }

    // MARK: Heads

    private func receiveHead(_ connection: Connection) {
        let kept = connection.leftover.count
        if kept > 0 { connection.leftover.withUnsafeBytes { scratch.copyMemory(from: $0) } }
        // Body bytes that arrive with the head are kept until there is room. If room is scarce, read even less, so that
        // thousands of connections can wait.
        let size = context.budget.isHalfUsed ? Self.headSize / 4 : Self.headSize
        let room = UnsafeMutableRawBufferPointer(rebasing: scratch[kept..<min(scratch.count, kept &+ size)])
        guard let received = receive(connection, into: room) else { return }
        process(connection, count: kept &+ received)
    }

    private func resumeLeftover(_ connection: Connection) {
        connection.leftoverIsNew = false
        connection.leftover.withUnsafeBytes { scratch.copyMemory(from: $0) }
        process(connection, count: connection.leftover.count)
    }

    /// Parses the first `count` bytes of `scratch`, answers requests that can be answered at once (pipelined ones with
    /// one send), and keeps the rest.
    private func process(_ connection: Connection, count: Int) {
        var offset = 0
        var starving = false
        if let version = connection.awaitedProxyHeader {
            switch takeProxyHeader(version, UnsafeRawBufferPointer(rebasing: scratch[..<count]), connection) {
            case nil: return
            case 0?:
                keep(connection, from: 0, to: count, isNew: false)
                return
            case let size?: offset = size
            }
        }
        parsing: while offset < count, !starving {
            guard connection.machine.phase == .idle || connection.machine.phase == .head else { break }
            let bytes = UnsafeRawBufferPointer(rebasing: scratch[offset..<count])
            do throws(WireError) {
                switch try parse(bytes, connection) {
                case .needMore:
                    starving = true
                case .head(let head, let consumed):
                    guard mayBegin(connection, head) else { break parsing }
                    offset += consumed
                    begin(connection, head, size: consumed, buffered: count - offset)
                    offset += discardReceived(connection, count - offset)
                    guard mayTakeHead() else { break parsing }
                }
            } catch {
                offset = count
                answerFault(connection, error, head: bytes)
            }
        }
        keep(connection, from: offset, to: count, isNew: !starving)
        sendAnswers(connection)
        if starving && connection.machine.peerFinished {
            perform(connection.machine.peerEnded(unread: false, policy: context.policy, now: now), on: connection)
        }
    }

    /// Parses the PROXY header at the start of a connection.
    /// - Returns: the header's size; 0 if it is incomplete; nil if it was malformed and the connection is closed.
    private func takeProxyHeader(
        _ version: ProxyHeader.Version, _ bytes: UnsafeRawBufferPointer, _ connection: Connection
    ) -> Int? {
        switch ProxyHeader.parse(bytes, version) {
        case .needMore: return 0
        case .header(let header, let size):
            connection.awaitedProxyHeader = nil
            if let source = header.source, context.configuration.trustedProxies.trust(connection.remote) {
                connection.client = source.description
            }
            return size
        case .malformed:
            refuseProxyHeader(connection)
            return nil
        }
    }

    /// Parses with the connection's own parser if it is in the middle of a head, otherwise with the loop's.
    private func parse(_ bytes: UnsafeRawBufferPointer, _ connection: Connection) throws(WireError) -> ParseResult {
        if connection.firstByte == 0 { connection.firstByte = now }
        do throws(WireError) {
            let result =
                connection.parser == nil ? try parser.parse(bytes) : try connection.parser?.parse(bytes) ?? .needMore
            if case .needMore = result {
                if connection.parser == nil {
                    connection.parser = parser
                    parser = RequestParser(limits: context.configuration.wireLimits)
                }
                // An empty line before a request does not begin the request.
                if connection.parser?.isAtStart == false {
                    connection.machine.headStarted(policy: context.policy, now: now)
                }
            } else if connection.parser != nil {
                connection.parser = nil
            }
            return result
        } catch {
            // A failed parser stays at its fault and knows the method. The connection keeps it until the answer is
            // rendered.
            if connection.parser == nil {
                connection.parser = parser
                parser = RequestParser(limits: context.configuration.wireLimits)
            }
            throw error
        }
    }

    /// Discards the bytes of a refused body that arrived with its head. Returns how many of the `count` bytes are
    /// discarded.
    private func discardReceived(_ connection: Connection, _ count: Int) -> Int {
        guard connection.machine.phase == .skipping, count > 0 else { return 0 }
        let skipped = Int(min(connection.machine.bodyRemaining ?? 0, UInt64(count)))
        perform(connection.machine.discarded(UInt64(skipped), policy: context.policy, now: now), on: connection)
        return skipped
    }

    /// Copies the bytes that were not consumed to the connection.
    private func keep(_ connection: Connection, from offset: Int, to count: Int, isNew: Bool) {
        switch connection.machine.phase {
        case .closed, .closing, .lingering: connection.leftover = []
        default:
            if offset < count {
                connection.leftover = Array(scratch[offset..<count])
                connection.leftoverIsNew = isNew
            } else if !connection.leftover.isEmpty {
                connection.leftover = []
                connection.leftoverIsNew = false
            }
        }
    }

    // MARK: While a request runs

    /// Receives bytes while a request is handled, as far as there is room, so that the client's FIN is noticed. Returns
    /// whether to continue.
    private func readAhead(_ connection: Connection) -> Bool {
        let room = context.configuration.maxReadAheadBytes - connection.leftover.count
        if room > 0 {
            let target = UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(room, scratch.count)])
            guard let received = receive(connection, into: target) else { return false }
            connection.leftover.append(contentsOf: scratch[..<received])
            connection.leftoverIsNew = true
            return true
        }
        // There is no room: the FIN cannot be read, but epoll has reported it. `readable` stays set, to continue after
        // the answer.
        if connection.finSignalled && !connection.machine.peerFinished {
            perform(connection.machine.peerEnded(unread: true, policy: context.policy, now: now), on: connection)
        }
        return false
    }

    // MARK: Throwing away

    /// Reads and discards bytes, so that the client can finish sending and then reads its answer.
    private func discard(_ connection: Connection) {
        let machine = connection.machine
        if machine.phase == .skipping, machine.bodyRemaining == nil { return discardChunks(connection) }
        let requestedBytes = Int(min(machine.phase == .skipping ? machine.bodyRemaining ?? 0 : .max, 1 << 20))
        if !connection.leftover.isEmpty {
            let count = min(requestedBytes, connection.leftover.count)
            connection.leftover.removeFirst(count)
            connection.leftoverIsNew = !connection.leftover.isEmpty
            perform(
                connection.machine.discarded(UInt64(count), policy: context.policy, now: now), on: connection)
            return
        }
        let received = csys_discard(connection.descriptor, requestedBytes)
        // A short read does not mean that the socket is empty: TCP skips in pieces of its own size.
        guard let count = take(received, of: 0, connection) else { return }
        perform(connection.machine.discarded(UInt64(count), policy: context.policy, now: now), on: connection)
    }

    /// Reads and discards a chunked body. It must be decoded to find its end.
    private func discardChunks(_ connection: Connection) {
        var count = min(connection.leftover.count, Self.receiveSize)
        if count > 0 {
            connection.leftover.withUnsafeBytes {
                scratch.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
            dropLeftover(connection, count)
        } else {
            let target = UnsafeMutableRawBufferPointer(rebasing: scratch[..<Self.receiveSize])
            guard let received = receive(connection, into: target) else { return }
            count = received
        }
        do throws(WireError) {
            guard
                let result = try connection.skipped?.decode(
                    UnsafeRawBufferPointer(rebasing: scratch[..<count]), body: { _ in })
            else { return }
            if result.consumed < count {
                connection.leftover = Array(scratch[result.consumed..<count]) + connection.leftover
                connection.leftoverIsNew = true
            }
            let action = connection.machine.discarded(
                UInt64(result.consumed), ended: result.done, policy: context.policy, now: now)
            perform(action, on: connection)
        } catch {
            // It was answered; the bytes that follow may not be a request.
            perform(connection.machine.finish(.finished), on: connection)
        }
    }
}

import CSystem
import HTTPWire

extension EventLoop {
    /// Receives a part of a body: first the bytes that arrived with the head, then from the socket directly into the
    /// body's buffer.
    func receiveBody(_ connection: Connection) {
        guard let exchange = connection.exchange else { return }
        if exchange.decoder != nil {
            receiveChunks(connection, exchange.body)
        } else {
            receiveLength(connection, exchange.body)
        }
    }

    // MARK: With a length

    private func receiveLength(_ connection: Connection, _ body: HTTPBody) {
        let remaining = Int(clamping: connection.machine.bodyRemaining ?? 0)
        let kept = connection.leftover.count
        let requestedBytes = min(remaining, kept > 0 ? kept : Self.granule)
        let hasArrived = context.budget.isHalfUsed && restHasArrived(connection)
        guard let allowed = body.makeRoom(requestedBytes, target: body.count + remaining, hasArrived: hasArrived) else {
            return answerFault(connection, Self.outOfMemory)
        }
        guard allowed > 0 else { return starve(connection, hasArrived ? .arrived : body.claim) }
        let received: Int
        if kept > 0 {
            connection.leftover.withUnsafeBytes { body.append(UnsafeRawBufferPointer(rebasing: $0[..<allowed])) }
            dropLeftover(connection, allowed)
            received = allowed
        } else {
            let target = UnsafeMutableRawBufferPointer(rebasing: body.freeSpace[..<allowed])
            guard let count = receive(connection, into: target) else { return body.trim() }
            body.advance(by: count)
            received = count
        }
        body.trim()
        eviction.received(connection.descriptor, received, now: now)
        perform(connection.machine.bodyReceived(UInt64(received)), on: connection)
    }

    // MARK: Chunked

    private func receiveChunks(_ connection: Connection, _ body: HTTPBody) {
        let kept = connection.leftover.count
        let requestedBytes = kept > 0 ? min(kept, Self.receiveSize) : Self.receiveSize
        // Chunks with their coding are never shorter than without. Data beyond the limit is refused before it is
        // stored.
        let maximum = min(requestedBytes, Int(clamping: connection.machine.maxBody) - body.count)
        let target = body.count + maximum
        let size = target <= 16 << 10 ? (target | 4095) + 1 : target
        let hasArrived = context.budget.isHalfUsed && restHasArrived(connection)
        guard let room = maximum == 0 ? 0 : body.makeRoom(maximum, target: size, hasArrived: hasArrived) else {
            return answerFault(connection, Self.outOfMemory)
        }
        guard room > 0 || maximum == 0 else { return starve(connection, hasArrived ? .arrived : body.claim) }
        let allowed = room == maximum ? requestedBytes : room
        let bytes: UnsafeRawBufferPointer
        if kept > 0 {
            let count = min(kept, allowed)
            connection.leftover.withUnsafeBytes {
                scratch.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
            dropLeftover(connection, count)
            bytes = UnsafeRawBufferPointer(rebasing: scratch[..<count])
        } else {
            let target = UnsafeMutableRawBufferPointer(rebasing: scratch[..<allowed])
            guard let count = receive(connection, into: target) else { return body.trim() }
            bytes = UnsafeRawBufferPointer(rebasing: scratch[..<count])
        }
        decode(connection, body, bytes, room: room)
    }

    /// Decodes `bytes`. `room`: the number of data bytes that fit; `bytes` has no more, unless it exceeds the body's
    /// limit.
    private func decode(_ connection: Connection, _ body: HTTPBody, _ bytes: UnsafeRawBufferPointer, room: Int) {
        let before = body.count
        let limit = connection.machine.maxBody
        do throws(WireError) {
            guard var decoder = connection.exchange?.decoder else { return }
            let result = try decoder.decode(bytes) { (data: UnsafeRawBufferPointer) throws(WireError) in
                guard body.count - before + data.count <= room else {
                    throw ConnectionFault.bodyTooLarge(limit: limit, declared: nil).error
                }
                body.append(data)
            }
            connection.exchange?.decoder = decoder
            body.trim()
            if result.consumed < bytes.count {
                connection.leftover = Array(bytes[result.consumed...]) + connection.leftover
                connection.leftoverIsNew = true
            }
            let received = UInt64(body.count - before)
            eviction.received(connection.descriptor, Int(received), now: now)
            let action = connection.machine.bodyReceived(received, announced: result.done ? 0 : decoder.announced)
            if action != .wait { return perform(action, on: connection) }
            if result.done { perform(connection.machine.bodyEnded(), on: connection) }
        } catch {
            answerFault(connection, error)
        }
    }

    func dropLeftover(_ connection: Connection, _ count: Int) {
        if count == connection.leftover.count {
            connection.leftover = []
        } else {
            connection.leftover.removeFirst(count)
        }
        connection.leftoverIsNew = !connection.leftover.isEmpty
    }

    // MARK: The byte budget

    /// The most bytes that are read from one connection by one call, and taken from the budget for it.
    private static let granule = 256 << 10

    private static let outOfMemory = WireError(
        .overloaded, message: "the server has no memory for the body; try again",
        label: "no_memory")

    private func starve(_ connection: Connection, _ claim: ByteBudget.Claim) {
        connection.machine.budgetExhausted(policy: context.policy, now: now)
        starved.append(connection.descriptor, claim)
    }

    /// True if the last byte of the body has arrived, in this process or in the socket.
    func restHasArrived(_ connection: Connection) -> Bool {
        guard let exchange = connection.exchange else { return false }
        let kept = connection.leftover.count
        if let decoder = exchange.decoder { return lastChunkHasArrived(connection, decoder) }
        let remaining = Int(clamping: connection.machine.bodyRemaining ?? .max)
        return kept >= remaining || kept + Int(csys_unread(connection.descriptor)) >= remaining
    }

    /// True if the last chunk has arrived, which requires decoding. Only the bytes that fit into `scratch` are checked.
    private func lastChunkHasArrived(_ connection: Connection, _ decoder: ChunkedDecoder) -> Bool {
        var decoder = decoder
        var count = min(connection.leftover.count, scratch.count)
        connection.leftover.withUnsafeBytes { scratch.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        if connection.readable, count < Self.receiveSize {
            let room = scratch[count..<Self.receiveSize]
            count += max(
                0,
                csys_peek(connection.descriptor, UnsafeMutableRawBufferPointer(rebasing: room).baseAddress, room.count))
        }
        let result = try? decoder.decode(UnsafeRawBufferPointer(rebasing: scratch[..<count]), body: { _ in })
        return result?.done ?? false
    }

    /// Gives free room to waiting bodies. A body that finds too little waits again at the end: no connection gets more
    /// than a turn before each other one has had its turn.
    func feedStarved() {
        guard starved.isAsking else { return }
        let end = csys_monotonic() &+ Self.feedingTime
        while let id = starved.next() {
            guard let connection = connections[id] else { continue }
            feed(connection)
            if connection.machine.phase == .waiting { starved.lastWasRefused() }
            if csys_monotonic() >= end { return }
        }
    }

    /// Continues a body that waits for room.
    func feed(_ connection: Connection) {
        perform(connection.machine.budgetFreed(policy: context.policy, now: now), on: connection)
        if connection.machine.phase == .body, connection.readable || !connection.leftover.isEmpty {
            receiveBody(connection)
        }
        if connection.machine.phase != .waiting { backlog.unfinished.append(connection.descriptor) }
        synchronize(connection)
    }

    /// The maximum time of `feedStarved` per turn, in nanoseconds.
    private static let feedingTime: UInt64 = 1_000_000
}

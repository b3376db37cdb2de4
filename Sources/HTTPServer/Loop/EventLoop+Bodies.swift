import CSystem
import HTTPWire

extension EventLoop {
    /// Receives more of a body: first what came with the head, then from the socket straight to where it stays.
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
        // Memory on the first byte, not on the announcement: a head alone costs nothing.
        guard body.reserve(body.count + remaining) else { return answerFault(connection, Self.outOfMemory) }
        let kept = connection.leftover.count
        let wanted = min(remaining, kept > 0 ? kept : Self.granule)
        let allowed = min(wanted, room(body, wanted))
        guard allowed > 0 else { return starve(connection) }
        let received: Int
        if kept > 0 {
            connection.leftover.withUnsafeBytes { body.append(UnsafeRawBufferPointer(rebasing: $0[..<allowed])) }
            dropLeftover(connection, allowed)
            received = allowed
        } else {
            let target = UnsafeMutableRawBufferPointer(rebasing: body.freeSpace[..<allowed])
            guard let count = receive(connection, into: target) else { return }
            body.advance(by: count)
            received = count
        }
        perform(connection.machine.bodyReceived(UInt64(received)), on: connection)
    }

    /// How many of `wanted` bytes the body may hold beyond those it has, taking budget if need be.
    private func room(_ body: HTTPBody, _ wanted: Int) -> Int {
        let ahead = body.bytesCharged - body.count
        if ahead >= wanted || body.charge(wanted - ahead) { return wanted }
        return ahead
    }

    // MARK: Chunked

    private func receiveChunks(_ connection: Connection, _ body: HTTPBody) {
        let kept = connection.leftover.count
        let wanted = kept > 0 ? kept : receiveSize
        // Chunks are never shorter with their coding than without: this is room enough.
        let allowed = min(wanted, room(body, wanted))
        guard allowed > 0 else { return starve(connection) }
        let bytes: UnsafeRawBufferPointer
        if kept > 0 {
            connection.leftover.withUnsafeBytes { scratch.copyMemory(from: $0) }
            connection.leftover = []
            connection.leftoverIsNew = false
            bytes = UnsafeRawBufferPointer(rebasing: scratch[..<kept])
        } else {
            let target = UnsafeMutableRawBufferPointer(rebasing: scratch[..<min(allowed, receiveSize)])
            guard let count = receive(connection, into: target) else { return }
            bytes = UnsafeRawBufferPointer(rebasing: scratch[..<count])
        }
        decode(connection, body, bytes)
    }

    private func decode(_ connection: Connection, _ body: HTTPBody, _ bytes: UnsafeRawBufferPointer) {
        let before = body.count
        do throws(WireError) {
            guard var decoder = connection.exchange?.decoder else { return }
            let result = try decoder.decode(bytes) { (data: UnsafeRawBufferPointer) throws(WireError) in
                let needed = body.count + data.count
                // Doubling: growth moves pages, or few bytes.
                let size = needed > body.capacityNow ? max(needed, body.capacityNow * 2, 4096) : needed
                guard body.reserve(size) else { throw Self.outOfMemory }
                body.append(data)
            }
            connection.exchange?.decoder = decoder
            if result.consumed < bytes.count {
                connection.leftover = Array(bytes[result.consumed...])
                connection.leftoverIsNew = true
            }
            let action = connection.machine.bodyReceived(UInt64(body.count - before))
            if action != .wait { return perform(action, on: connection) }
            if result.done { perform(connection.machine.bodyEnded(), on: connection) }
        } catch {
            answerFault(connection, error)
        }
    }

    private func dropLeftover(_ connection: Connection, _ count: Int) {
        if count == connection.leftover.count {
            connection.leftover = []
        } else {
            connection.leftover.removeFirst(count)
        }
        connection.leftoverIsNew = !connection.leftover.isEmpty
    }

    // MARK: The byte budget

    /// Bytes read from one connection in one go, and taken from the budget with them.
    private static let granule = 256 << 10

    private static let outOfMemory = WireError(
        status: .serviceUnavailable, code: "overloaded", message: "the server has no memory for the body; try again",
        label: "no_memory")

    private func starve(_ connection: Connection) {
        connection.machine.budgetExhausted(policy: context.policy, now: now)
        starved.append(connection.descriptor)
    }

    /// There is room again: those who wait go on in the order in which they came. One who finds too little waits on, at the
    /// end: nobody gets more than a turn before the others had theirs. All are asked, for the one who may overdraw may be
    /// any of them.
    func feedStarved() {
        for _ in 0..<starved.count {
            guard let id = starved.popFirst(), let connection = connections[Int(id)] else { return }
            perform(connection.machine.budgetFreed(policy: context.policy, now: now), on: connection)
            advance(connection)
            settle(connection)
        }
    }
}

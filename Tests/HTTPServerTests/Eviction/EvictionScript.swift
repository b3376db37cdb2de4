import HTTPServer

/// Carries out the steps of searches without sockets: a table says what each socket holds and which clients have sent
/// more.
struct EvictionScript {
    static let second: UInt64 = 1_000_000_000

    var machine = EvictionMachine()
    /// Patience with readers 250 ms, write timeout 30 s.
    let policy = ConnectionPolicy(HTTPServerConfiguration())
    var now: UInt64 = 1000 * Self.second
    var phases: [Int32: ConnectionMachine.Phase] = [:]
    /// The bytes that a measurement finds in a socket.
    var queued: [Int32: Int] = [:]
    /// Connections with a request in the socket: it begins when the socket is read.
    var busy: Set<Int32> = []
    var steps: [EvictionSearch.Step] = []

    mutating func wait(_ seconds: Double) { now += UInt64(seconds * Double(Self.second)) }

    /// A connection was accepted, and is in `phase` a millisecond later.
    mutating func open(_ ids: Int32..., in phase: ConnectionMachine.Phase, isReserved: Bool = false) {
        for id in ids {
            machine.opened(id)
            machine.settled(id, in: .idle, isReserved: isReserved, now: now)
            settle(id, in: phase, isReserved: isReserved)
        }
    }

    mutating func settle(_ id: Int32, in phase: ConnectionMachine.Phase, isReserved: Bool = false) {
        wait(0.001)
        phases[id] = phase
        machine.settled(id, in: phase, isReserved: isReserved, now: now)
    }

    /// An answer of `bytes` was given to the socket, and the client has taken nothing of it.
    mutating func answer(_ id: Int32, _ bytes: Int) {
        wait(0.001)
        machine.handed(id, bytes, now: now)
        queued[id, default: 0] += bytes
        measure(id)
    }

    mutating func measure(_ id: Int32) {
        let bytes = queued[id] ?? 0
        _ = machine.measured(id, queued: bytes, now: now)
        _ = machine.holds(id, bytes, isReserved: false, now: now)
        machine.rested(id, in: phases[id] ?? .idle, isReserved: false, now: now)
    }

    mutating func close(_ id: Int32) {
        _ = machine.closed(id)
        phases[id] = nil
    }

    /// Searches for a connection to close for a new one. Returns the last step, after it was carried out.
    mutating func evict() -> EvictionSearch.Step {
        var search = EvictionSearch(policy: policy)
        steps = []
        while true {
            let step = search.next(in: &machine, now: now)
            steps.append(step)
            switch step {
            case .measure(let id): measure(id)
            case .look(let id):
                let isBusy = busy.remove(id) != nil
                if isBusy { settle(id, in: .handling) }
                search.looked(isUnchanged: !isBusy)
            case .refuseBody(let id, _), .close(let id):
                close(id)
                return step
            case .stop: return step
            }
        }
    }

    /// Closes readers while the unread answers exceed `maximum` bytes. Returns the steps without measurements.
    mutating func shed(maximum: Int, mayAsk: Bool = true) -> [ReaderSearch.Step] {
        var search = ReaderSearch(mayAsk: mayAsk)
        var steps: [ReaderSearch.Step] = []
        while true {
            let step = search.next(in: &machine, isExceeded: queued.values.reduce(0, +) > maximum, now: now)
            if case .measure(let id) = step {
                measure(id)
                continue
            }
            steps.append(step)
            guard case .close(let id) = step else { return steps }
            queued[id] = nil
            close(id)
        }
    }
}

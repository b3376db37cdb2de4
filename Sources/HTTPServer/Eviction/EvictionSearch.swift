/// Finds a connection to close for a new one, in this order: 1. already answered, still sending; 2. longest idle;
/// 3. head incomplete for longest; 4. slow body; 5. slow reader.
///
/// If there are slow bodies or readers, connections that began or were answered within the last second are spared,
/// because their next request may be in flight. A client with unread answers counts as a reader in all of these states.
///
/// The search has no I/O: it asks the loop for facts, one step at a time. It ends with one of the last three steps:
///
/// ```
///   leaving ──▶ idle ──▶ heads ──▶ bodies ──▶ readers ──▶ stop
///      │         ▲ │       │          │          │
///      ▼         │ ▼       ▼          ▼          ▼
///    close       └── looked at ──▶ refuseBody  close
///             changed     │ unchanged
///                         ▼
///                       close
/// ```
package struct EvictionSearch: Sendable {
    /// The next task of the loop.
    package enum Step: Sendable, Hashable {
        /// Measure the bytes that the socket holds, and report them (`EvictionMachine.measured`).
        case measure(Int32)
        /// Read the socket, because the next request may have arrived, and call ``looked(isUnchanged:)``. If this
        /// closes the connection, the search is over.
        case look(Int32)
        /// Refuse the body, then close the connection.
        case refuseBody(Int32, ConnectionEnding)
        /// Close the connection.
        case close(Int32)
        /// Close none: all must stay.
        case stop
    }

    private enum Stage: Sendable {
        case leaving, idle, heads
        case lookedAt(Int32, isUnchanged: Bool)
        case bodies
        case body(Int32)
        case readers(left: Int)
        case reader(Int32, left: Int)
    }

    /// The maximum number of sockets that are read, and of readers that are measured.
    private static let maximum = 64

    private let policy: ConnectionPolicy
    private var stage = Stage.leaving
    /// The first connection of the current queue, once it was measured.
    private var measured: Int32?
    private var looksLeft = Self.maximum
    private var sparesRecent = false

    /// A search that begins.
    package init(policy: ConnectionPolicy) { self.policy = policy }

    /// The next step, after the previous one was carried out.
    package mutating func next(in machine: inout EvictionMachine, now: UInt64) -> Step {
        while true {
            switch stage {
            case .leaving:
                switch first(of: \.leaving, in: &machine) {
                case .step(let step): return step
                case .found(let id): return .close(id)
                case nil:
                    sparesRecent = machine.slowestBody(now: now) != nil || machine.slowestReader(now: now) != nil
                    stage = .idle
                }
            case .idle:
                if let step = resting(\.idle, else: .heads, in: &machine, now: now) { return step }
            case .heads:
                if let step = resting(\.heads, else: .bodies, in: &machine, now: now) { return step }
            case .lookedAt(let id, let isUnchanged):
                if isUnchanged { return .close(id) }
                looksLeft -= 1
                stage = looksLeft > 0 ? .idle : .bodies
            case .bodies:
                guard let id = machine.slowestBody(now: now) else {
                    stage = .readers(left: min(Self.maximum, machine.readers.count))
                    continue
                }
                stage = .body(id)
                return .measure(id)
            case .body(let id):
                // Only the refusal is in the socket; the kernel delivers it to the client.
                return .refuseBody(id, machine[id].queued > 0 ? .evicted : .finished)
            case .readers(let left):
                // Each reader holds an answer, which its client has had time to begin to take.
                guard left > 0, let id = machine.slowestReader(after: policy.bodyMemoryTimeout, now: now) else {
                    return .stop
                }
                stage = .reader(id, left: left - 1)
                return .measure(id)
            case .reader(let id, let left):
                stage = .readers(left: left)
                guard machine.slowestReader(after: policy.bodyMemoryTimeout, now: now) == id else { continue }
                // Spare it only for the write timeout: a client could take a byte now and then for ever.
                let standing = machine[id]
                guard standing.readsSlowly(now: now), now &- standing.progressAt < policy.writeTimeout else {
                    return .close(id)
                }
                machine.readers.moveToEnd(id)
            }
        }
    }

    /// The socket of the last ``Step/look(_:)`` was read. `isUnchanged`: no request has begun or was answered.
    package mutating func looked(isUnchanged: Bool) {
        if case .lookedAt(let id, _) = stage { stage = .lookedAt(id, isUnchanged: isUnchanged) }
    }

    /// The step for the first of a queue of connections that wait only for their clients; nil if it must stay, and then
    /// the search goes to the stage `other`.
    private mutating func resting(
        _ queue: WritableKeyPath<EvictionMachine, IndexQueue>, else other: Stage, in machine: inout EvictionMachine,
        now: UInt64
    ) -> Step? {
        switch first(of: queue, in: &machine) {
        case .step(let step): return step
        case .found(let id) where !sparesRecent || now &- machine[id].progressAt >= EvictionMachine.slowAfter:
            // A connection whose next request has arrived is not idle, so read each socket first.
            stage = .lookedAt(id, isUnchanged: false)
            return .look(id)
        case .found, nil:
            stage = other
            return nil
        }
    }

    private enum First {
        case step(Step), found(Int32)
    }

    /// The first connection of a queue with no unread answers, or the measurement that is needed to find it.
    /// Connections before it are removed from the queue, because their clients still read.
    private mutating func first(
        of queue: WritableKeyPath<EvictionMachine, IndexQueue>, in machine: inout EvictionMachine
    ) -> First? {
        while let id = machine[keyPath: queue].first {
            guard measured == id else {
                measured = id
                return .step(.measure(id))
            }
            measured = nil
            if machine[id].queued == 0 { return .found(id) }
            machine[keyPath: queue].remove(id)
        }
        return nil
    }
}

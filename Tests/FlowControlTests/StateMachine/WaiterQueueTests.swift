import FlowControl
import SystemSupport
import TestSupport
import Testing

/// The queue without a limiter: behavior that the state machine's tests do not show.
@Suite struct WaiterQueueTests {
    @Test("the oldest waiter since an instant is found after any arrival, departure or setting aside")
    func oldestSinceAnInstantIsFoundWhateverHappened() {
        let seed = SplitMix.seed(for: "oldestSinceAnInstantIsFoundWhateverHappened")
        var random = SplitMix(seed: seed)
        var queue = WaiterQueue<Int>()
        var now = MonotonicInstant(nanoseconds: 1000)
        for step in 0..<2_000 {
            let waiters = queue.tickets?.dropFirst(queue.aside) ?? []
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5 where waiters.count < 50:
                // Some at the same instant.
                if random.chance(70) { now = now + .nanoseconds(Int.random(in: 1...9, using: &random)) }
                let claim = Claim(client: UInt64.random(in: 0..<3, using: &random))
                let ticket = queue.append(.init(at: now, expiresByDeadline: false, claim: claim), start: 0)
                _ = queue.attach(step, to: ticket)
            case 5..<9:
                if let ticket = waiters.randomElement(using: &random) {
                    _ = queue.resolve(ticket, with: .failure(.cancelled))
                }
            default:
                if let ticket = waiters.first, waiters.count > 20 { queue.deferTurn(ticket) }
            }
            // Mostly later than the last one, as the limiter requests it, and sometimes earlier.
            let since = now + .nanoseconds(-Int.random(in: -2...60, using: &random))
            let expected = queue.tickets?.dropFirst(queue.aside).first { queue.arrival(of: $0).at >= since }
            #expect(queue.oldest(since: since) == expected, "seed \(seed), step \(step)")
        }
    }

    /// A queue with the waiters of the given clients, in order, and their tickets.
    private static func queue(_ clients: UInt64...) -> (WaiterQueue<Int>, [WaiterTicket]) {
        var queue = WaiterQueue<Int>()
        let tickets = clients.map { client in
            queue.append(
                .init(
                    at: MonotonicInstant(nanoseconds: 0), expiresByDeadline: false, claim: Claim(client: client)),
                start: 0)
        }
        return (queue, tickets)
    }

    @Test("a client displaces the newest waiter of the client with the most, if that then still has more")
    func displaceable() {
        let (queue, tickets) = Self.queue(1, 2, 2, 1, 2)
        #expect(queue.displaceable(by: 3) == tickets[4])
        // Client 1 would have three, as client 2 has.
        #expect(queue.displaceable(by: 1) == nil)
        #expect(queue.displaceable(by: 2) == nil)
    }

    @Test("a single client in the queue displaces none of its own, and another client one of its waiters")
    func displaceableOfOne() {
        let (queue, tickets) = Self.queue(1, 1)
        #expect(queue.displaceable(by: 1) == nil)
        #expect(queue.displaceable(by: 2) == tickets[1])
        #expect(Self.queue(1).0.displaceable(by: 2) == nil)
    }

    @Test("before a client's next request come its own waiters, as many of each other client, and some set aside")
    func turnsBefore() {
        var (queue, tickets) = Self.queue(1, 1, 1, 2)
        #expect(queue.turnsBefore(3) == 2)
        // Of client 1 as many as this one has then, and its own waiter.
        #expect(queue.turnsBefore(2) == 3)
        #expect(queue.turnsBefore(1) == 4)
        queue.deferTurn(tickets[0])
        #expect(queue.turnsBefore(1) == 3)
        (queue, tickets) = Self.queue(1, 1, 1, 1, 1, 1, 1, 1, 1)
        queue.deferTurn(tickets[0])
        queue.deferTurn(tickets[1])
        // Seven with turns, and the one that gets the eighth slot.
        #expect(queue.turnsBefore(1) == 8)
    }
}

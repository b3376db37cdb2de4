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
                if let ticket = waiters.first, waiters.count > 20 { queue.setAside(ticket) }
            }
            // Mostly later than the last one, as the limiter requests it, and sometimes earlier.
            let since = now + .nanoseconds(-Int.random(in: -2...60, using: &random))
            let expected = queue.tickets?.dropFirst(queue.aside).first { queue.arrival(of: $0).at >= since }
            #expect(queue.oldest(since: since) == expected, "seed \(seed), step \(step)")
        }
    }
}

import FlowControl
import SystemSupport
import Testing

/// Tests of the timer for the earliest expiry of a queue.
@Suite struct ExpiryTimerTests {
    private var queue = WaiterQueue<Int>()
    private var timer = ExpiryTimer()

    private static func time(_ nanoseconds: UInt64) -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds) }

    /// Adds a waiter that expires at a time.
    private mutating func add(_ expiry: UInt64) -> WaiterTicket {
        let ticket = queue.append(.init(at: Self.time(0), expiresByDeadline: false, claim: .usual), start: 0)
        _ = queue.attach(0, to: ticket)
        timer.insert(ticket, at: Self.time(expiry), of: queue)
        return ticket
    }

    private mutating func arm() -> TimerRequest? { timer.arm(for: queue) }

    @Test("a timer is requested for the first expiry, and again only for an earlier one")
    mutating func arming() {
        #expect(arm() == nil)
        _ = add(100)
        let first = arm()
        #expect(first?.at == Self.time(100))
        _ = add(200)
        #expect(arm() == nil)
        _ = add(50)
        let earlier = arm()
        #expect(earlier?.at == Self.time(50) && earlier != first && timer.armed == earlier)
    }

    @Test("a timer that another one has replaced does nothing; the current one is requested again")
    mutating func firing() throws {
        _ = add(100)
        let first = try #require(arm())
        _ = add(50)
        let second = try #require(arm())
        let stale = timer.fired(epoch: first.epoch)
        #expect(!stale && timer.armed == second)
        let current = timer.fired(epoch: second.epoch)
        #expect(current && timer.armed == nil)
        #expect(arm()?.at == Self.time(50))
    }

    @Test("expired waiters come out in the order of their expiry, at their time and no sooner")
    mutating func due() {
        let (late, early) = (add(200), add(100))
        #expect(timer.nextDue(at: Self.time(99)) == nil)
        #expect(timer.nextDue(at: Self.time(100)) == early)
        #expect(timer.nextDue(at: Self.time(100)) == nil)
        #expect(timer.nextDue(at: Self.time(300)) == late)
    }

    @Test("no timer is requested for a waiter that has left")
    mutating func left() {
        let first = add(100)
        _ = add(200)
        _ = queue.resolve(first, with: .failure(.cancelled))
        #expect(arm()?.at == Self.time(200))
    }

    @Test("expiries of waiters that have left do not pile up")
    mutating func sweeping() {
        for expiry: UInt64 in 1...1000 {
            _ = queue.resolve(add(expiry), with: .failure(.cancelled))
            // The new one, and those that a sweep leaves at most: 2 live + 32.
            #expect(timer.heap.count <= 35)
        }
    }
}

import FlowControl
import SystemSupport
import Testing

/// Tests of the slots without a queue. Each is expected to be held for 12 ms.
@Suite struct SlotsTests {
    private static let millisecond: UInt64 = 1_000_000

    private static func time(_ milliseconds: UInt64) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: 1_000_000_000 + milliseconds * millisecond)
    }

    /// Slots of which `taken` are taken at time 0.
    private static func slots(_ limit: Int, taken: Int, isLong: Bool = false) -> Slots {
        var slots = Slots(limit: limit, expectedService: 12 * millisecond)
        for _ in 0..<taken { slots.take(isLong: isLong, at: time(0)) }
        return slots
    }

    @Test("a slot is free while fewer than the limit are in use")
    func free() {
        #expect(Self.slots(3, taken: 2).isFree)
        #expect(!Self.slots(3, taken: 3).isFree)
    }

    @Test(
        "long requests get at most two thirds of the slots, and at least one",
        arguments: [(1, 1), (2, 1), (3, 2), (4, 2), (6, 4), (100, 66)])
    func long(limit: Int, maximum: Int) {
        #expect(Self.slots(limit, taken: maximum - 1, isLong: true).allowsLong)
        var slots = Self.slots(limit, taken: maximum, isLong: true)
        #expect(!slots.allowsLong)
        slots.release(isLong: true, held: 0, at: Self.time(1))
        #expect(slots.allowsLong && slots.longInUse == maximum - 1 && slots.inUse == maximum - 1)
    }

    @Test("no wait is predicted while a slot is free, nor without a known time of service")
    func none() {
        #expect(Self.slots(3, taken: 2).predictedWait(ahead: 5, at: Self.time(0)) == 0)
        var unknown = Slots(limit: 1, expectedService: 0)
        unknown.take(isLong: false, at: Self.time(0))
        #expect(unknown.predictedWait(ahead: 5, at: Self.time(0)) == 0)
        #expect(!unknown.isMeasured)
    }

    @Test(
        "one of three slots becomes free every 4 ms; overdue ones at any moment, and late if the engine hangs",
        arguments: [
            // ms since the last change, requests ahead, predicted ms
            (0, 0, 4), (0, 1, 8), (0, 3, 16), (3, 0, 1), (4, 0, 0), (12, 0, 0), (12, 2, 8), (13, 0, 1), (112, 0, 100),
        ] as [(UInt64, Int, UInt64)])
    func wait(since: UInt64, ahead: Int, expected: UInt64) {
        let slots = Self.slots(3, taken: 3)
        #expect(slots.predictedWait(ahead: ahead, at: Self.time(since)) == expected * Self.millisecond)
    }

    @Test("slots above a lowered limit must be released first, and any release begins the time again")
    func lowered() {
        var slots = Slots(limit: 3, expectedService: 12 * Self.millisecond)
        for _ in 0..<5 { slots.take(isLong: false, at: Self.time(0)) }
        #expect(slots.predictedWait(ahead: 0, at: Self.time(0)) == 12 * Self.millisecond)
        slots.release(isLong: false, held: 12 * Self.millisecond, at: Self.time(3))
        #expect(slots.isMeasured && slots.inUse == 4)
        #expect(slots.predictedWait(ahead: 0, at: Self.time(4)) == 7 * Self.millisecond)
    }

    @Test("a predicted wait is at most an hour")
    func bounded() {
        #expect(Self.slots(1, taken: 1).predictedWait(ahead: .max / 4, at: Self.time(0)) == 3_600_000_000_000)
        #expect(Self.slots(1, taken: 1).boundedServiceTime == 12 * Self.millisecond)
        #expect(Slots(limit: 1, expectedService: .max).boundedServiceTime == 3_600_000_000_000)
    }
}

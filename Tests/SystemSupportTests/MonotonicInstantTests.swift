import SystemSupport
import Testing

/// Instants and durations at the ends of their ranges: durations come from requests, and must not trap.
@Suite struct MonotonicInstantTests {
    private func at(_ nanoseconds: UInt64) -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds) }

    @Test("an instant moved beyond its range stays at the end of the range")
    func instant_movedBeyondItsRange_saturates() {
        #expect(at(5) + .nanoseconds(7) == at(12))
        #expect(at(5) - .nanoseconds(2) == at(3))
        #expect(at(5) - .nanoseconds(5) == at(0))
        #expect(at(5) - .nanoseconds(6) == at(0))
        #expect(at(5) + .seconds(Int64.min) == at(0))
        #expect(at(.max - 1) + .nanoseconds(1) == .distantFuture)
        #expect(at(.max - 1) + .nanoseconds(2) == .distantFuture)
        #expect(at(.max) + .seconds(Int64.max) == .distantFuture)
        // Half of the range: the maximum of a duration.
        #expect(at(0) + .seconds(Int64.max) == at(UInt64(Int64.max)))
    }

    @Test("the time between two instants stays within the range of a duration")
    func theTimeBetweenTwoSaturates() {
        #expect(at(10) - at(3) == .nanoseconds(7))
        #expect(at(3) - at(10) == .nanoseconds(-7))
        #expect(at(3).duration(to: at(3)) == .zero)
        #expect(at(.max) - at(0) == .nanoseconds(Int64.max))
        #expect(at(0) - at(.max) == .nanoseconds(-Int64.max))
    }

    @Test("the nanoseconds since a later instant are 0")
    func nanosecondsSinceALaterInstantAreNone() {
        #expect(at(10).nanoseconds(since: at(3)) == 7)
        #expect(at(3).nanoseconds(since: at(3)) == 0)
        #expect(at(3).nanoseconds(since: at(4)) == 0)
        #expect(at(.max).nanoseconds(since: at(0)) == .max)
    }

    @Test("instants are ordered by their time")
    func instantsAreOrdered() {
        #expect(at(1) < at(2))
        #expect(!(at(2) < at(2)))
    }

    private static let durations: [(duration: Duration, nanoseconds: Int64)] = [
        (.seconds(2), 2_000_000_000), (.milliseconds(-1500), -1_500_000_000), (.nanoseconds(1), 1),
        (Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999), 1),
        (Duration(secondsComponent: 0, attosecondsComponent: -1_999_999_999), -1),
        (.nanoseconds(Int64.max), .max), (.nanoseconds(Int64.max) + .nanoseconds(1), .max),
        (.nanoseconds(-Int64.max) - .nanoseconds(5), .min), (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
    ]

    @Test("a duration in nanoseconds is cut to whole ones and stays within 64 bits", arguments: durations)
    func durationsAsNanoseconds(duration: Duration, expected: Int64) {
        #expect(duration.saturatedNanoseconds == expected)
    }

    @Test("a count of nanoseconds beyond the range becomes the longest duration")
    func countsOfNanosecondsSaturate() {
        #expect(Duration.nanoseconds(clamping: 7) == .nanoseconds(7))
        #expect(Duration.nanoseconds(clamping: .max) == .nanoseconds(Int64.max))
    }

    @Test("sleeping until an instant ends after the instant, and cancelling the task ends the sleep")
    func clock_sleepUntilAnInstant_returnsAfterIt() async throws {
        let clock = MonotonicClock.system
        let before = clock.now()
        try await clock.sleep(before + .milliseconds(5))
        #expect(clock.now() >= before + .milliseconds(5))
        // A sleep until a past instant returns at once, and a cancelled task is woken.
        try await clock.sleep(before)
        let task = Task { try await clock.sleep(.distantFuture) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

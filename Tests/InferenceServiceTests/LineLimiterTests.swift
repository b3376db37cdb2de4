import InferenceService
internal import ServiceCore
import Testing

/// Repeated lines are suppressed, counted and reported; other lines are not affected.
@Suite struct LineLimiterTests {
    private static let second: UInt64 = 1_000_000_000

    @Test("a burst of equal lines passes, and the next window reports how many lines were left out")
    func aBurstPassesAndTheRestIsCounted() {
        var limiter = LineLimiter()
        for turn in 0..<LineLimiter.burst {
            #expect(limiter.check("disk", at: UInt64(turn)) == .write(suppressed: 0))
        }
        for turn in 0..<37 { #expect(limiter.check("disk", at: UInt64(100 + turn)) == .leaveOut) }
        #expect(limiter.check("disk", at: LineLimiter.window - 1) == .leaveOut)
        // The next window's first line reports all suppressed lines, once.
        #expect(limiter.check("disk", at: LineLimiter.window) == .write(suppressed: 38))
        #expect(limiter.check("disk", at: LineLimiter.window + 1) == .write(suppressed: 0))
    }

    @Test("every window lets a full burst pass")
    func aWindowHasABurstOfItsOwn() {
        var limiter = LineLimiter()
        var written = 0
        // A line every 10 ms for ten windows.
        for turn in 0..<10_000 {
            if case .write = limiter.check("x", at: UInt64(turn) * 10_000_000) { written += 1 }
        }
        #expect(written == 10 * LineLimiter.burst)
    }

    @Test("the limit of a key does not affect the lines of another key")
    func keysDoNotLimitEachOther() {
        var limiter = LineLimiter()
        for _ in 0..<100 { _ = limiter.check("a", at: 5) }
        #expect(limiter.check("b", at: 6) == .write(suppressed: 0))
        #expect(limiter.check("a", at: 7) == .leaveOut)
    }

    @Test("256 keys are remembered: one more forgets all, every new key passes, and repeats are still limited")
    func whatIsRememberedIsBounded() {
        var limiter = LineLimiter()
        // An attacker can invent any number of keys: each passes, and no other key is affected for long.
        for turn in 0..<100_000 { #expect(limiter.check("key \(turn)", at: 1) == .write(suppressed: 0)) }
        for _ in 0..<LineLimiter.burst { _ = limiter.check("again", at: 2) }
        #expect(limiter.check("again", at: 3) == .leaveOut)

        limiter = LineLimiter()
        for _ in 0..<LineLimiter.burst { _ = limiter.check("first", at: 1) }
        for turn in 2...256 { #expect(limiter.check("key \(turn)", at: 1) == .write(suppressed: 0)) }
        #expect(limiter.check("first", at: 2) == .leaveOut, "of 256 keys none is forgotten")
        #expect(limiter.check("key 257", at: 2) == .write(suppressed: 0))
        #expect(limiter.check("first", at: 3) == .write(suppressed: 0), "of 257 keys only the last is remembered")
    }

    @Test("a clock that wraps around does not trap")
    func aClockThatWrapsDoesNotTrap() {
        var limiter = LineLimiter()
        #expect(limiter.check("x", at: .max) == .write(suppressed: 0))
        #expect(limiter.check("x", at: 3) == .write(suppressed: 0))
    }
}

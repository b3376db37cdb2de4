import HTTPServer
import TestSupport
import Testing

@Suite("The timer wheel")
struct TimerWheelTests {
    @Test("a timer expires when due and no sooner")
    func due() {
        var wheel = TimerWheel(now: 0, tick: 10, slots: 8)
        wheel.set(3, at: 25)
        var expired: [Int32] = []
        wheel.expire(now: 25, into: &expired)
        #expect(expired.isEmpty)
        wheel.expire(now: 30, into: &expired)
        #expect(expired == [3])
        #expect(wheel.count == 0)
    }

    @Test("a cleared timer does not expire, and a timer set again expires at its new time")
    func clear() {
        var wheel = TimerWheel(now: 0, tick: 10, slots: 8)
        wheel.set(1, at: 20)
        wheel.set(2, at: 20)
        wheel.set(3, at: 20)
        wheel.clear(2)
        wheel.clear(2)
        wheel.set(3, at: 50)
        var expired: [Int32] = []
        wheel.expire(now: 40, into: &expired)
        #expect(expired == [1])
        wheel.expire(now: 60, into: &expired)
        #expect(expired == [1, 3])
    }

    @Test("a timer beyond the range of the wheel expires early and is set again")
    func beyond() {
        var wheel = TimerWheel(now: 0, tick: 10, slots: 8)
        wheel.set(1, at: 1_000_000)
        var expired: [Int32] = []
        wheel.expire(now: 80, into: &expired)
        #expect(expired == [1])
    }

    @Test(
        "the timer wheel agrees with a list of deadlines under random operations",
        arguments: [UInt64.random(in: 0...UInt64.max), 7])
    func random(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var wheel = TimerWheel(now: 0, tick: 10, slots: 64)
        var model: [Int32: UInt64] = [:]
        var now: UInt64 = 0
        for _ in 0..<5_000 {
            let id = Int32.random(in: 0..<50, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                wheel.clear(id)
                model[id] = nil
            case 1:
                now += .random(in: 0...60, using: &random)
                var expired: [Int32] = []
                wheel.expire(now: now, into: &expired)
                for id in expired {
                    // Never early; an entry is late by less than two ticks.
                    #expect((model[id] ?? .max) <= now, "seed \(seed)")
                    model[id] = nil
                }
                #expect(model.values.allSatisfy { $0 + 20 > now }, "seed \(seed)")
                if let next = wheel.timeUntilNext(now: now), let first = model.values.min() {
                    #expect(now + next <= first + 20, "seed \(seed)")
                }
            default:
                let deadline = now + .random(in: 1...500, using: &random)
                wheel.set(id, at: deadline)
                model[id] = deadline
            }
            #expect(wheel.count == model.count, "seed \(seed)")
        }
    }
}

import HTTPServer
import Synchronization
import TestSupport
import Testing

@Suite("The byte budget")
struct ByteBudgetTests {
    private final class Body {}

    @Test("has room up to the reserve, and lets one body at a time into that")
    func overdraft() {
        let budget = ByteBudget(total: 300, largest: 100)
        let (one, two) = (Body(), Body())
        #expect(budget.take(200, body: ObjectIdentifier(one)))
        #expect(budget.take(60, body: ObjectIdentifier(one)))
        #expect(!budget.take(1, body: ObjectIdentifier(two)))
        #expect(budget.take(40, body: ObjectIdentifier(one)))
        #expect(!budget.take(1, body: ObjectIdentifier(one)), "the bound is strict")
        budget.settle(0, body: ObjectIdentifier(one))
        #expect(!budget.take(1, body: ObjectIdentifier(two)))
        budget.release(300, body: ObjectIdentifier(one))
        #expect(budget.used == 0)
    }

    @Test("keeps a quarter for small bodies")
    func small() {
        let budget = ByteBudget(total: 20 << 20, largest: 4 << 20)
        let (large, second, little) = (Body(), Body(), Body())
        #expect(budget.take(12 << 20, body: ObjectIdentifier(large)))
        #expect(budget.take(1 << 20, body: ObjectIdentifier(large)), "it overdraws")
        #expect(!budget.take(1 << 20, body: ObjectIdentifier(second)))
        #expect(budget.take(64 << 10, body: ObjectIdentifier(little)))
        #expect(!budget.take(64 << 10, held: 64 << 10, body: ObjectIdentifier(little)), "it is no longer small")
    }

    @Test("what can be done without neither overdraws nor makes a shortage")
    func optional() {
        let budget = ByteBudget(total: 300, largest: 100)
        let (one, two) = (Body(), Body())
        #expect(budget.take(200, body: ObjectIdentifier(one)))
        #expect(!budget.take(50, isOptional: true, body: ObjectIdentifier(two)))
        #expect(!budget.isShort)
        #expect(budget.take(50, body: ObjectIdentifier(one)))
        #expect(!budget.take(50, body: ObjectIdentifier(two)))
        #expect(budget.isShort)
        budget.trim(10)
        #expect(!budget.isShort && budget.releases == 1)
        #expect(!budget.take(50, body: ObjectIdentifier(two)), "the first may still overdraw")
        let other = ByteBudget(total: 300, largest: 100)
        #expect(other.take(199, body: ObjectIdentifier(one)))
        #expect(other.take(1, isOptional: true, body: ObjectIdentifier(two)), "up to the reserve")
    }

    @Test("another bound counts from when it is set, and what is taken stays taken")
    func otherBound() {
        let budget = ByteBudget(total: 300, largest: 100)
        let wakes = Mutex(0)
        budget.listen(release: { wakes.withLock { $0 += 1 } })
        let (one, two) = (Body(), Body())
        #expect(budget.take(150, body: ObjectIdentifier(one)))
        budget.use(total: 200)
        #expect(budget.total == 200 && budget.used == 150)
        #expect(budget.take(10, body: ObjectIdentifier(one)), "into the reserve")
        #expect(!budget.take(10, body: ObjectIdentifier(two)) && budget.isShort)
        budget.use(total: 100)
        #expect(!budget.take(1, body: ObjectIdentifier(one)) && wakes.withLock { $0 } == 0)
        budget.use(total: 300)
        #expect(wakes.withLock { $0 } == 1 && !budget.isShort)
        #expect(budget.take(10, body: ObjectIdentifier(two)))
        budget.use(total: 400)
        #expect(wakes.withLock { $0 } == 1, "nobody waits")
    }

    @Test("heads may have half of it")
    func beside() {
        let budget = ByteBudget(total: 300, largest: 100)
        #expect(budget.takeBeside(100, .half))
        #expect(!budget.takeBeside(1, .half))
        #expect(budget.takeBeside(200, .whole))
        #expect(!budget.takeBeside(1, .whole) && budget.takeBeside(1, .unbounded) && budget.used == 301)
    }

    @Test("wakes those who were refused, once")
    func wake() {
        let budget = ByteBudget(total: 100, largest: 50)
        let woken = Mutex(0)
        budget.listen { woken.withLock { $0 += 1 } }
        let (one, two) = (Body(), Body())
        #expect(budget.take(100, body: ObjectIdentifier(one)))
        budget.release(10, body: ObjectIdentifier(one))
        #expect(woken.withLock { $0 } == 0, "nobody waits")
        #expect(!budget.take(20, body: ObjectIdentifier(two)))
        budget.release(10, body: ObjectIdentifier(one))
        budget.release(10, body: ObjectIdentifier(one))
        #expect(woken.withLock { $0 } == 1)
    }

    /// It gives no byte back, but the reserve.
    @Test("wakes those who were refused when the body that overdraws is whole, once")
    func settled() {
        let budget = ByteBudget(total: 100, largest: 50)
        let woken = Mutex(0)
        let shortages = Mutex(0)
        budget.listen {
            shortages.withLock { $0 += 1 }
        } release: {
            woken.withLock { $0 += 1 }
        }
        let (one, two) = (Body(), Body())
        #expect(budget.take(60, body: ObjectIdentifier(one)))
        #expect(!budget.take(20, body: ObjectIdentifier(two)) && !budget.take(20, body: ObjectIdentifier(two)))
        #expect(shortages.withLock { $0 } == 1)
        budget.settle(0, body: ObjectIdentifier(two))
        #expect(woken.withLock { $0 } == 0, "it is not the one that overdraws")
        budget.settle(0, body: ObjectIdentifier(one))
        budget.settle(0, body: ObjectIdentifier(one))
        #expect(woken.withLock { $0 } == 1)
        #expect(budget.take(20, body: ObjectIdentifier(two)), "now it may overdraw")
        #expect(budget.used == 80 && !budget.isShort)
    }

    @Test("says when more than half of it is taken")
    func half() {
        let budget = ByteBudget(total: 100, largest: 40)
        let one = Body()
        #expect(budget.take(50, body: ObjectIdentifier(one)) && !budget.isHalfTaken)
        #expect(budget.take(1, body: ObjectIdentifier(one)) && budget.isHalfTaken)
        budget.trim(1)
        #expect(!budget.isHalfTaken)
        budget.trim(-7)
        #expect(budget.used == 50, "nothing is taken by giving back")
    }

    @Test(
        "lets somebody go on at any time, and never holds more than its total",
        arguments: [UInt64.random(in: 0...UInt64.max), 3])
    func progress(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let budget = ByteBudget(total: 1000, largest: 300)
        var bodies: [(body: Body, has: Int, wants: Int)] = []
        var finished = 0
        for step in 0..<20_000 {
            if bodies.count < 12 { bodies.append((Body(), 0, .random(in: 1...300, using: &random))) }
            // Everybody asks once; if none of them gets anything, they are stuck.
            var moved = false
            bodies.shuffle(using: &random)
            for index in bodies.indices where bodies[index].has < bodies[index].wants {
                let more = min(bodies[index].wants - bodies[index].has, .random(in: 1...64, using: &random))
                guard budget.take(more, body: ObjectIdentifier(bodies[index].body)) else { continue }
                bodies[index].has += more
                moved = true
            }
            for done in bodies.filter({ $0.has == $0.wants }) {
                budget.settle(0, body: ObjectIdentifier(done.body))
                budget.release(done.has, body: ObjectIdentifier(done.body))
                finished += 1
                moved = true
            }
            bodies.removeAll { $0.has == $0.wants }
            #expect(moved, "seed \(seed), step \(step)")
            #expect(budget.used <= 1000, "seed \(seed)")
            guard moved else { return }
        }
        #expect(finished > 1000)
    }
}

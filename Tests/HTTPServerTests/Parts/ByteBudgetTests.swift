import HTTPServer
import Synchronization
import TestSupport
import Testing

@Suite("The byte budget")
struct ByteBudgetTests {
    private final class Body {}

    @Test("bodies have room up to the reserve, and a single body at a time may use the reserve")
    func overdraft() {
        let budget = ByteBudget(total: 300, largest: 100)
        let (one, two) = (Body(), Body())
        #expect(budget.take(200, for: .small, body: ObjectIdentifier(one)))
        #expect(budget.take(60, for: .small, body: ObjectIdentifier(one)))
        #expect(!budget.take(1, for: .small, body: ObjectIdentifier(two)))
        #expect(budget.take(40, for: .small, body: ObjectIdentifier(one)))
        #expect(!budget.take(1, for: .small, body: ObjectIdentifier(one)), "the bound is strict")
        budget.complete(0, body: ObjectIdentifier(one))
        #expect(!budget.take(1, for: .small, body: ObjectIdentifier(two)))
        budget.release(300, body: ObjectIdentifier(one))
        #expect(budget.used == 0)
    }

    @Test("a quarter of the budget is kept for small bodies")
    func small() {
        let budget = ByteBudget(total: 20 << 20, largest: 4 << 20)
        let (large, second, little) = (Body(), Body(), Body())
        #expect(budget.take(12 << 20, for: .large, body: ObjectIdentifier(large)))
        #expect(budget.take(1 << 20, for: .large, body: ObjectIdentifier(large)), "it overdraws")
        #expect(!budget.take(1, for: .large, body: ObjectIdentifier(second)))
        #expect(budget.take(4 << 20, for: .small, body: ObjectIdentifier(little)), "what overdraws does not count")
        #expect(!budget.take(1, for: .small, body: ObjectIdentifier(little)), "the reserve is taken")
    }

    @Test(
        "a body counts as small up to a 256th of the budget, and up to 64 KiB in any case",
        arguments: [(1, 64), (16, 64), (256, 1024), (64, 256)])
    func claims(mebibytes: Int, kibibytes: Int) {
        let (total, small) = (mebibytes << 20, kibibytes << 10)
        let budget = ByteBudget(total: total, largest: total / 4)
        for hasBegun in [false, true] { #expect(budget.claim(ofLength: small, hasBegun: hasBegun) == .small) }
        #expect(budget.claim(ofLength: small + 1, hasBegun: false) == .beginning)
        #expect(budget.claim(ofLength: small + 1, hasBegun: true) == .large)
        #expect(HTTPBody(budget: budget, longest: small).claim == .small)
        let unknown = HTTPBody(budget: budget)
        #expect(unknown.claim == .beginning, "a body of unknown length")
        #expect(unknown.makeRoom(100, target: 100) == 100 && unknown.claim == .large)
    }

    /// Two thousand other connections each hold a part of a body, and never send the rest.
    @Test(
        "a complete body has room, whatever unfinished bodies hold",
        arguments: [ByteBudget.Claim.beginning, .large, .small])
    func arrived(claim: ByteBudget.Claim) {
        let (total, largest) = (64 << 20, 20 << 20)
        let budget = ByteBudget(total: total, largest: largest)
        // The body that overdraws is one of them.
        var holders: [Body] = []
        for _ in 0..<2000 {
            let holder = Body()
            holders.append(holder)
            if budget.take(60 << 10, for: claim, body: ObjectIdentifier(holder)) { continue }
            _ = budget.changeBoth(16 << 10, beginnings: 16 << 10, .whole)
        }
        #expect(budget.isShort)
        let good = Body()
        if claim != .small {
            #expect(!budget.take(60 << 10, for: claim, body: ObjectIdentifier(good)))
            #expect(budget.take(200 << 10, for: .small, body: ObjectIdentifier(good)), "its length is known")
            budget.release(200 << 10, body: ObjectIdentifier(good))
        }
        #expect(!budget.take(60 << 10, for: claim, body: ObjectIdentifier(good)), "no room for one more of them")
        // Many bodies, all handled at the same time.
        var pictures = 0
        while pictures < 1000, budget.take(100 << 10, for: .arrived, body: ObjectIdentifier(good)) { pictures += 1 }
        #expect(pictures >= 20 && budget.used <= total - largest / 2 + (60 << 10))
        withExtendedLifetime(holders) {}
    }

    @Test("a body that has begun continues despite many stalled bodies")
    func begun() {
        let budget = ByteBudget(total: 64 << 20, largest: 20 << 20)
        let good = Body()
        #expect(budget.take(60 << 10, for: .beginning, body: ObjectIdentifier(good)))
        let holders = (0..<2000).map { _ in Body() }
        let held = holders.filter { budget.take(60 << 10, for: .beginning, body: ObjectIdentifier($0)) }
        #expect(held.count > 400 && budget.isShort)
        // The others wait with the bytes that arrived with their heads.
        var waiting = 0
        while waiting < 1500, budget.changeBoth(4 << 10, beginnings: 4 << 10, .whole) { waiting += 1 }
        #expect(waiting == 1500)
        for _ in 0..<80 { #expect(budget.take(64 << 10, for: .large, body: ObjectIdentifier(good))) }
        #expect(budget.used <= (64 - 20) << 20)
        withExtendedLifetime(holders) {}
    }

    @Test("an optional take neither uses the reserve nor makes a shortage")
    func optionalTake_withoutRoom_isRefusedWithoutAShortage() {
        let budget = ByteBudget(total: 300, largest: 100)
        let (one, two) = (Body(), Body())
        #expect(budget.take(200, for: .small, body: ObjectIdentifier(one)))
        #expect(!budget.take(50, for: .small, isOptional: true, body: ObjectIdentifier(two)))
        #expect(!budget.isShort)
        #expect(budget.take(50, for: .small, body: ObjectIdentifier(one)))
        #expect(!budget.take(50, for: .small, body: ObjectIdentifier(two)))
        #expect(budget.isShort)
        _ = budget.changeBoth(-10)
        #expect(!budget.isShort && budget.releases == 1)
        #expect(!budget.take(50, for: .small, body: ObjectIdentifier(two)), "the first may still overdraw")
        let other = ByteBudget(total: 300, largest: 100)
        #expect(other.take(199, for: .small, body: ObjectIdentifier(one)))
        #expect(other.take(1, for: .small, isOptional: true, body: ObjectIdentifier(two)), "up to the reserve")
    }

    @Test("a new total counts from when it is set, and bytes already taken stay taken")
    func otherBound() {
        let budget = ByteBudget(total: 300, largest: 100)
        let wakes = Mutex(0)
        budget.listen(release: { wakes.withLock { $0 += 1 } })
        let (one, two) = (Body(), Body())
        #expect(budget.take(150, for: .small, body: ObjectIdentifier(one)))
        budget.use(total: 200, largest: 100)
        #expect(budget.limits.total == 200 && budget.used == 150)
        #expect(budget.take(10, for: .small, body: ObjectIdentifier(one)), "into the reserve")
        #expect(!budget.take(10, for: .small, body: ObjectIdentifier(two)) && budget.isShort)
        budget.use(total: 100, largest: 100)
        #expect(!budget.take(1, for: .small, body: ObjectIdentifier(one)) && wakes.withLock { $0 } == 0)
        budget.use(total: 300, largest: 100)
        #expect(wakes.withLock { $0 } == 1 && !budget.isShort)
        #expect(budget.take(10, for: .small, body: ObjectIdentifier(two)))
        budget.use(total: 400, largest: 100)
        #expect(wakes.withLock { $0 } == 1, "no body waits")
    }

    @Test("a new length of the largest body moves the reserve")
    func otherLargest() {
        let budget = ByteBudget(total: 300, largest: 100)
        let (one, two) = (Body(), Body())
        budget.use(total: 300, largest: 200)
        #expect(budget.limits == (300, 200))
        #expect(budget.take(100, for: .small, body: ObjectIdentifier(one)))
        #expect(budget.take(1, for: .small, body: ObjectIdentifier(one)), "into the reserve")
        #expect(!budget.take(1, for: .small, body: ObjectIdentifier(two)))
        // The reserve never exceeds the total.
        budget.use(total: 150, largest: 200)
        #expect(!budget.take(50, for: .arrived, body: ObjectIdentifier(two)))
        budget.release(101, body: ObjectIdentifier(one))
        #expect(budget.take(75, for: .arrived, isOptional: true, body: ObjectIdentifier(two)))
    }

    @Test("the reserve that a body uses does not reduce the room of other bodies")
    func overdrawn() {
        let budget = ByteBudget(total: 400, largest: 200)
        let (one, two) = (Body(), Body())
        #expect(budget.take(250, for: .large, body: ObjectIdentifier(one)), "it overdraws, by 100")
        #expect(budget.take(50, for: .small, body: ObjectIdentifier(two)))
        #expect(!budget.take(1, for: .small, body: ObjectIdentifier(two)))
        #expect(budget.take(100, for: .arrived, body: ObjectIdentifier(two)) && budget.used == 400)
        #expect(!budget.take(1, for: .large, body: ObjectIdentifier(one)), "the bound is strict")
        budget.trim(60, body: ObjectIdentifier(one))
        #expect(!budget.take(1, for: .arrived, body: ObjectIdentifier(two)))
        #expect(budget.take(60, for: .large, body: ObjectIdentifier(one)))
        budget.complete(0, body: ObjectIdentifier(one))
        budget.release(250, body: ObjectIdentifier(one))
        budget.release(150, body: ObjectIdentifier(two))
        #expect(budget.take(200, for: .small, body: ObjectIdentifier(two)) && budget.used == 200)
    }

    @Test("heads may use half of the budget, and waiting beginnings of bodies an eighth")
    func beside() {
        let budget = ByteBudget(total: 32 << 20, largest: 8 << 20)
        let mebibyte = 1 << 20
        #expect(budget.changeBoth(12 * mebibyte, .half))
        #expect(!budget.changeBoth(1, .half))
        #expect(budget.changeBoth(18 * mebibyte, beginnings: 4 * mebibyte, .whole))
        #expect(!budget.changeBoth(1, beginnings: 1, .whole) && budget.changeBoth(mebibyte, .whole))
        #expect(!budget.changeBoth(0, beginnings: 1, .whole), "a head becomes the beginning of a body")
        #expect(budget.changeBoth(-mebibyte, beginnings: -1) && budget.changeBoth(1, beginnings: 1, .whole))
        #expect(budget.changeBoth(2 * mebibyte - 1, .whole) && !budget.changeBoth(1, .whole))
        #expect(budget.changeBoth(5, .unbounded) && budget.used == 32 * mebibyte + 5)
        // Even with a small total, some can wait.
        let small = ByteBudget(total: 64 << 10, largest: 64 << 10)
        #expect(small.changeBoth(16 << 10, beginnings: 16 << 10, .whole))
        #expect(!small.changeBoth(1, beginnings: 1, .whole))
    }

    @Test("released bytes wake the refused bodies once")
    func wake() {
        let budget = ByteBudget(total: 100, largest: 50)
        let woken = Mutex(0)
        budget.listen { woken.withLock { $0 += 1 } }
        let (one, two) = (Body(), Body())
        #expect(budget.take(100, for: .small, body: ObjectIdentifier(one)))
        budget.release(10, body: ObjectIdentifier(one))
        #expect(woken.withLock { $0 } == 0, "no body waits")
        #expect(!budget.take(20, for: .small, body: ObjectIdentifier(two)))
        budget.release(10, body: ObjectIdentifier(one))
        budget.release(10, body: ObjectIdentifier(one))
        #expect(woken.withLock { $0 } == 1)
    }

    /// The body releases no bytes, only the reserve.
    @Test("refused bodies are woken once when the body that uses the reserve is complete")
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
        #expect(budget.take(60, for: .small, body: ObjectIdentifier(one)))
        #expect(
            !budget.take(20, for: .small, body: ObjectIdentifier(two))
                && !budget.take(20, for: .small, body: ObjectIdentifier(two)))
        #expect(shortages.withLock { $0 } == 1)
        budget.complete(0, body: ObjectIdentifier(two))
        #expect(woken.withLock { $0 } == 0, "it is not the one that overdraws")
        budget.complete(0, body: ObjectIdentifier(one))
        budget.complete(0, body: ObjectIdentifier(one))
        #expect(woken.withLock { $0 } == 1)
        #expect(budget.take(20, for: .small, body: ObjectIdentifier(two)), "now it may overdraw")
        #expect(budget.used == 80 && !budget.isShort)
    }

    @Test("the budget reports whether more than half is taken")
    func half() {
        let budget = ByteBudget(total: 100, largest: 40)
        let one = Body()
        #expect(budget.take(50, for: .small, body: ObjectIdentifier(one)) && !budget.isHalfUsed)
        #expect(budget.take(1, for: .small, body: ObjectIdentifier(one)) && budget.isHalfUsed)
        _ = budget.changeBoth(-1)
        #expect(!budget.isHalfUsed)
        budget.trim(-7, body: ObjectIdentifier(one))
        #expect(budget.used == 50, "nothing is taken by giving back")
    }

    @Test(
        "some body always makes progress, and the bytes taken never exceed the total",
        arguments: [UInt64.random(in: 0...UInt64.max), 3])
    func progress(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let budget = ByteBudget(total: 1000, largest: 300)
        var bodies: [(body: Body, has: Int, wants: Int, claim: ByteBudget.Claim)] = []
        var finished = 0
        for step in 0..<20_000 {
            if bodies.count < 12 {
                bodies.append(
                    (Body(), 0, .random(in: 1...300, using: &random), Bool.random(using: &random) ? .small : .beginning)
                )
            }
            // Each body asks once; if none of them gets memory, they are stuck.
            var moved = false
            bodies.shuffle(using: &random)
            for index in bodies.indices where bodies[index].has < bodies[index].wants {
                let more = min(bodies[index].wants - bodies[index].has, .random(in: 1...64, using: &random))
                let isLast = bodies[index].has + more == bodies[index].wants
                let claim = isLast && Bool.random(using: &random) ? .arrived : bodies[index].claim
                guard budget.take(more, for: claim, body: ObjectIdentifier(bodies[index].body)) else { continue }
                bodies[index].has += more
                if bodies[index].claim == .beginning { bodies[index].claim = .large }
                moved = true
            }
            for done in bodies.filter({ $0.has == $0.wants }) {
                budget.complete(0, body: ObjectIdentifier(done.body))
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

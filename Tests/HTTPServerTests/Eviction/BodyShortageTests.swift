import HTTPServer
import Testing

/// Tests of the refusal of bodies while others wait for room. The patience is 250 ms.
@Suite struct BodyShortageTests {
    static let millisecond: UInt64 = 1_000_000
    static let total = 64 << 20

    private let policy = ConnectionPolicy(HTTPServerConfiguration())

    @Test("the first check is after the patience; the longer the shortage, the sooner the next and the sooner slow")
    func checks() {
        var shortage = BodyShortage()
        #expect(shortage.checkAt == nil && !shortage.isDue(now: .max))
        var now = 1000 * Self.millisecond
        shortage.began(releases: 0, policy: policy, now: now)
        shortage.began(releases: 0, policy: policy, now: now + 1)
        #expect(shortage.checkAt == now + 250 * Self.millisecond)
        #expect(!shortage.isDue(now: now + 250 * Self.millisecond - 1))
        var slow: [UInt64] = []
        var waits: [UInt64] = []
        for _ in 0..<5 {
            now = shortage.checkAt ?? 0
            #expect(shortage.isDue(now: now))
            slow.append(shortage.foundNone(releases: 0, total: Self.total, policy: policy, now: now).slowAfter)
            waits.append((shortage.checkAt ?? 0) - now)
        }
        // Never sooner than half of the patience.
        #expect(slow == [1000, 500, 250, 125, 125].map { $0 * Self.millisecond })
        #expect(waits == [125_000, 125_000, 125_000, 62_500, 62_500].map { $0 * 1000 })
    }

    @Test("the shortage ends when no body waits any more, not when there is room")
    func ends() {
        var shortage = BodyShortage()
        shortage.began(releases: 0, policy: policy, now: 1)
        _ = shortage.foundNone(releases: 0, total: Self.total, policy: policy, now: 2)
        shortage.foundRoom(waiting: 1, policy: policy, now: 1000)
        #expect(shortage.checkAt == 1000 + 125 * Self.millisecond)
        #expect(
            shortage.foundNone(releases: 0, total: Self.total, policy: policy, now: 3).slowAfter
                == 500 * Self.millisecond)
        shortage.foundRoom(waiting: 0, policy: policy, now: 1000)
        #expect(shortage.checkAt == nil)
        #expect(
            shortage.foundNone(releases: 0, total: Self.total, policy: policy, now: 3).slowAfter
                == 1000 * Self.millisecond)
    }

    @Test("slow bodies are refused, the slowest first, until a quarter of the budget is free")
    func round() {
        var script = EvictionScript()
        script.open(1, 2, 3, in: .body)
        script.wait(2)
        script.open(4, in: .body)
        var shortage = BodyShortage()
        var round = shortage.foundNone(releases: 0, total: Self.total, policy: policy, now: script.now)
        #expect(round.next(in: &script.machine, now: script.now) == 1)
        // The bytes of this body are in the socket: it is held up by the server.
        script.machine.received(1, EvictionMachine.piece, now: script.now)
        #expect(round.next(in: &script.machine, now: script.now) == 2)
        script.close(2)
        round.refused(Self.total / 4 - 1)
        #expect(round.next(in: &script.machine, now: script.now) == 3)
        round.refused(1)
        #expect(round.next(in: &script.machine, now: script.now) == nil)
        // The other bodies are not slow.
        script.close(3)
        var next = shortage.foundNone(releases: 0, total: Self.total, policy: policy, now: script.now)
        #expect(next.next(in: &script.machine, now: script.now) == nil)
    }

    @Test("a round looks at no more than 256 bodies")
    func bounded() {
        var script = EvictionScript()
        script.open(1, in: .body)
        script.wait(2)
        var shortage = BodyShortage()
        var round = shortage.foundNone(releases: 0, total: Self.total, policy: policy, now: script.now)
        for _ in 0..<256 { #expect(round.next(in: &script.machine, now: script.now) == 1) }
        #expect(round.next(in: &script.machine, now: script.now) == nil)
    }

    @Test("bodies wait for each other if nothing was released for two seconds and no body was refused")
    func stuck() {
        var shortage = BodyShortage()
        let start = 1000 * Self.millisecond
        shortage.began(releases: 1, policy: policy, now: start)
        /// A round `milliseconds` after the start, which frees `freed` bytes.
        func isStuck(after milliseconds: UInt64, releases: Int, freed: Int = 0) -> Bool {
            let now = start + milliseconds * Self.millisecond
            var round = shortage.foundNone(releases: releases, total: Self.total, policy: policy, now: now)
            round.refused(freed)
            return shortage.isStuck(after: round, now: now)
        }
        #expect(!isStuck(after: 1999, releases: 1))
        #expect(!isStuck(after: 2000, releases: 1, freed: 1))
        #expect(isStuck(after: 2000, releases: 1))
        // One body at a time.
        #expect(!isStuck(after: 2000, releases: 1))
        // A release begins the time again.
        #expect(!isStuck(after: 3999, releases: 2))
        #expect(!isStuck(after: 4000, releases: 2))
        #expect(isStuck(after: 5999, releases: 2))
    }
}

import HTTPServer
import TestSupport
import Testing

@Suite("Bodies that wait for room")
struct WaitingBodiesTests {
    /// Retries bodies until the round ends. `fits`: the bodies that find room; the others keep waiting.
    private func ask(_ waiting: inout WaitingBodies, fits: (Int32) -> ByteBudget.Claim?) -> [Int32] {
        var asked: [Int32] = []
        while let id = waiting.next() {
            asked.append(id)
            guard let claim = fits(id) else { continue }
            waiting.append(id, claim)
            waiting.lastWasRefused()
        }
        return asked
    }

    @Test("waiting bodies are retried only when memory is released, each body once")
    func rounds() {
        var waiting = WaitingBodies()
        for id in Int32(0)..<4 { waiting.append(id, .large) }
        #expect(!waiting.isAsking && waiting.next() == nil && waiting.count == 4)
        waiting.memoryFreed()
        #expect(waiting.isAsking)
        #expect(ask(&waiting) { $0 == 1 ? nil : .large } == [0, 1, 2, 3])
        #expect(!waiting.isAsking && waiting.count == 3)
        waiting.memoryFreed()
        #expect(ask(&waiting) { _ in nil } == [0, 2, 3] && waiting.count == 0)
    }

    @Test("a small body is not behind a thousand large bodies, nor a large body behind small bodies")
    func turns() {
        var waiting = WaitingBodies()
        for id in Int32(0)..<1000 { waiting.append(id, .large) }
        waiting.append(5000, .small)
        waiting.append(5001, .arrived)
        waiting.memoryFreed()
        #expect(ask(&waiting) { $0 < 1000 ? .large : nil }.prefix(4) == [5000, 0, 5001, 1])
        waiting = WaitingBodies()
        for id in Int32(0)..<1000 { waiting.append(id, .small) }
        waiting.append(5000, .large)
        waiting.memoryFreed()
        #expect(ask(&waiting) { $0 < 1000 ? .small : nil }.prefix(2) == [0, 5000])
    }

    @Test("a body that has begun is not behind a thousand bodies that are about to begin")
    func begun() {
        var waiting = WaitingBodies()
        for id in Int32(0)..<1000 { waiting.append(id, .beginning) }
        waiting.append(5000, .large)
        waiting.append(5001, .small)
        waiting.append(5002, .large)
        waiting.memoryFreed()
        #expect(ask(&waiting) { $0 < 1000 ? .beginning : nil }.prefix(5) == [5001, 5000, 0, 5002, 1])
        #expect(waiting.count == 1000 && waiting.first { _ in true } != nil)
        waiting.append(5000, .large)
        #expect(waiting.first { _ in true } == 5000, "of those that have begun")
    }

    @Test("each round retries a bounded number of waiting bodies, and the next round continues")
    func bounded() {
        var waiting = WaitingBodies()
        for id in Int32(0)..<100 { waiting.append(id, .large) }
        for id in Int32(100)..<200 { waiting.append(id, .small) }
        var asked: Set<Int32> = []
        for _ in 0..<4 {
            waiting.memoryFreed()
            let round = ask(&waiting) { $0 < 100 ? .large : .small }
            #expect(round.count == 64 && Set(round).count == 64)
            asked.formUnion(round)
        }
        #expect(asked.count == 200)
    }

    @Test("a body changes queues when its last byte has arrived")
    func arrives() {
        var waiting = WaitingBodies()
        waiting.append(1, .large)
        waiting.append(2, .large)
        waiting.append(2, .arrived)
        waiting.append(3, .small)
        #expect(waiting.count == 3)
        #expect(waiting.first { _ in true } == 1 && waiting.first { $0 > 1 } == 2 && waiting.first { $0 > 3 } == nil)
        waiting.memoryFreed()
        #expect(ask(&waiting) { _ in nil } == [2, 1, 3])
    }

    @Test("a body removed from the queue is not retried", arguments: [UInt64.random(in: 0...UInt64.max), 7])
    func leaving(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var waiting = WaitingBodies()
        var members: Set<Int32> = []
        for _ in 0..<5000 {
            let id = Int32.random(in: 0..<50, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0:
                waiting.remove(id)
                members.remove(id)
            case 1: waiting.memoryFreed()
            case 2:
                if let next = waiting.next() {
                    #expect(members.remove(next) != nil, "seed \(seed)")
                    if Bool.random(using: &random) {
                        waiting.append(next, .small)
                        waiting.lastWasRefused()
                        members.insert(next)
                    }
                }
            default:
                waiting.append(id, [.small, .large, .beginning][Int.random(in: 0..<3, using: &random)])
                members.insert(id)
            }
            #expect(waiting.count == members.count, "seed \(seed)")
        }
    }
}

import HTTPServer
import TestSupport
import Testing

@Suite("The queue of connections")
struct IndexQueueTests {
    @Test(
        "the queue of connections agrees with an array under random operations",
        arguments: [UInt64.random(in: 0...UInt64.max), 11])
    func random(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var queue = IndexQueue()
        var model: [Int32] = []
        for _ in 0..<20_000 {
            let id = Int32.random(in: 0..<20, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                queue.append(id)
                if !model.contains(id) { model.append(id) }
            case 1:
                queue.remove(id)
                model.removeAll { $0 == id }
            case 2:
                queue.moveToEnd(id)
                model.removeAll { $0 == id }
                model.append(id)
            default:
                #expect(queue.popFirst() == (model.isEmpty ? nil : model.removeFirst()), "seed \(seed)")
            }
            #expect(queue.first == model.first, "seed \(seed)")
            #expect(queue.count == model.count, "seed \(seed)")
            #expect(queue.contains(id) == model.contains(id), "seed \(seed)")
            let place = model.firstIndex(of: id)
            let after = place.flatMap { $0 + 1 < model.count ? model[$0 + 1] : nil }
            #expect(queue.after(id) == after, "seed \(seed)")
        }
    }
}

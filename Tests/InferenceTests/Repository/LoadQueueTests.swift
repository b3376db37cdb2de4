import Synchronization
import SystemSupport
import TestSupport
import Testing

import Inference

/// The loads that run, and their order, without a clock or tasks.
@Suite struct LoadQueueTests {
    @Test("models loaded before come first, then the smallest, and models of unknown size last")
    func cheapLoadsComeFirst() {
        let costs = [
            LoadCost(wasLoaded: false, bytes: nil, name: "unreadable"),
            LoadCost(wasLoaded: false, bytes: 50, name: "b"),
            LoadCost(wasLoaded: false, bytes: 5, name: "c"),
            LoadCost(wasLoaded: true, bytes: 900, name: "loaded before"),
            LoadCost(wasLoaded: false, bytes: 50, name: "a"), LoadCost(wasLoaded: true, bytes: nil, name: "gone"),
        ]
        let order = costs.sorted().map(\.name)
        #expect(order == ["loaded before", "c", "a", "b", "gone", "unreadable"])
        var queue = LoadQueue(limit: 1)
        let ids = Dictionary(uniqueKeysWithValues: costs.map { (queue.arrive($0), $0.name) })
        var seen: [String] = []
        while let id = queue.admit().first {
            seen.append(ids[id] ?? "")
            #expect(queue.admit() == [], "one at a time")
            queue.end(id)
        }
        #expect(seen == order)
    }

    /// Every sequence of events up to a length: places are neither lost nor assigned twice, and no load waits while a
    /// place is free.
    @Test(
        "in every event sequence the load limit holds, late loads aside, and no load waits at a free place",
        arguments: 1...3)
    func placesAreKeptInEverySequence(_ limit: Int) {
        enum Event: CaseIterable { case arrive, late, endFirst, endLast }
        func explore(_ queue: LoadQueue, _ running: [Int], _ late: Set<Int>, _ waiting: Int, _ depth: Int) {
            guard depth > 0 else { return }
            for event in Event.allCases {
                var (queue, running, late, waiting) = (queue, running, late, waiting)
                switch event {
                case .arrive:
                    _ = queue.arrive(LoadCost())
                    waiting += 1
                case .late:
                    guard let id = running.first(where: { !late.contains($0) }) else { continue }
                    queue.isLate(id)
                    late.insert(id)
                case .endFirst, .endLast:
                    guard !running.isEmpty else { continue }
                    let id = event == .endFirst ? running.removeFirst() : running.removeLast()
                    late.remove(id)
                    queue.end(id)
                }
                let admitted = queue.admit()
                running += admitted
                waiting -= admitted.count
                #expect(waiting >= 0 && Set(running).count == running.count)
                let counted = running.count - min(2, late.count)
                #expect(counted <= limit, "\(running.count) run, \(late.count) of them late")
                #expect(waiting == 0 || counted == limit, "\(waiting) wait while there is a place")
                explore(queue, running, late, waiting, depth - 1)
            }
        }
        explore(LoadQueue(limit: limit), [], [], 0, 8)
    }
}

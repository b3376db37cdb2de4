/// The counts of one model, whatever versions of it are loaded.
package final class ModelMetrics: Sendable {
    /// By stage.
    private let stages = Stage.allCases.map { _ in Histogram() }
    private let counters = AtomicCounters(Counter.allCases.count)

    package enum Counter: Int, CaseIterable {
        case pictures, detections
        case loadsAnew, loadsCached, loadAnewNanoseconds, loadCachedNanoseconds
        case loadFailures, goldensFailed, unloads
    }

    func add(_ counter: Counter, _ amount: UInt64 = 1) { counters.add(amount, at: counter.rawValue) }
    package subscript(counter: Counter) -> UInt64 { counters[counter.rawValue] }

    package subscript(stage: Stage) -> Histogram { stages[stage.rawValue] }

    /// Counts a load that succeeded.
    func loaded(cached: Bool, nanoseconds: UInt64) {
        add(cached ? .loadsCached : .loadsAnew)
        add(cached ? .loadCachedNanoseconds : .loadAnewNanoseconds, nanoseconds)
    }
}

import Synchronization
import SystemSupport

/// The counters of one event loop. Only the loop writes them, so a relaxed load and store are enough for an addition.
/// Any thread may read them.
final class LoopCounters: Sendable {
    /// One counter.
    struct Counter: ~Copyable, Sendable {
        private let value = Atomic<Int>(0)

        func add(_ amount: Int = 1) {
            value.store(value.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
        }

        func set(_ amount: Int) {
            value.store(amount, ordering: .relaxed)
        }

        var now: Int { value.load(ordering: .relaxed) }
    }

    let open = Counter()
    let idle = Counter()
    let accepted = Counter()
    let refused = Counter()
    let evicted = Counter()
    let requests = Counter()
    let running = Counter()
    let cancelled = Counter()
    let answers = Counter()
    let clientsGone = Counter()
    let slowReaders = Counter()
    let idleTimeouts = Counter()
    let shedReaders = Counter()
    let evictedBodies = Counter()
    let waiting = Counter()
    let socketBytes = Counter()
    /// By label. Errors are rare, so a lock costs little here.
    let protocolErrors = Guarded<[String: Int]>([:])
    let timeouts = Guarded<[String: Int]>([:])

    /// Adds these numbers to a snapshot.
    func add(to statistics: inout HTTPServerStatistics) {
        statistics.openConnections += open.now
        statistics.idleConnections += idle.now
        statistics.acceptedConnections += accepted.now
        statistics.refusedConnections += refused.now
        statistics.evictedConnections += evicted.now
        statistics.requests += requests.now
        statistics.runningHandlers += running.now
        statistics.cancelledHandlers += cancelled.now
        statistics.answers += answers.now
        statistics.clientsGone += clientsGone.now
        statistics.slowReaders += slowReaders.now
        statistics.idleTimeouts += idleTimeouts.now
        statistics.shedReaders += shedReaders.now
        statistics.evictedBodies += evictedBodies.now
        statistics.bodiesWaiting += waiting.now
        statistics.socketBytes += socketBytes.now
        statistics.protocolErrors.merge(protocolErrors.withLock { $0 }, uniquingKeysWith: +)
        statistics.timeouts.merge(timeouts.withLock { $0 }, uniquingKeysWith: +)
    }
}

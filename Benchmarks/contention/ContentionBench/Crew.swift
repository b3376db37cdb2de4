import CSharedWrites
import Glibc
import Synchronization
import SystemSupport

/// Threads that make requests, and what is counted meanwhile.
struct Crew {
    let threads: Int
    /// Of each thread.
    let requests: Int
    /// Counts the server's threads too, where requests are theirs.
    let everyThread: Bool

    /// For one request.
    struct Counts {
        let moved, movedCounts, atomic, failed, taken, futex: Double
    }

    /// True if this program was compiled so that anything is counted.
    static var countsWork: Bool {
        shared_writes_reset()
        shared_writes_count_here(true)
        probe.store(1, ordering: .relaxed)
        shared_writes_count_here(false)
        return shared_writes_total(SHARED_WRITES_ATOMIC) > 0
    }

    private static let probe = Atomic<Int>(0)

    private final class Progress: Sendable {
        let ready = Atomic<Int>(0)
        let turn = Atomic<Int>(0)
        let ended = Atomic<Int>(0)
    }

    /// - Parameters:
    ///   - inTurn: one request at a time, each by the next thread: what is counted is the same in every run.
    ///   - request: makes one, on the thread with this number.
    func run(inTurn: Bool, _ request: @escaping @Sendable (Int) -> Void) -> Counts {
        let progress = Progress(), (threads, requests, everyThread) = (self.threads, self.requests, self.everyThread)
        shared_writes_reset()
        for number in 0..<threads {
            let isStarted: Void? = try? SystemThread.start("crew-\(number)") {
                // A client of the server's is no part of it.
                if everyThread { shared_writes_leave_out() }
                // What only the first requests do (a chain's node, a task's memory) is not counted.
                for _ in 0..<3 { request(number) }
                progress.ready.add(1, ordering: .sequentiallyConsistent)
                while progress.ready.load(ordering: .sequentiallyConsistent) < threads { sched_yield() }
                for round in 0..<requests {
                    let mine = round * threads + number
                    while inTurn, progress.turn.load(ordering: .sequentiallyConsistent) != mine { sched_yield() }
                    shared_writes_count_here(!everyThread)
                    request(number)
                    shared_writes_count_here(false)
                    progress.turn.add(1, ordering: .sequentiallyConsistent)
                }
                progress.ended.add(1, ordering: .sequentiallyConsistent)
            }
            precondition(isStarted != nil, "thread \(number) could not be started")
        }
        while progress.ready.load(ordering: .sequentiallyConsistent) < threads { sched_yield() }
        if everyThread { shared_writes_count_everywhere(true) }
        // A processor for those who work.
        while progress.ended.load(ordering: .sequentiallyConsistent) < threads { usleep(1000) }
        shared_writes_count_everywhere(false)
        func each(_ kind: shared_writes_kind) -> Double {
            Double(shared_writes_total(kind)) / Double(threads * requests)
        }
        return Counts(
            moved: each(SHARED_WRITES_MOVED), movedCounts: each(SHARED_WRITES_MOVED_COUNTS),
            atomic: each(SHARED_WRITES_ATOMIC), failed: each(SHARED_WRITES_FAILED), taken: each(SHARED_WRITES_TAKEN),
            futex: each(SHARED_WRITES_FUTEX))
    }
}

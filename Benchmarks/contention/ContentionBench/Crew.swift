import CSharedWrites
import Glibc
import Synchronization
import SystemSupport

/// Threads that make requests, and the counts meanwhile.
struct Crew {
    let threads: Int
    /// The number of requests of each thread.
    let requests: Int
    /// True to count the server's threads, too, if they do the requests.
    var everyThread = false

    /// The order in which threads take their steps.
    enum Order {
        /// One step at a time, each by the next thread: the counts are equal in every run.
        case inTurn
        /// As they come.
        case atOnce
        /// As they come, and each gives way now and then in the middle of a step: they meet on few processors too.
        case meeting
    }

    /// Makes a request: on the thread with this number, and calling `others` between its steps, which lets the other
    /// threads make theirs.
    typealias Request = @Sendable (_ thread: Int, _ others: () -> Void) -> Void

    /// The counts for one request.
    struct Counts: Equatable {
        let moved, movedCounts, atomic, foreignFrees, failed, taken, futex: Double
    }

    /// True if this program was compiled with counting.
    static var countsWork: Bool {
        shared_writes_reset()
        shared_writes_count_here(true)
        let calls = probe.wrappingAdd(1, ordering: .relaxed).newValue
        shared_writes_count_here(false)
        // The value is read, too: a number that is never read would not be written.
        return calls > 0 && shared_writes_total(SHARED_WRITES_ATOMIC) > 0
    }

    private static let probe = Atomic<Int>(0)

    private final class Progress: Sendable {
        let ready = Atomic<Int>(0)
        let hasBegun = Atomic(false)
        let ended = Atomic<Int>(0)
        /// One for each thread, posted when its turn comes: threads that wait leave the processor to the others.
        ///
        /// Safe to share: allocated in `init`, freed in `deinit`, never moved; semaphores are for many threads.
        private nonisolated(unsafe) let turns: UnsafeMutablePointer<sem_t>
        private let threads: Int

        init(threads: Int) {
            self.threads = threads
            turns = .allocate(capacity: threads)
            for number in 0..<threads { sem_init(turns + number, 0, number == 0 ? 1 : 0) }
        }

        deinit {
            for number in 0..<threads { sem_destroy(turns + number) }
            turns.deallocate()
        }

        func waitForTurn(of number: Int) {
            while sem_wait(turns + number) != 0 {}
        }

        /// Each thread has as many steps as the others: none waits for one that has ended.
        func passTurn(from number: Int) {
            sem_post(turns + (number + 1) % threads)
        }
    }

    /// Runs the requests of all threads.
    func run(_ order: Order, _ request: @escaping Request) -> Counts {
        let progress = Progress(threads: threads)
        shared_writes_reset()
        shared_writes_leave_out()
        for number in 0..<threads {
            let isStarted: Void? = try? SystemThread.start("crew-\(number)") { [self] in
                work(number, order, progress, request)
            }
            precondition(isStarted != nil, "thread \(number) could not be started")
        }
        if everyThread { shared_writes_count_everywhere(true) }
        while progress.ready.load(ordering: .sequentiallyConsistent) < threads { usleep(100) }
        shared_writes_reset_counts()
        shared_writes_give_way(order == .meeting)
        progress.hasBegun.store(true, ordering: .sequentiallyConsistent)
        // Leave a processor to the working threads.
        while progress.ended.load(ordering: .sequentiallyConsistent) < threads { usleep(1000) }
        shared_writes_count_everywhere(false)
        shared_writes_give_way(false)
        return counts
    }

    private func work(_ number: Int, _ order: Order, _ progress: Progress, _ request: Request) {
        // A client is not part of the server.
        if everyThread { shared_writes_leave_out() }
        let takesTurns = order == .inTurn
        for round in -3..<requests {
            // Discard the work of only the first requests (a chain's node, a task's memory).
            if round == 0 {
                progress.ready.add(1, ordering: .sequentiallyConsistent)
                while !progress.hasBegun.load(ordering: .sequentiallyConsistent) { usleep(100) }
            }
            if takesTurns { progress.waitForTurn(of: number) }
            shared_writes_count_here(!everyThread)
            request(number) {
                shared_writes_count_here(false)
                if takesTurns {
                    progress.passTurn(from: number)
                    progress.waitForTurn(of: number)
                }
                shared_writes_count_here(!everyThread)
            }
            shared_writes_count_here(false)
            if takesTurns { progress.passTurn(from: number) }
        }
        progress.ended.add(1, ordering: .sequentiallyConsistent)
    }

    private var counts: Counts {
        func each(_ kind: shared_writes_kind) -> Double {
            Double(shared_writes_total(kind)) / Double(threads * requests)
        }
        return Counts(
            moved: each(SHARED_WRITES_MOVED), movedCounts: each(SHARED_WRITES_MOVED_COUNTS),
            atomic: each(SHARED_WRITES_ATOMIC), foreignFrees: each(SHARED_WRITES_FOREIGN_FREES),
            failed: each(SHARED_WRITES_FAILED), taken: each(SHARED_WRITES_TAKEN), futex: each(SHARED_WRITES_FUTEX))
    }
}

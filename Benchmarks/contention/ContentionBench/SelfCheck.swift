import CSharedWrites
import Glibc
import Synchronization
import SystemSupport

/// Checks the counting itself, on operations with known counts.
enum SelfCheck {
    private final class Shared: Sendable {
        let number = Atomic<Int>(0)
        let lock = Mutex(0)
    }

    /// Numbers with a cache line each.
    private final class Lines: Sendable {
        private struct Line: ~Copyable {
            let number = Atomic<Int>(0)
            let padding: (Int, Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0, 0)
        }
        // Safe to share: it never changes, its memory is never freed, and what is in it is atomic.
        private nonisolated(unsafe) let lines: UnsafeMutablePointer<Line>

        init(_ count: Int) {
            let memory = UnsafeMutableRawPointer.allocate(byteCount: count * 64, alignment: 64)
            lines = memory.bindMemory(to: Line.self, capacity: count)
            for index in 0..<count { (lines + index).initialize(to: Line()) }
        }

        func add(at index: Int) { lines[index].number.wrappingAdd(1, ordering: .relaxed) }
    }

    /// What a request must count for each thread but the only one, and the only one: shared writes, of them counts of
    /// references, atomic writes, memory freed by another thread, failed exchanges.
    private struct Case {
        let name: String
        let alone: [Double], shared: [Double]
        let request: Crew.Request
    }

    private static var cases: [Case] {
        let (shared, lines) = (Shared(), Lines(64))
        // Never freed: only its reference count is used.
        let box = Unmanaged.passRetained(Shared())
        let blocks = Blocks()
        return [
            Case(name: "nothing", alone: [0, 0, 0, 0, 0], shared: [0, 0, 0, 0, 0]) { _, _ in },
            Case(name: "an atomic load", alone: [0, 0, 0, 0, 0], shared: [0, 0, 0, 0, 0]) { _, _ in
                _ = shared.number.load(ordering: .sequentiallyConsistent)
            },
            Case(name: "an atomic addition", alone: [0, 0, 1, 0, 0], shared: [1, 0, 1, 0, 0]) { _, _ in
                shared.number.wrappingAdd(1, ordering: .relaxed)
            },
            Case(name: "two, and others between", alone: [0, 0, 2, 0, 0], shared: [2, 0, 2, 0, 0]) { _, others in
                shared.number.wrappingAdd(1, ordering: .relaxed)
                others()
                shared.number.wrappingAdd(1, ordering: .relaxed)
            },
            Case(name: "one in a line of the thread's own", alone: [0, 0, 1, 0, 0], shared: [0, 0, 1, 0, 0]) {
                thread, _ in
                lines.add(at: thread)
            },
            Case(name: "a lock that is free", alone: [0, 0, 2, 0, 0], shared: [1, 0, 2, 0, 0]) { _, _ in
                shared.lock.withLock { $0 += 1 }
            },
            Case(name: "an exchange that fails", alone: [0, 0, 1, 0, 1], shared: [1, 0, 1, 0, 1]) { _, _ in
                _ = shared.number.compareExchange(expected: -1, desired: 0, ordering: .relaxed)
            },
            Case(name: "a reference, and others between", alone: [0, 0, 2, 0, 0], shared: [2, 2, 2, 0, 0]) {
                _, others in
                // Without other operations in between, the compiler would remove both.
                _ = box.retain()
                others()
                box.release()
            },
            Case(name: "memory of another thread", alone: [0, 0, 1, 0, 0], shared: [1, 0, 1, 1, 0]) { _, _ in
                blocks.replace()
            },
        ]
    }

    /// A block of memory that passes from thread to thread.
    private final class Blocks: Sendable {
        private let address = Atomic<UInt>(0)

        func replace() {
            let fresh = UInt(bitPattern: malloc(100))
            free(UnsafeMutableRawPointer(bitPattern: address.exchange(fresh, ordering: .acquiringAndReleasing)))
        }
    }

    /// The checks that fail, in words.
    static var problems: [String] {
        var problems: [String] = []
        for check in cases {
            for threads in [1, 2, 8] {
                let counts = Crew(threads: threads, requests: 20).run(.inTurn, check.request)
                let found = [counts.moved, counts.movedCounts, counts.atomic, counts.foreignFrees, counts.failed]
                let expected = threads == 1 ? check.alone : check.shared
                if found != expected { problems.append("\(check.name), \(threads) threads: \(found), not \(expected)") }
            }
        }
        return problems
    }
}

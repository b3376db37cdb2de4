internal import Dispatch
internal import Synchronization
internal import SystemSupport

/// Runs work that blocks for long (loading a model, reading folders) on a thread that ends with it.
///
/// Not a thread of a pool: a load takes seconds, and requests wait for the pool's threads; a pool that detects a
/// blocked thread starts another, and keeps it afterwards.
package enum LoaderThread {
    /// Runs the work and returns its result; the calling task waits without blocking a thread.
    /// - Parameter lowPriority: whether the thread has low priority, so that it only takes idle processor time.
    package static func run<Value: Sendable>(
        lowPriority: Bool = false, _ work: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            start(lowPriority: lowPriority) { continuation.resume(returning: work()) }
        }
    }

    /// Runs some work on each item, 32 at the same time, and returns the results in order. If file systems do not
    /// answer, the items wait for them at the same time. Blocks.
    package static func map<Item: Sendable, Value: Sendable>(
        _ items: [Item], _ work: @escaping @Sendable (Item) -> Value
    ) -> [Value] {
        var values: [Value] = []
        for begin in stride(from: 0, to: items.count, by: atOnce) {
            let results = items[begin..<min(begin + atOnce, items.count)].map { item in
                let result = WorkResult<Value>()
                start {
                    let value = work(item)
                    result.value.withLock { $0 = value }
                    result.isThere.signal()
                }
                return result
            }
            for result in results {
                result.isThere.wait()
                if let value = result.value.withLock({ $0 }) { values.append(value) }
            }
        }
        return values
    }

    /// The number of items that ``map(_:_:)`` processes at the same time.
    private static let atOnce = 32

    /// Runs work that accesses a path, for at most `time`; nil after that. For callers that may block.
    ///
    /// Accesses to one path are serialized, and one that waits longer than `time` for its turn also returns nil: a path
    /// that hangs occupies one thread, however often it is accessed.
    package static func wait<Value: Sendable>(
        within time: Duration, on path: String, _ work: @escaping @Sendable () -> Value
    ) -> Value? {
        let turn = turns.withLock { turns in
            turns[path, default: Turn()].users += 1
            return turns[path]?.isFree
        }
        let limit = DispatchTimeInterval.nanoseconds(Int(clamping: time.saturatedNanoseconds))
        guard turn?.wait(timeout: .now() + limit) == .success else {
            leave(path)
            return nil
        }
        let result = WorkResult<Value>()
        start {
            let value = work()
            result.value.withLock { $0 = value }
            turn?.signal()
            leave(path)
            result.isThere.signal()
        }
        guard result.isThere.wait(timeout: .now() + limit) == .success else { return nil }
        return result.value.withLock { $0 }
    }

    /// The turn of accesses to one path.
    private struct Turn {
        let isFree: DispatchSemaphore
        /// The number of accesses that run or wait.
        var users = 0

        init() {
            // Not created with 1: a semaphore must not be released with a value below its initial one.
            isFree = DispatchSemaphore(value: 0)
            isFree.signal()
        }
    }

    /// By path, while accesses to it exist.
    private static let turns = Mutex<[String: Turn]>([:])

    private static func leave(_ path: String) {
        turns.withLock { turns in
            turns[path]?.users -= 1
            if turns[path]?.users == 0 { turns[path] = nil }
        }
    }

    private final class WorkResult<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
        let isThere = DispatchSemaphore(value: 0)
    }

    /// Does the work, which nobody waits for.
    static func start(lowPriority: Bool = false, _ body: @escaping @Sendable () -> Void) {
        do throws(SystemError) {
            try SystemThread.start("load") {
                if lowPriority { SystemThread.lowerPriority() }
                body()
            }
        } catch {
            // No further thread can be started: an existing one does the work.
            DispatchQueue.global(qos: .userInitiated).async(execute: body)
        }
    }

    /// Runs work with a value that the thread no longer references when this returns. Otherwise a process that ends
    /// right after it would unload the engine while the thread releases the engine's objects.
    /// - Returns: the result of the work.
    static func run<Lent: Sendable, Value: Sendable>(
        lending value: Lent, _ work: @escaping @Sendable (Lent) -> Value?
    ) async -> Value? {
        let loan = Loan(value)
        return await run { loan.take().flatMap(work) }
    }

    /// Releases objects of the engine, which may take milliseconds.
    static func release(_ value: consuming some Sendable) {
        let loan = Loan(value)
        start { _ = loan.take() }
    }

    private final class Loan<Value: Sendable>: Sendable {
        private let value: Mutex<Value?>

        init(_ value: Value) { self.value = Mutex(value) }

        func take() -> Value? {
            value.withLock { value in
                defer { value = nil }
                return value
            }
        }
    }
}

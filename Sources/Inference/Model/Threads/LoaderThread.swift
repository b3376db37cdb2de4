internal import Dispatch
internal import Synchronization
internal import SystemSupport

/// Work that blocks for long (loading a model, reading folders), on a thread that ends with it.
///
/// Not a pool's thread: a load takes seconds, and requests wait for pool threads; a pool that sees one blocked starts
/// another, and keeps it afterwards.
package enum LoaderThread {
    /// Does the work and returns what it gives; the calling task only waits.
    /// - Parameter givingWay: whether the work only gets what other threads leave of the processors.
    package static func run<Value: Sendable>(
        givingWay: Bool = false, _ work: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            start(givingWay: givingWay) { continuation.resume(returning: work()) }
        }
    }

    /// The results of some work on each of the items, in their order, a number of them at the same time: where each may
    /// wait for a file system that does not answer, they wait together. Blocks.
    static func map<Item: Sendable, Value: Sendable>(
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

    /// The number of items that ``map(_:_:)`` works on at the same time.
    private static let atOnce = 32

    /// Looks at a path, for at most so long: nil then. For callers that may block.
    ///
    /// Looks at one path come one after the other, and one that waits for its turn for so long gives nil as well: a
    /// path that hangs keeps one thread, however often it is looked at.
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

    /// The turns of those who look at one path.
    private struct Turn {
        let isFree: DispatchSemaphore
        /// The readers of a value, and those who wait for it.
        var users = 0

        init() {
            // Not 1 from the start: a semaphore may not end below the value that it began with.
            isFree = DispatchSemaphore(value: 0)
            isFree.signal()
        }
    }

    /// By path, as long as somebody looks.
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
    static func start(givingWay: Bool = false, _ body: @escaping @Sendable () -> Void) {
        do throws(SystemError) {
            try SystemThread.start("load") {
                if givingWay { SystemThread.giveWay() }
                body()
            }
        } catch {
            // No further thread can be started: one of the existing ones does the work.
            DispatchQueue.global(qos: .userInitiated).async(execute: body)
        }
    }

    /// Does the work with a value to which the thread has no reference any more when this returns. A process that ends
    /// right after it would otherwise unload the engine while the thread releases the engine's objects.
    /// - Returns: what the work gives.
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

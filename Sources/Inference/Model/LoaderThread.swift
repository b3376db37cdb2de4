internal import Dispatch
internal import Synchronization
internal import SystemSupport

/// Work that blocks for long (loading a model, reading folders), on a thread that ends with it.
///
/// Not a pool's thread: a load takes seconds, and requests wait for pool threads; a pool that sees one blocked starts another,
/// and keeps it afterwards.
package enum LoaderThread {
    /// Does the work and returns what it gives; the calling task only waits.
    package static func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            start { continuation.resume(returning: work()) }
        }
    }

    /// The same for at most so long: nil then. Work that hangs (a file system that does not answer) stays with its thread.
    package static func run<Value: Sendable>(
        within time: Duration, _ work: @escaping @Sendable () -> Value
    ) async -> Value? {
        let result = PendingLoad<Value>()
        start { result.fulfil(work()) }
        return try? await result.value(until: .now + time)
    }

    /// The same for callers that may block.
    static func wait<Value: Sendable>(within time: Duration, _ work: @escaping @Sendable () -> Value) -> Value? {
        let result = WorkResult<Value>()
        start {
            let value = work()
            result.value.withLock { $0 = value }
            result.isThere.signal()
        }
        guard result.isThere.wait(timeout: .now() + .nanoseconds(Int(clamping: time.saturatedNanoseconds))) == .success
        else { return nil }
        return result.value.withLock { $0 }
    }

    private final class WorkResult<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
        let isThere = DispatchSemaphore(value: 0)
    }

    private static func start(_ body: @escaping @Sendable () -> Void) {
        do throws(SystemError) {
            try SystemThread.start("load", body)
        } catch {
            // No further thread can be started: one of the existing ones does the work.
            DispatchQueue.global(qos: .userInitiated).async(execute: body)
        }
    }

    /// Does the work with a value to which the thread has no reference any more when this returns. A process that ends right after it
    /// would otherwise unload the engine while the thread releases the engine's objects.
    /// - Returns: what the work gives.
    static func run<Lent: Sendable, Value: Sendable>(
        lending value: Lent, _ work: @escaping @Sendable (Lent) -> Value?
    ) async -> Value? {
        let loan = Loan(value)
        return await run { loan.take().flatMap(work) }
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

package import Glibc

/// A value protected by a lock.
///
/// A pthread mutex instead of `Synchronization.Mutex`, which is a priority-inheriting futex that spins for a long time
/// before it sleeps when it is contended (swiftlang/swift#88440), as the mailbox is under load. Besides, Thread
/// Sanitizer cannot see through its slow path and reports false races.
package final class Guarded<Value>: @unchecked Sendable {
    // Safe to share: `value` is accessed only in `withLock`, with the mutex held. Values that are stored or returned
    // cross threads, so both are `sending`.
    @usableFromInline var value: Value
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>

    /// Wraps `value`.
    package init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Calls `body` with the lock held. It must not block or take the same lock.
    // Inlinable, so that it is specialized for callers in other modules, such as the event loop.
    @inlinable package func withLock<Result>(_ body: (inout sending Value) -> sending Result) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}

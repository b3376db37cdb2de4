package import Glibc

/// A value behind a lock.
///
/// A pthread mutex and not `Synchronization.Mutex`: that one is a priority-inheriting futex which spins for long before
/// it sleeps when it is contended (swiftlang/swift#88440), as the mailbox is under load, and Thread Sanitizer cannot
/// see through its slow path, which it reports as races that are none.
package final class Guarded<Value>: @unchecked Sendable {
    // Safe to share: `value` is touched only in `withLock`, with the mutex held. What is put in or taken out crosses
    // threads, which is why both are `sending`.
    @usableFromInline var value: Value
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>

    /// A lock round `value`.
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

    /// Calls `body` with the lock held. It must not block, nor take the same lock.
    // Inlinable: callers in other modules get it specialized, as the event loop needs it.
    @inlinable package func withLock<Result>(_ body: (inout sending Value) -> sending Result) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }
}

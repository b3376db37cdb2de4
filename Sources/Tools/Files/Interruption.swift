internal import Synchronization
internal import SystemSupport

/// Ends a command on a signal (Ctrl-C), for commands that must clean up. Signals are blocked until ``end(_:)`` is
/// called.
package enum Interruption {
    /// Ends the program when a signal requests it, with the status that shells expect.
    /// - Parameter clean: called before the end; other threads must not recreate what it removes.
    package static func end(_ clean: @escaping @Sendable () -> Void = {}) throws {
        // Locked for ever, so that a second signal cannot clean up at the same time.
        let ending = Mutex(())
        let ends: @Sendable (Int32) -> Void = { status in
            ending.withLock { _ in
                clean()
                Process.exit(status)
            }
        }
        try SignalReader.start(
            deliver: { ends(128 + $0.number) },
            // Otherwise only SIGKILL could end the program.
            fail: { _ in ends(1) })
    }
}

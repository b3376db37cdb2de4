internal import InferenceService
internal import Synchronization
internal import SystemSupport

/// The end of a command by a signal (Ctrl-C), for commands that leave nothing half done. Signals are blocked until it
/// is called.
package enum Interruption {
    /// Ends the program when a signal asks for that, as the shell expects it.
    /// - Parameter clean: called before; what it removes must not be made again beside it.
    package static func end(_ clean: @escaping @Sendable () -> Void = {}) throws {
        // Held for good: a second signal must not clean up beside the first.
        let ending = Mutex(())
        let ends: @Sendable (Int32) -> Void = { status in
            ending.withLock { _ in
                clean()
                Process.exit(status)
            }
        }
        try SignalReader.start(
            deliver: { ends(128 + $0.number) },
            // Nothing could end it any more but SIGKILL.
            fail: { _ in ends(1) })
    }
}

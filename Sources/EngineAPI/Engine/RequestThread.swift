internal import Dispatch
internal import FlowControl
internal import Synchronization
internal import SystemSupport

/// A thread that runs one piece of work at a time during its owner's lifetime, for engines that compute on the caller's
/// thread.
package final class RequestThread: Sendable {
    private let shared = Shared()

    private final class Shared: Sendable {
        /// A structure, because a closure that a `Mutex` holds directly is wrapped again each time that the lock is
        /// taken.
        struct State {
            var work: (@Sendable () -> Void)?
        }
        let state = Mutex(State())
        let isWanted = DispatchSemaphore(value: 0)

        /// Runs work whenever it is signalled; ends when it is signalled without work.
        func run() {
            while true {
                isWanted.wait()
                let work = state.withLock { state in
                    defer { state.work = nil }
                    return state.work
                }
                guard let work else { return }
                work()
            }
        }
    }

    /// - Throws: if no more threads can be started.
    package init() throws(EngineError) {
        do throws(SystemError) {
            try SystemThread.start("infer") { [shared] in shared.run() }
        } catch {
            throw EngineError(
                kind: .noThreads, operation: "start a thread for inferences", detail: HostResources.threadsUsedUp())
        }
    }

    /// Runs the work on the thread. Must not be called before the previous work has ended.
    package func run(_ work: @escaping @Sendable () -> Void) {
        shared.state.withLock { $0.work = work }
        shared.isWanted.signal()
    }

    deinit { shared.isWanted.signal() }
}

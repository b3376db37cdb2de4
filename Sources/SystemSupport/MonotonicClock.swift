internal import Glibc

/// The source of time: `CLOCK_MONOTONIC`, or a test's own.
///
/// A struct of closures and not a protocol, so that `InFlightLimiter` needs no generic parameter for the sake of its
/// tests. Both closures may be called from any thread.
public struct MonotonicClock: Sendable {
    /// The present instant. Never goes back.
    public var now: @Sendable () -> MonotonicInstant

    /// Suspends the task until the instant has come. May return early (callers look at `now` again); throws
    /// `CancellationError` when the task is cancelled.
    public var sleep: @Sendable (_ until: MonotonicInstant) async throws -> Void

    /// A clock made of these two closures.
    public init(
        now: @escaping @Sendable () -> MonotonicInstant,
        sleep: @escaping @Sendable (_ until: MonotonicInstant) async throws -> Void
    ) {
        self.now = now
        self.sleep = sleep
    }

    /// `CLOCK_MONOTONIC`: the clock of `HTTPServer`'s time stamps and of `SuspendingClock` on Linux. It stands still
    /// while the machine sleeps, which is what a deadline wants: no request was served meanwhile.
    public static let system = MonotonicClock(
        now: { .now },
        sleep: { instant in
            // No longer than a day at once: the dispatch of timers computes with signed nanoseconds.
            let left = Swift.min(instant - .now, .seconds(86_400))
            guard left > .zero else { return }
            try await Task.sleep(for: left, clock: .suspending)
        })
}

/// Makes the runtime open the descriptors that its timers need, of both clocks. It opens them with the first timer, and
/// ends the process where it gets none: a daemon whose clients hold all descriptors by then would be gone.
public func openTimers() async {
    // Throws only where the task is cancelled, which starts a timer too.
    try? await Task.sleep(for: .nanoseconds(1), clock: .suspending)
    try? await Task.sleep(for: .nanoseconds(1), clock: .continuous)
}

extension MonotonicInstant {
    /// The present instant of `CLOCK_MONOTONIC` (20 to 40 ns: a vDSO call, no system call).
    public static var now: MonotonicInstant {
        var time = timespec()
        // Fails only for a clock that the kernel does not have or for a bad address: neither can be here.
        clock_gettime(CLOCK_MONOTONIC, &time)
        let seconds = UInt64(clamping: time.tv_sec)
        return MonotonicInstant(nanoseconds: seconds &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec))
    }
}

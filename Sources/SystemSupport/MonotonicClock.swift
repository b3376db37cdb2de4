internal import Glibc

/// A source of time: `CLOCK_MONOTONIC`, or a test's own.
///
/// A struct of closures rather than a protocol, so that `InFlightLimiter` needs no generic parameter only for tests.
/// Both closures may be called from any thread.
public struct MonotonicClock: Sendable {
    /// The current instant. Never goes back.
    public var now: @Sendable () -> MonotonicInstant

    /// Suspends the task until the instant is reached. May return early (callers check `now` again); throws
    /// `CancellationError` when the task is cancelled.
    public var sleep: @Sendable (_ until: MonotonicInstant) async throws -> Void

    /// A clock with these two closures.
    public init(
        now: @escaping @Sendable () -> MonotonicInstant,
        sleep: @escaping @Sendable (_ until: MonotonicInstant) async throws -> Void
    ) {
        self.now = now
        self.sleep = sleep
    }

    /// `CLOCK_MONOTONIC`: the clock of `HTTPServer`'s time stamps and of `SuspendingClock` on Linux. It stops while the
    /// machine is suspended, which is right for deadlines: no request was served meanwhile.
    public static let system = MonotonicClock(
        now: { .now },
        sleep: { instant in
            // Sleep at most a day at a time: dispatch timers compute with signed nanoseconds.
            let left = Swift.min(instant - .now, .seconds(86_400))
            guard left > .zero else { return }
            try await Task.sleep(for: left, clock: .suspending)
        })
}

/// Makes the runtime open the descriptors for timers of both clocks. Otherwise it opens them with the first timer, and
/// ends the process if it cannot: a daemon whose clients hold all descriptors at that moment would exit.
public func openTimers() async {
    // Throws only if the task is cancelled, which starts a timer, too.
    try? await Task.sleep(for: .nanoseconds(1), clock: .suspending)
    try? await Task.sleep(for: .nanoseconds(1), clock: .continuous)
}

extension MonotonicInstant {
    /// The current instant of `CLOCK_MONOTONIC` (20 to 40 ns: a vDSO call, no system call).
    public static var now: MonotonicInstant {
        var time = timespec()
        // Fails only for a clock unknown to the kernel or a bad address: neither is possible here.
        clock_gettime(CLOCK_MONOTONIC, &time)
        let seconds = UInt64(clamping: time.tv_sec)
        return MonotonicInstant(nanoseconds: seconds &* 1_000_000_000 &+ UInt64(clamping: time.tv_nsec))
    }
}

extension MonotonicInstant? {
    /// True if this is a deadline, and the clock has reached it.
    package var hasPassed: Bool { map { .now >= $0 } ?? false }
}

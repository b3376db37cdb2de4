/// A point on `CLOCK_MONOTONIC`, in nanoseconds since an unspecified start (on Linux, the boot).
///
/// All arithmetic saturates: adding an absurd duration gives the last (or the first) instant instead of trapping,
/// because durations come from request parameters.
public struct MonotonicInstant: InstantProtocol, Hashable, Sendable {
    /// Nanoseconds since the clock's start.
    public var nanoseconds: UInt64

    /// The instant `nanoseconds` after the clock's start.
    @inlinable public init(nanoseconds: UInt64) {
        self.nanoseconds = nanoseconds
    }

    /// An instant that is never reached.
    public static let distantFuture = MonotonicInstant(nanoseconds: .max)

    /// This instant moved by `duration`, which may be negative. Saturates.
    @inlinable public func advanced(by duration: Duration) -> MonotonicInstant {
        let delta = duration.saturatedNanoseconds
        let (sum, overflow) =
            delta >= 0
            ? nanoseconds.addingReportingOverflow(delta.magnitude)
            : nanoseconds.subtractingReportingOverflow(delta.magnitude)
        guard overflow else { return MonotonicInstant(nanoseconds: sum) }
        return MonotonicInstant(nanoseconds: delta >= 0 ? .max : 0)
    }

    /// The time from this instant to `other`: negative if `other` is earlier. Saturates at 292 years.
    @inlinable public func duration(to other: MonotonicInstant) -> Duration {
        other >= self
            ? .nanoseconds(Int64(clamping: other.nanoseconds &- nanoseconds))
            : .nanoseconds(-Int64(clamping: nanoseconds &- other.nanoseconds))
    }

    /// True if this instant is earlier than `right`.
    @inlinable public static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// `instant` moved by `duration`. Saturates.
    @inlinable public static func + (instant: MonotonicInstant, duration: Duration) -> MonotonicInstant {
        instant.advanced(by: duration)
    }

    /// `instant` moved back by `duration`. Saturates.
    @inlinable public static func - (instant: MonotonicInstant, duration: Duration) -> MonotonicInstant {
        instant.advanced(by: .zero - duration)
    }

    /// The time from `right` to `left`.
    @inlinable public static func - (left: MonotonicInstant, right: MonotonicInstant) -> Duration {
        right.duration(to: left)
    }

    /// Nanoseconds since `earlier`; 0 if `earlier` is actually later. Threads read the clock before they take a lock,
    /// so instants may arrive a few microseconds out of order.
    @inlinable package func nanoseconds(since earlier: MonotonicInstant) -> UInt64 {
        nanoseconds > earlier.nanoseconds ? nanoseconds &- earlier.nanoseconds : 0
    }
}

extension Duration {
    /// The duration in whole nanoseconds, rounded towards zero, saturated at the ends of `Int64`.
    @inlinable package var saturatedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, tooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !tooLong else { return seconds < 0 ? .min : .max }
        let (sum, overflow) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow ? (seconds < 0 ? .min : .max) : sum
    }

    /// A duration of `count` nanoseconds, saturated at 292 years.
    @inlinable package static func nanoseconds(clamping count: UInt64) -> Duration {
        .nanoseconds(Int64(clamping: count))
    }
}

package import SystemSupport

/// The slots of a limiter: how many are in use, how many of them by long requests (``Claim/isLong``), and the
/// prediction of when the next ones become free.
///
/// Long requests hold at most two thirds of the slots, so that short requests soon get one. A lowered limit revokes no
/// slot.
package struct Slots: Sendable {
    /// The maximum number in use.
    package internal(set) var limit: Int
    /// The number in use.
    package private(set) var inUse = 0
    /// The number in use by long requests.
    package private(set) var longInUse = 0
    /// The time of the last acquisition or release: every slot in use was taken at that time or before.
    private var lastChange = MonotonicInstant(nanoseconds: 0)
    private var service: ServiceTimeEstimate

    /// Free slots. `expectedService`: the time for which one is held, in nanoseconds, until it is measured.
    package init(limit: Int, expectedService: UInt64) {
        self.limit = limit
        service = ServiceTimeEstimate(expected: expectedService)
    }

    /// True if a slot is free, for some request.
    package var isFree: Bool { inUse < limit }
    /// True if long requests may have another slot, once one is free.
    package var allowsLong: Bool { longInUse < maximumLong }
    /// The maximum number held by long requests.
    package var maximumLong: Int { max(1, limit * 2 / 3) }

    /// Takes a slot.
    package mutating func take(isLong: Bool, at now: MonotonicInstant) {
        inUse += 1
        if isLong { longInUse += 1 }
        lastChange = max(lastChange, now)
    }

    /// Releases a slot that was held for `held` nanoseconds.
    package mutating func release(isLong: Bool, held: UInt64, at now: MonotonicInstant) {
        service.record(held)
        inUse -= 1
        if isLong { longInUse -= 1 }
        lastChange = max(lastChange, now)
    }

    // MARK: Prediction

    /// The smoothed time for which a slot is held, in nanoseconds; 0 if it is unknown.
    package var serviceTime: Double { service.nanoseconds }
    /// ``serviceTime``, at most an hour.
    package var boundedServiceTime: UInt64 { Self.bounded(serviceTime) }
    /// True once a slot was released.
    package var isMeasured: Bool { service.isMeasured }
    /// The mean time between two releases while all slots are taken, in nanoseconds.
    package var interval: Double { serviceTime / Double(limit) }

    /// The time until a slot becomes free for a request with `ahead` others before it, in nanoseconds.
    ///
    /// With `limit` slots, each held for a mean time s, one is released every s/limit, and the request needs
    /// `ahead + 1` of them (and those above a lowered limit). The first is due s/limit after the last change. If it is
    /// overdue, it may come at any moment; but once none was released for longer than s, every slot in use is overdue,
    /// and is expected to be held for about as long again as it is overdue. The predicted wait then grows while the
    /// engine hangs, instead of staying at the last measured value, and a short stall does not become the new mean.
    /// Without a measured or expected time, no wait is predicted, and no request is refused for it.
    package func predictedWait(ahead: Int, at now: MonotonicInstant) -> UInt64 {
        guard !isFree, serviceTime > 0 else { return 0 }
        let since = Double(now.nanoseconds(since: lastChange))
        let turns = Double(inUse - limit + ahead)
        return Self.bounded(turns * serviceTime / Double(limit) + max(interval - since, since - serviceTime, 0))
    }

    /// Nanoseconds, at most an hour: longer is equivalent to never, and the sum of two cannot overflow.
    private static func bounded(_ nanoseconds: Double) -> UInt64 {
        UInt64(min(max(nanoseconds, 0), 3_600_000_000_000))
    }
}

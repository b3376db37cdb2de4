/// The bounds of an `InFlightLimiter`.
///
/// Values outside a range are moved to its nearer end: a limiter cannot be made that admits nothing or overflows.
public struct LimiterConfiguration: Sendable, Hashable {
    /// How many slots are out at most: 1 to 1,000,000.
    public let limit: Int

    /// How many requests wait at most: 0 to 1,000,000. Not used by `drop_newest`, under which nothing waits.
    public let queueCapacity: Int

    /// How long a request waits at most; 0 or more. With 0 nothing waits.
    public let maxWait: Duration

    /// What becomes of a request that finds every slot taken.
    public let policy: OverloadPolicy

    /// How long a slot is expected to be held, until the first ones have come back and it is measured: a warm-up's
    /// time, say. 0: not known; the first waits are then predicted too short.
    public let expectedServiceTime: Duration

    /// Within what time a request must be answered, by prediction, to be admitted while overloaded; 0: places and
    /// ``maxWait`` alone bound the queue. Used by `defer` alone. How overload differs from load: ``OverloadDetector``.
    public let overloadTarget: Duration

    /// The bounds, each moved into its range.
    public init(
        limit: Int,
        queueCapacity: Int = 256,
        maxWait: Duration = .seconds(30),
        policy: OverloadPolicy = .defer,
        expectedServiceTime: Duration = .zero,
        overloadTarget: Duration = .zero
    ) {
        self.limit = min(max(limit, 1), Self.mostSlots)
        self.queueCapacity = min(max(queueCapacity, 0), Self.mostSlots)
        self.maxWait = max(maxWait, .zero)
        self.policy = policy
        self.expectedServiceTime = max(expectedServiceTime, .zero)
        self.overloadTarget = policy == .defer ? max(overloadTarget, .zero) : .zero
    }

    private static let mostSlots = 1_000_000

    /// How many may wait once the policy and the wait are considered.
    package var effectiveCapacity: Int {
        policy == .dropNewest || maxWait == .zero ? 0 : queueCapacity
    }
}

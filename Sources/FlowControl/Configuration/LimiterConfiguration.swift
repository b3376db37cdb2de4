/// The limits of an `InFlightLimiter`.
///
/// Values are clamped to their ranges, so that a limiter always admits requests and never overflows.
public struct LimiterConfiguration: Sendable, Hashable {
    /// The maximum number of slots in use: 1 to 1,000,000.
    public let limit: Int

    /// The maximum length of the queue: 0 to 1,000,000. Not used by `drop_newest`, which has no queue.
    public let queueCapacity: Int

    /// The maximum wait of a request; 0 or more. With 0, no request waits.
    public let maxWait: Duration

    /// The policy for a request that arrives while all slots are taken.
    public let policy: OverloadPolicy

    /// The expected time for which a slot is held, used until it is measured: for example the time of a warm-up. 0:
    /// unknown; the first predicted waits are then too short.
    public let expectedServiceTime: Duration

    /// While overloaded, a request is admitted only if its answer is predicted within this time; 0: only the capacity
    /// and ``maxWait`` limit the queue. Used by `defer` only. ``OverloadDetector`` distinguishes overload from load.
    public let overloadTarget: Duration

    /// Limits, each clamped to its range.
    public init(
        limit: Int,
        queueCapacity: Int = 256,
        maxWait: Duration = .seconds(30),
        policy: OverloadPolicy = .defer,
        expectedServiceTime: Duration = .zero,
        overloadTarget: Duration = .zero
    ) {
        self.limit = min(max(limit, 1), Self.maximumSlots)
        self.queueCapacity = min(max(queueCapacity, 0), Self.maximumSlots)
        self.maxWait = max(maxWait, .zero)
        self.policy = policy
        self.expectedServiceTime = max(expectedServiceTime, .zero)
        self.overloadTarget = policy == .defer ? max(overloadTarget, .zero) : .zero
    }

    private static let maximumSlots = 1_000_000

    /// The number of requests that may wait, given the policy and the maximum wait.
    package var effectiveCapacity: Int {
        policy == .dropNewest || maxWait == .zero ? 0 : queueCapacity
    }
}

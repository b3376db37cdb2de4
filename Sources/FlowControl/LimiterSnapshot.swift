/// An `InFlightLimiter` at one moment: all values belong together.
public struct LimiterSnapshot: Sendable, Hashable {
    /// Slots out. More than `limit` only for a while after the limit was lowered.
    public let inFlight: Int
    /// Requests waiting.
    public let waiting: Int
    /// The bounds in force.
    public let configuration: LimiterConfiguration
    /// Whether new requests are refused because of a drain.
    public let isDraining: Bool
    /// Whether time, and not places, bounds the queue at present, because more requests come than are done.
    public let isOverloaded: Bool
    /// What became of every request so far.
    public let counters: LimiterCounters
    /// How long a slot is held, smoothed over the last ones; nil before the first came back.
    public let serviceTime: Duration?
    /// How long a request that came now would wait: 0 while a slot is free, never above an hour.
    public let predictedWait: Duration

    /// The most slots out at one time.
    public var limit: Int { configuration.limit }
    /// How many may wait.
    public var queueCapacity: Int { configuration.queueCapacity }
}

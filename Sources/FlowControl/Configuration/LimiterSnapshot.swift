/// A consistent view of an `InFlightLimiter` at one moment.
public struct LimiterSnapshot: Sendable, Hashable {
    /// The number of slots in use. More than `limit` only temporarily, after the limit was lowered.
    public let inFlight: Int
    /// The number of waiting requests.
    public let waiting: Int
    /// The current limits.
    public let configuration: LimiterConfiguration
    /// True if new requests are refused because of a drain.
    public let isDraining: Bool
    /// True if the queue is bounded by time instead of capacity, because more requests arrive than are answered.
    public let isOverloaded: Bool
    /// The outcomes of all requests so far.
    public let counters: LimiterCounters
    /// The smoothed time for which slots are held; nil until a slot was released.
    public let serviceTime: Duration?
    /// The predicted wait of a new request: 0 while a slot is free, at most an hour.
    public let predictedWait: Duration

    /// The maximum number of slots in use.
    public var limit: Int { configuration.limit }
    /// The number of requests that may wait.
    public var queueCapacity: Int { configuration.queueCapacity }
}

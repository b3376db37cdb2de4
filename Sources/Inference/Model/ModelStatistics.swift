/// What a loaded model has done since it was loaded. Times are sums in nanoseconds.
public struct ModelStatistics: Sendable, Hashable {
    /// A number of times, and how long they took together.
    public struct Total: Sendable, Hashable {
        /// How often.
        public var count: UInt64 = 0
        /// Nanoseconds in all.
        public var nanoseconds: UInt64 = 0

        /// Never.
        public init() {}

        mutating func add(_ time: UInt64) {
            count &+= 1
            nanoseconds &+= time
        }
    }

    /// Predictions that gave an answer, and those that did not (refused, cancelled, failed): from the call to its end.
    public var success = Total(), failure = Total()
    /// The stages of the successful ones: waiting, filling the inputs, the engine, reading the outputs.
    public var queue = Total(), input = Total(), inference = Total(), output = Total()
    /// When the last prediction ended, in nanoseconds of CLOCK_MONOTONIC; 0 for never.
    public var lastEnded: UInt64 = 0

    /// Nothing yet.
    public init() {}

    mutating func succeeded(_ times: StageTimes, output time: UInt64, total: UInt64, at now: UInt64) {
        success.add(total)
        queue.add(times.queue)
        input.add(times.decode)
        inference.add(times.inference)
        output.add(time)
        lastEnded = now
    }

    mutating func failed(total: UInt64, at now: UInt64) {
        failure.add(total)
        lastEnded = now
    }
}

/// Statistics of a model since it was loaded. Times are sums in nanoseconds.
public struct ModelStatistics: Sendable, Hashable {
    /// A count and its total time.
    public struct Total: Sendable, Hashable {
        /// The count.
        public var count: UInt64 = 0
        /// Total nanoseconds.
        public var nanoseconds: UInt64 = 0

        /// No events.
        public init() {}

        mutating func add(_ time: UInt64) {
            count &+= 1
            nanoseconds &+= time
        }
    }

    /// Successful predictions, and all others (refused, cancelled, failed); the time is from the start to the end of
    /// the call.
    public var success = Total(), failure = Total()
    /// The stages of successful predictions: waiting, filling the inputs, the engine, reading the outputs.
    public var queue = Total(), input = Total(), inference = Total(), output = Total()
    /// The inferences of the engine by number of items, in the order of first use.
    public private(set) var batches: [Batch] = []
    /// The inferences that the runtime of the file's format ran, because the model's engine refuses the inputs.
    public internal(set) var fallbacks: UInt64 = 0
    /// The time when the last prediction ended, in nanoseconds of CLOCK_MONOTONIC; 0 if no prediction has ended.
    public var lastEnded: UInt64 = 0

    /// The inferences of one batch size.
    public struct Batch: Sendable, Hashable {
        /// The number of items of each inference; 1 for a single prediction.
        public let size: Int
        /// The times of filling the inputs of all items, of the engine, and of reading the outputs of all items. The
        /// counts are numbers of inferences.
        public var input = Total(), inference = Total(), output = Total()
    }

    /// The number of inferences of all sizes.
    public var executions: UInt64 { batches.reduce(0) { $0 &+ $1.inference.count } }

    /// All counts and times are zero.
    public init() {}

    /// Records an inference of `size` items that succeeded. Times are in nanoseconds.
    package mutating func executed(_ size: Int, input: UInt64, inference: UInt64, output: UInt64) {
        // Almost always the first entry: a model uses few sizes.
        let index: Int
        if let found = batches.firstIndex(where: { $0.size == size }) {
            index = found
        } else {
            index = batches.count
            batches.append(Batch(size: size))
        }
        batches[index].input.add(input)
        batches[index].inference.add(inference)
        batches[index].output.add(output)
    }

    /// Records a prediction that succeeded.
    package mutating func succeeded(_ times: StageTimes, output time: UInt64, total: UInt64, at now: UInt64) {
        success.add(total)
        queue.add(times.queue)
        input.add(times.decode)
        inference.add(times.inference)
        output.add(time)
        lastEnded = now
    }

    /// Records a prediction that was refused or cancelled, or that failed.
    package mutating func failed(total: UInt64, at now: UInt64) {
        failure.add(total)
        lastEnded = now
    }
}

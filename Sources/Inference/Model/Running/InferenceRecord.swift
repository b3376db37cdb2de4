internal import FlowControl
internal import SystemSupport

/// Records one inference for the statistics: its times, and the results of its items.
struct InferenceRecord {
    /// The number of items.
    let count: Int
    /// The variant that runs the items together; nil for a single item.
    let batch: BatchVariant?
    /// The times so far. For several items, the times that they share.
    private(set) var times = StageTimes()
    /// The time when the inference ended.
    private(set) var inferred: MonotonicInstant
    private let arrived: MonotonicInstant
    /// Nanoseconds that the request waited for its slot.
    private let waited: UInt64
    /// The time when the previous stage ended.
    private var last: MonotonicInstant
    /// True if the runtime of the file's format has run it, because the model's engine refuses the inputs.
    private(set) var isOfFallback = false
    /// The engine's refusal of NaN or infinities in an input; nil if it takes all values.
    var nonFinite: EngineError?
    private var decodedBefore: UInt64 = 0
    /// The items that were answered: the first, and the others.
    private var first: Success?
    private var others: [Success] = []

    private struct Success {
        let times: StageTimes
        /// Nanoseconds for reading the answer.
        let output: UInt64
    }

    /// Starts the clock of a prediction that has a slot.
    init(_ count: Int = 1, on batch: BatchVariant? = nil, in slot: Slot) {
        self.count = count
        self.batch = batch
        waited = slot.waitedNanoseconds
        arrived = .now
        last = arrived
        inferred = arrived
    }

    /// Records the wait for the model, which was before the slot.
    mutating func waitedForModel(_ nanoseconds: UInt64) { times.load = nanoseconds }

    /// Ends the stage in which shapes are checked.
    mutating func isChecked() { times.queue = waited &+ step() }

    /// Moves decode time before the slot from `queue` to `decode`: pictures that must be decoded before their tensors
    /// are allocated.
    mutating func decoded(before nanoseconds: UInt64) {
        decodedBefore = min(nanoseconds, times.queue)
        times.queue &-= decodedBefore
    }

    /// Ends the stage in which inputs are filled.
    /// - Parameter waited: nanoseconds of this stage in which pictures waited for memory to be decoded in.
    mutating func filled(waiting waited: UInt64) {
        times.decode = step() &- waited &+ decodedBefore
        times.queue &+= waited
    }

    /// Ends the wait for an infer request.
    /// - Parameter occupancy: the number of predictions that are under way, including this one.
    mutating func begins(beside occupancy: Int) {
        times.queue &+= step()
        times.occupancy = occupancy
    }

    /// Ends the inference in the engine.
    mutating func ends(singleStreamThreads: Int?) {
        times.inference = step()
        times.singleStreamThreads = singleStreamThreads
        inferred = last
    }

    /// Records that the runtime of the file's format has run the inference.
    mutating func fellBack() { isOfFallback = true }

    /// Records that an item's answer was read.
    mutating func read(_ times: StageTimes, since start: MonotonicInstant) {
        let success = Success(times: times, output: MonotonicInstant.now.nanoseconds(since: start))
        if first == nil { first = success } else { others.append(success) }
    }

    /// Nanoseconds since the previous stage.
    private mutating func step() -> UInt64 {
        let now = MonotonicInstant.now
        defer { last = now }
        return now.nanoseconds(since: last)
    }

    /// Adds the inference to the statistics: items with an answer as successes, the others as failures.
    func count(in statistics: inout ModelStatistics) {
        let now = MonotonicInstant.now
        let total = waited &+ now.nanoseconds(since: arrived)
        if let first {
            var input = first.times.decode, output = first.output
            statistics.succeeded(first.times, output: first.output, total: total, at: now.nanoseconds)
            for item in others {
                statistics.succeeded(item.times, output: item.output, total: total, at: now.nanoseconds)
                input &+= item.times.decode
                output &+= item.output
            }
            statistics.executed(count, input: input, inference: times.inference, output: output)
            if isOfFallback { statistics.fallbacks &+= 1 }
        }
        let answered = first == nil ? 0 : 1 + others.count
        for _ in answered..<max(count, answered) { statistics.failed(total: total, at: now.nanoseconds) }
    }
}

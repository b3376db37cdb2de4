internal import FlowControl
internal import SystemSupport

/// The times of one inference, and what came of its items, for the statistics.
struct InferenceRun {
    /// The number of items.
    let count: Int
    /// The variant that runs them together; nil for one item.
    let batch: BatchVariant?
    /// The times so far. Of several items, those that they share.
    private(set) var times = StageTimes()
    /// The time when the inference ended.
    private(set) var inferred: MonotonicInstant
    private let arrived: MonotonicInstant
    /// Nanoseconds that it waited for its slot before.
    private let waited: UInt64
    /// The time when the last stage ended.
    private var last: MonotonicInstant
    private var decodedBefore: UInt64 = 0
    /// The items that gave an answer: the first, and the others.
    private var first: Success?
    private var others: [Success] = []

    private struct Success {
        let times: StageTimes
        /// Nanoseconds of reading the answer.
        let output: UInt64
    }

    /// A prediction that has a slot begins.
    init(_ count: Int = 1, on batch: BatchVariant? = nil, in slot: Slot) {
        self.count = count
        self.batch = batch
        waited = slot.waitedNanoseconds
        arrived = .now
        last = arrived
        inferred = arrived
    }

    /// Its shapes are checked.
    mutating func isChecked() { times.queue = waited &+ step() }

    /// Some of the time before was decoding: pictures whose pixels had to be there before their tensors.
    mutating func decoded(before nanoseconds: UInt64) {
        decodedBefore = min(nanoseconds, times.queue)
        times.queue &-= decodedBefore
    }

    /// Its inputs are filled.
    /// - Parameter waited: nanoseconds of it that pictures waited for memory to be decoded in.
    mutating func filled(waiting waited: UInt64) {
        times.decode = step() &- waited &+ decodedBefore
        times.queue &+= waited
    }

    /// It has an infer request.
    /// - Parameter occupancy: predictions that are under way, with this one.
    mutating func begins(beside occupancy: Int) {
        times.queue &+= step()
        times.occupancy = occupancy
    }

    /// The engine is done.
    mutating func ends(singleStreamThreads: Int?) {
        times.inference = step()
        times.singleStreamThreads = singleStreamThreads
        inferred = last
    }

    /// An item's answer was read.
    mutating func read(_ times: StageTimes, since start: MonotonicInstant) {
        let success = Success(times: times, output: MonotonicInstant.now.nanoseconds(since: start))
        if first == nil { first = success } else { others.append(success) }
    }

    /// Nanoseconds since the last stage.
    private mutating func step() -> UInt64 {
        let now = MonotonicInstant.now
        defer { last = now }
        return now.nanoseconds(since: last)
    }

    /// Counts the end of the inference: the items with an answer, and the others as failures.
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
        }
        let answered = first == nil ? 0 : 1 + others.count
        for _ in answered..<max(count, answered) { statistics.failed(total: total, at: now.nanoseconds) }
    }
}

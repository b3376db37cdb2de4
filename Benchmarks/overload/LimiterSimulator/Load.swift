import Glibc

/// The behaviour of clients, and the speed of the model.
struct Load {
    var name: String
    /// Open loop: requests per second, independent of their outcomes.
    var rate = 0.0
    /// Open loop: true if requests come at equal intervals, as those of `Benchmarks/inference/openloop.c`; else at
    /// random (Poisson).
    var isEven = false
    /// Open loop: the seconds after which no more requests come.
    var arrivalSeconds = Double.infinity
    /// Open loop: the seconds after which a client gives up.
    var patience = 2.0
    /// Open loop: the seconds within which an answer counts.
    var wanted = 0.5
    /// Closed loop: the number of connections. Each sends its next request when it has the answer, and never disconnects.
    var closedClients = 0
    /// Closed loop: the seconds over which the clients start.
    var rampSeconds = 0.05
    /// Closed loop: the seconds between an answer and the client's next request.
    var thinkSeconds = 0.001
    /// Bursts: for `burstSeconds` of every `burstPeriod` the rate is `burstFactor` times as high.
    var burstFactor = 1.0, burstSeconds = 0.0, burstPeriod = 1.0
    /// Requests that come within a second, from clients that never leave, and again at these times.
    var volley = 0
    var volleysAt: [Double] = [0]
    var seconds = 30.0
    /// The number of concurrent predictions, and the mean time of one.
    var streams = 2, serviceSeconds = 0.018
    /// The share of requests that take five times as long.
    var largeShare = 0.0
    /// The pace of the machine changes every 100 ms, by up to this part of it; its mean stays.
    var unsteadiness = 0.0

    var capacity: Double { Double(streams) / serviceSeconds }
    /// Requests that arrive earlier are load, but are not counted.
    var countedFrom = 0.0
    /// The seconds for which arriving requests are counted.
    var loadSeconds: Double { min(seconds, arrivalSeconds) - countedFrom }

    func isBurst(_ now: Double) -> Bool { now.truncatingRemainder(dividingBy: burstPeriod) < burstSeconds }

    /// The time of one prediction: 80 to 120 % of the mean, or five times that for a large picture, with the same mean.
    func service(_ random: inout SplitMix) -> Double {
        let small = serviceSeconds / (1 + 4 * largeShare)
        return small * random.uniform(0.8...1.2) * (random.uniform(0...1) < largeShare ? 5 : 1)
    }
}

/// The limiter's state at a moment.
struct Sample {
    let at: Double
    let waiting: Int
    let isOverloaded: Bool
}

/// The outcomes of the requests.
struct Outcome {
    var arrived = 0, inTime = 0, late = 0, gone = 0, closedAnswered = 0, closedRefused = 0
    var refusalDelays: [Double] = []
    /// The state every quarter of a second.
    var samples: [Sample] = []
    /// The number of answered requests of each volley.
    var answeredOfVolleys: [Int] = []
    var latencies: [Double] = []
    var seconds = 0.0, capacity = 0.0

    mutating func answered(after delay: Double, wanted: Double) {
        if wanted == .infinity { closedAnswered += 1 } else if delay <= wanted { inTime += 1 } else { late += 1 }
        latencies.append(delay)
    }

    mutating func refused(after delay: Double, isOpen: Bool) {
        if !isOpen { closedRefused += 1 }
        refusalDelays.append(delay)
    }

    static func quantile(_ q: Double, of values: [Double]) -> Double {
        guard !values.isEmpty else { return 0 }
        return values.sorted()[min(Int(q * Double(values.count)), values.count - 1)]
    }

    /// The share of answers in time among the possible ones: the capacity, or the load if that is less.
    var goodput: Double { Double(inTime) / min(capacity * seconds, Double(arrived)) }
}

/// Random numbers by a seed (SplitMix64).
struct SplitMix {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func uniform(_ range: ClosedRange<Double>) -> Double {
        range.lowerBound + (range.upperBound - range.lowerBound) * Double(next() >> 11) / 9_007_199_254_740_992
    }

    mutating func exponential(mean: Double) -> Double { -mean * log(1 - uniform(0...0.999_999_999)) }
}

/// A binary heap of events by time.
struct EventQueue<Event> {
    private var heap: [(at: Double, order: Int, event: Event)] = []
    private var order = 0

    mutating func add(at: Double, _ event: Event) {
        order += 1
        heap.append((at, order, event))
        var child = heap.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func next() -> (Double, Event)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        if heap.isEmpty { return (first.at, first.event) }
        heap[0] = last
        var parent = 0
        while true {
            var minimum = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isBefore(child, minimum) {
                minimum = child
            }
            if minimum == parent { return (first.at, first.event) }
            heap.swapAt(parent, minimum)
            parent = minimum
        }
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (heap[left].at, heap[left].order) < (heap[right].at, heap[right].order)
    }
}

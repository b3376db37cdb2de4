/// Compares the pictures of a model, and its answers, with those of the reference: the first pictures that the model
/// saw. A pure value: time and random numbers come from outside.
package struct DriftMonitor: Sendable, Equatable {
    /// The state of a monitor.
    package enum State: String, Sendable, CaseIterable {
        /// The reference is not complete.
        case learning
        case steady
        /// A signal has drifted; it stays so until the reference is learned anew.
        case drifted
    }

    /// Some pictures, in their order.
    package struct Span: Sendable, Hashable {
        package internal(set) var pictures = 0
        /// When the first and the last came, in seconds since 1970; nil without a picture.
        package internal(set) var from: Int?, to: Int?

        mutating func add(at time: Int) {
            pictures += 1
            if from == nil { from = time }
            to = time
        }
    }

    /// One signal as operators see it.
    package struct Reading: Sendable, Hashable {
        package let signal: DriftSignal
        /// The means of the reference and of the last 200 pictures; nil without a picture.
        package let reference: Double?, recent: Double?
        /// See ``DriftEvidence``; 0 while the reference is learned.
        package let evidence: Double
        package let hasDrifted: Bool
    }

    /// The number of pictures of the reference, and the evidence at which a signal has drifted.
    package struct Plan: Sendable, Hashable {
        /// The number of pictures of the reference, at least 1.
        package let reference: Int
        /// The mean number of pictures between two false alarms.
        package let pictures: Double

        package init(reference: Int, pictures: Double) {
            self.reference = max(1, reference)
            self.pictures = max(1, pictures)
        }
    }

    package internal(set) var state = State.learning
    /// When the state began, in seconds since 1970.
    package internal(set) var since: Int
    /// The pictures of the reference.
    package internal(set) var reference = Span()
    /// When each of the last 200 pictures came, oldest first.
    var times: [Int] = []
    /// The signals by their index; nil for those that no picture had.
    var signals = [SignalMonitor?](repeating: nil, count: DriftSignal.count)
    var direction = MeanDirection()

    /// A monitor that has seen no picture.
    /// - Parameter time: in seconds since 1970.
    package init(at time: Int) { since = time }

    /// Takes a picture.
    /// - Parameters:
    ///   - time: when it was answered, in seconds since 1970.
    ///   - u: a random number from 0 to 1, another for each picture; it breaks ties.
    /// - Returns: true if the state has changed.
    package mutating func observe(
        _ observation: DriftObservation, at time: Int, u: Double, plan: Plan
    ) -> Bool {
        var observation = observation
        if let vector = observation.vector {
            observation[.vector] =
                direction.take(vector, needed: MeanDirection.needed(reference: plan.reference)) ?? .nan
        }
        if times.count >= SignalMonitor.recentCount { times.removeFirst(times.count - SignalMonitor.recentCount + 1) }
        times.append(time)
        let isLearning = state == .learning, u = min(max(u, 0), 1)
        for signal in DriftSignal.allCases where !observation[signal].isNaN {
            let value = observation[signal]
            if signals[signal.index] == nil { signals[signal.index] = SignalMonitor() }
            if isLearning {
                signals[signal.index]?.learn(value)
            } else {
                signals[signal.index]?.test(value, u: u)
            }
        }
        return isLearning ? hasLearned(at: time, plan) : judge(at: time, plan)
    }

    private mutating func hasLearned(at time: Int, _ plan: Plan) -> Bool {
        reference.add(at: time)
        guard reference.pictures >= plan.reference else { return false }
        state = .steady
        since = time
        return true
    }

    /// The evidence at which a signal has drifted: with several signals the false alarms of each are so much rarer that
    /// those of all are as rare as planned.
    package func threshold(_ plan: Plan) -> Double {
        min(plan.pictures * Double(max(1, signals.count { $0 != nil })), DriftEvidence.most / 2)
    }

    private mutating func judge(at time: Int, _ plan: Plan) -> Bool {
        let threshold = threshold(plan)
        var isNew = false
        for index in signals.indices {
            guard let signal = signals[index], !signal.hasDrifted, signal.evidence.value >= threshold else { continue }
            signals[index]?.hasDrifted = true
            isNew = true
        }
        guard isNew, state == .steady else { return false }
        state = .drifted
        since = time
        return true
    }

    /// The last pictures, at most 200.
    package var recent: Span { Span(pictures: times.count, from: times.first, to: times.last) }

    /// The signals that pictures had.
    package var readings: [Reading] {
        DriftSignal.allCases.compactMap { signal in
            signals[signal.index].map {
                Reading(
                    signal: signal, reference: $0.referenceMean, recent: $0.recentMean, evidence: $0.evidence.value,
                    hasDrifted: $0.hasDrifted)
            }
        }
    }

    /// The words for the log after a change of state: the signals that have drifted, and their means before and after.
    package var finding: String {
        readings.filter(\.hasDrifted).map { reading in
            func text(_ mean: Double?) -> String { mean.map { "\(($0 * 1_000).rounded() / 1_000)" } ?? "no picture" }
            return "signal \(reading.signal.rawValue): \(text(reading.reference)) in the reference, "
                + "\(text(reading.recent)) recently"
        }.joined(separator: "; ")
    }
}

package import SystemSupport

extension LimiterStateMachine {
    /// The invariant that this state violates, or nil. Call it after an event, with its instant. For tests: O(n).
    package func invariantViolation(at now: MonotonicInstant) -> String? {
        guard inFlight >= 0 else { return "\(inFlight) in flight" }
        if inFlight < configuration.limit {
            if queue.waiting(isLong: false) > 0 { return "\(waiting) wait although a slot is free" }
            if longInFlight < maximumLong, waiting > 0 { return "\(waiting) long ones wait although a slot is free" }
        }
        if longInFlight < 0 || longInFlight > inFlight { return "\(longInFlight) long of \(inFlight) in flight" }
        if waiting > configuration.effectiveCapacity { return "\(waiting) wait, over the capacity" }

        guard let tickets = queue.tickets else { return "the queue's links are broken" }
        let arrivals = tickets.dropFirst(queue.aside).map { queue.arrival(of: $0).at }
        if zip(arrivals, arrivals.dropFirst()).contains(where: { $0 > $1 }) { return "the queue is out of order" }

        if let violation = expiryViolation(tickets) { return violation }
        if let violation = counterViolation { return violation }

        if phase == .drained, inFlight > 0 || waiting > 0 { return "drained with requests left" }
        if phase == .draining, inFlight == 0, waiting == 0 { return "the end of the drain was missed" }

        let wait = predictedWait(at: now)
        guard wait >= .zero, wait <= .seconds(3600) else { return "predicts a wait of \(wait)" }
        if inFlight < configuration.limit, wait != .zero { return "predicts a wait although a slot is free" }
        return nil
    }

    private func expiryViolation(_ tickets: [WaiterTicket]) -> String? {
        let live = expiries.heap.entries.map(\.ticket).filter(queue.contains)
        guard live.count == tickets.count, Set(live) == Set(tickets) else { return "a waiter has no expiry, or two" }
        if expiries.heap.count > 2 * counters.peakWaiting + 34 {
            return "stale expiries pile up: \(expiries.heap.count)"
        }
        guard let first = expiries.heap.entries.filter({ queue.contains($0.ticket) }).map(\.at).min() else {
            return nil
        }
        guard let armed = expiries.armed else { return "waiters without a timer" }
        return armed.at > first ? "the timer comes after the first expiry" : nil
    }

    private var counterViolation: String? {
        let ended = counters.admitted + counters.refused + counters.left
        if counters.arrived != ended + UInt64(waiting) { return "arrivals do not add up: \(counters)" }
        if counters.admitted != counters.released + UInt64(inFlight) { return "slots do not add up: \(counters)" }
        return nil
    }
}

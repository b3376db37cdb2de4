internal import FlowControl
package import Inference

/// Decides whether another version may run an item now without delaying requests.
package enum ShadowGate: Sendable, Hashable {
    /// It may run.
    case open
    /// It must wait for a while.
    case busy
    /// It is skipped.
    case closed

    /// The load of a model.
    package struct Load: Sendable {
        package var inFlight = 0, waiting = 0
        /// The number of requests that the model runs concurrently without delays.
        package var room = 1
        package var isOverloaded = false

        package init() {}

        init(_ model: Model) {
            let state = model.limiter.snapshot
            inFlight = state.inFlight
            waiting = state.waiting
            room = max(1, min(model.instances, state.limit))
            isOverloaded = state.isOverloaded
        }
    }

    /// The decision.
    /// - Parameters:
    ///   - compared: the compared versions: a further prediction must not delay their requests.
    ///   - others: all ready models, because they share the processors.
    ///   - memory: the use of the memory for decoding.
    package static func decide(compared: [Load], others: [Load], memory: DecodeBudget.Usage) -> ShadowGate {
        let all = compared + others
        if memory.waiting > 0 || memory.used > memory.total / 2 || all.contains(where: \.isOverloaded) {
            return .closed
        }
        return all.allSatisfy { $0.waiting == 0 } && compared.allSatisfy { $0.inFlight < $0.room } ? .open : .busy
    }
}

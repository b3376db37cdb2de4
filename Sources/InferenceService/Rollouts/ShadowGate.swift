internal import FlowControl
package import Inference

/// Decides whether an item may be asked of another version now: no request has to wait for it.
package enum ShadowGate: Sendable, Hashable {
    /// It is asked.
    case open
    /// It waits for a while.
    case busy
    /// It is left out.
    case closed

    /// The requests of a model.
    package struct Load: Sendable {
        package var inFlight = 0, waiting = 0
        /// The requests that the model runs at the same time without delaying each other.
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
    ///   - compared: the versions that are compared: a further prediction delays no other of them.
    ///   - others: all models that are ready. They share the processors.
    ///   - memory: for decoding.
    package static func decide(compared: [Load], others: [Load], memory: DecodeBudget.Usage) -> ShadowGate {
        let all = compared + others
        if memory.waiting > 0 || memory.used > memory.total / 2 || all.contains(where: \.isOverloaded) {
            return .closed
        }
        return all.allSatisfy { $0.waiting == 0 } && compared.allSatisfy { $0.inFlight < $0.room } ? .open : .busy
    }
}

package import FlowControl
internal import ServiceCore
package import SystemSupport
package import Teaching
package import WireFormats

/// Changes of taught models that routes make: each is made in its turn, reported, and followed by an evaluation.
extension TaughtModels {
    /// Changes a taught model.
    /// - Parameter what: the change, for the log.
    package func change(
        _ model: TaughtModel, _ what: String, deadline: MonotonicInstant, claim: Claim,
        _ body: @escaping @Sendable (TaughtModel) throws(TeachingError) -> Void
    ) async throws(ServiceError) {
        let after = try await change(model, deadline: deadline, claim: claim) { (model) throws(TeachingError) in
            try body(model)
            return model.view.state
        }
        changed(model)
        report(model, after, what)
    }

    /// The result of teaching: the outcome of each example, and the state before.
    package struct Taught: Sendable {
        package let outcomes: [TaughtModel.Outcome]
        package let before: TaughtState
        fileprivate let after: TaughtState
    }

    /// Teaches examples in one change.
    /// - Parameter embedder: the one that made the embeddings.
    package func teach(
        _ examples: [TaughtModel.NewExample], to model: TaughtModel, by embedder: Embedder, deadline: MonotonicInstant,
        claim: Claim
    ) async throws(ServiceError) -> Taught {
        let taught = try await change(model, deadline: deadline, claim: claim) { (model) throws(TeachingError) in
            let before = model.view.state
            let outcomes = try model.teach(examples, time: TaughtModels.now, by: embedder.digest)
            return Taught(outcomes: outcomes, before: before, after: model.view.state)
        }
        guard taught.outcomes.contains(where: { $0.isNew || $0.isMoved }) else { return taught }
        changed(model)
        let new = taught.outcomes.count(where: \.isNew), moved = taught.outcomes.count(where: \.isMoved)
        report(
            model, taught.after,
            "\(new) new \(new == 1 ? "example" : "examples")" + (moved > 0 ? ", \(moved) moved" : ""))
        metrics.add(.taughtExamples, UInt64(new))
        return taught
    }
}

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
    /// - Parameters:
    ///   - embedder: the one that made the embeddings.
    ///   - naming: the caller's own name for an example, from the known example of its picture and the new label; nil
    ///     to keep the one that it has.
    package func teach(
        _ examples: [TaughtModel.NewExample], to model: TaughtModel, by embedder: Embedder, deadline: MonotonicInstant,
        claim: Claim, naming: @escaping @Sendable (Example?, String) -> String? = { _, _ in nil }
    ) async throws(ServiceError) -> Taught {
        let taught = try await change(model, deadline: deadline, claim: claim) { (model) throws(TeachingError) in
            let before = model.view.state
            let named = examples.map { $0.named(naming(before.example($0.id), $0.label)) }
            let outcomes = try model.teach(named, time: TaughtModels.now, by: embedder.digest)
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

    // MARK: Names

    /// The change of an example by its name.
    package enum NameChange: Sendable {
        case kept, renamed(String), forgotten
    }

    /// Renames and forgets examples by their names, in one turn.
    /// - Parameters:
    ///   - what: the change, for the log.
    ///   - decide: the change of an example that has a name.
    ///   - forgetting: called with the examples before they are forgotten. May block.
    /// - Returns: the number of examples that were forgotten.
    package func changeNames(
        of model: TaughtModel, _ what: String, deadline: MonotonicInstant, claim: Claim,
        _ decide: @escaping @Sendable (_ example: Example, _ name: String) -> NameChange,
        forgetting: @escaping @Sendable ([ExampleID]) throws(TeachingError) -> Void
    ) async throws(ServiceError) -> Int {
        let (forgotten, after) = try await change(model, deadline: deadline, claim: claim) {
            (model) throws(TeachingError) in
            var gone: Set<ExampleID> = [], renamed: [TaughtModel.NewExample] = []
            for example in model.view.state.examples {
                guard let name = example.name else { continue }
                switch decide(example, name) {
                case .kept: break
                case .renamed(let other): renamed.append(TaughtModel.NewExample(example, named: other))
                case .forgotten: gone.insert(example.id)
                }
            }
            if !renamed.isEmpty { _ = try model.teach(renamed, time: TaughtModels.now) }
            if !gone.isEmpty {
                try forgetting(Array(gone))
                try model.forget(gone)
            }
            return (gone.count, model.view.state)
        }
        guard forgotten > 0 else { return 0 }
        changed(model)
        report(model, after, what)
        return forgotten
    }
}

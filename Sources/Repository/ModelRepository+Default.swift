internal import Synchronization

extension ModelRepository {
    /// The model for a request without a model name. ``DefaultModel/Decision`` decides.
    /// - Parameter configured: the model of the settings; empty if not set.
    package func defaultModel(for purpose: DefaultModel.Purpose, configured: String = "") -> DefaultModel {
        let resolved = purpose == .classification ? resolvedDefault.withLock { $0 } : nil
        return items.withLock { items in
            var decision = DefaultModel.Decision(purpose, configured: configured, resolved: resolved)
            // Runs for every request without a model name: usually the preferred model can answer, and no other model
            // needs to be considered.
            if let name = decision.preferred, !decision.isSure {
                for version in items[name] ?? [] { decision.consider(name, version.candidate(for: purpose)) }
            }
            guard !decision.isSure else { return decision.result }
            for (name, versions) in items {
                for version in versions { decision.consider(name, version.candidate(for: purpose)) }
            }
            return decision.result
        }
    }

    /// The model of `classify` requests without a model name: the fixed one, or the first by name of the image
    /// classifiers that are ready. If none is ready, the first that is loading or that a request would load; the
    /// request waits for it. Nil if no model qualifies.
    public var defaultClassifier: String? {
        guard case .model(let name, isAvailable: true) = defaultModel(for: .classification) else { return nil }
        return name
    }

    /// Fixes ``defaultClassifier``: it stays the same, regardless of added models, as long as it can answer.
    /// - Returns: the model before and now, if it had to change; otherwise nil.
    @discardableResult
    package func resolveDefault() -> (before: String, now: String?)? {
        let before = resolvedDefault.withLock { $0 }
        let now = defaultClassifier
        resolvedDefault.withLock { $0 = now ?? before }
        guard let before, before != now else { return nil }
        return (before, now)
    }
}

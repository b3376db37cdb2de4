internal import Synchronization

extension ModelRepository {
    /// The model that a route means which names none. ``DefaultModel/Decision`` decides.
    /// - Parameter configured: the model of the settings; empty for none.
    package func defaultModel(for purpose: DefaultModel.Purpose, configured: String = "") -> DefaultModel {
        let settled = purpose == .classification ? settledDefault.withLock { $0 } : nil
        return items.withLock { items in
            var decision = DefaultModel.Decision(purpose, configured: configured, settled: settled)
            // Asked by every request that names no model: mostly the one of before is meant, and no other needs to be
            // looked at.
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

    /// The model of `classify` without a name: the one that was chosen, or the first by name of the image classifiers
    /// that are ready. If none is ready, the first that is loading or that a request would load; the request waits for
    /// it. Nil if there is none.
    public var defaultClassifier: String? {
        guard case .model(let name, isAvailable: true) = defaultModel(for: .classification) else { return nil }
        return name
    }

    /// From now on ``defaultClassifier`` stays the same, whatever models are added, as long as it can be asked.
    /// - Returns: what it was before and is now, where it had to change.
    @discardableResult
    package func settleDefault() -> (before: String, now: String?)? {
        let before = settledDefault.withLock { $0 }
        let now = defaultClassifier
        settledDefault.withLock { $0 = now ?? before }
        guard let before, before != now else { return nil }
        return (before, now)
    }
}

internal import FlowControl
internal import Inference
internal import Synchronization

extension ModelRepository {
    /// True if all models that must be ready are ready: ``missing(for:)`` is empty.
    public func isReady(when condition: ReadyCondition = .all) -> Bool { missing(for: condition).isEmpty }

    /// A model that is not ready although it must be.
    public struct Missing: Sendable, Hashable {
        /// Its name; empty if the repository has no model at all.
        public let name: String
        /// The state of the version that would answer, failed if none may; nil if the model does not exist.
        public let state: ModelState?
        /// The time for which that version has been loading; nil if it is not loading, or is queued.
        public let loadingTime: Duration?
    }

    /// The models that must be ready but are not, sorted by name.
    ///
    /// A lazy model that has not failed counts as ready: the first request loads it. A model that a client has unloaded
    /// does not count, unless the condition names it.
    public func missing(for condition: ReadyCondition) -> [Missing] {
        let rollouts = rollouts.withLock { $0.mapValues(\.view) }
        return items.withLock { items in
            let models = Dictionary(
                uniqueKeysWithValues: items.map { name, versions in
                    let ascending = versions.map { ($0, $0.order) }.sorted { $0.1 < $1.1 }
                    return (name, ascending.map { ($0.0, $0.0.situation(in: rollouts[name])) })
                })
            func isServing(_ name: String) -> Bool {
                models[name].map { VersionSituation.isServing($0.map(\.1)) } ?? false
            }
            let missing: [String] =
                switch condition {
                // Without a model nothing can be answered.
                case .all where models.isEmpty, .any where models.isEmpty: [""]
                case .all: models.filter { !VersionSituation.isUpToDate($0.value.map(\.1)) }.map(\.key)
                case .any: models.keys.contains(where: isServing) ? [] : Array(models.keys)
                case .models(let names): names.filter { !isServing($0) }
                }
            return missing.sorted().map { name in
                let versions = models[name] ?? []
                let record = VersionSituation.answering(versions.map(\.1)).map { versions[$0].0.record }
                // The model has versions, but none may serve.
                let reason = versions.isEmpty ? nil : rollouts[name]?.absence
                let state = record?.state ?? reason.map { .failed(reason: $0) }
                return Missing(name: name, state: state, loadingTime: record?.loadingTime)
            }
        }
    }

    /// The utilization of the busiest model: predictions that hold a slot or wait for one, over its slots. 0 if no
    /// model is ready.
    package var utilization: Double {
        let models = items.withLock { $0.values.joined().compactMap(\.readyModel) }
        return models.map { model in
            let limiter = model.limiter.snapshot
            return Double(limiter.inFlight + limiter.waiting) / Double(max(1, limiter.limit))
        }.max() ?? 0
    }
}

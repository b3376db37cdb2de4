internal import FlowControl
internal import Synchronization

extension ModelRepository {
    /// Whether all models that must be ready are ready: ``missing(for:)`` is empty.
    public func isReady(when condition: ReadyCondition = .all) -> Bool { missing(for: condition).isEmpty }

    /// A model that is not ready although it must be.
    public struct Missing: Sendable, Hashable {
        /// Its name.
        public let name: String
        /// The state of its highest version; nil if there is no such model.
        public let state: ModelState?
    }

    /// The models that must be ready but are not, by name.
    ///
    /// A lazy model that has not failed counts as ready: the first request loads it. A model that a client has unloaded does not
    /// count, unless the condition names it.
    public func missing(for condition: ReadyCondition) -> [Missing] {
        items.withLock { items in
            func highest(_ name: String) -> ModelVersion? {
                items[name]?.filter { !$0.isLeaving }.max { $0.order < $1.order }
            }
            func isServing(_ name: String) -> Bool {
                guard let highest = highest(name) else { return false }
                return items[name]?.contains { $0.readyModel != nil } ?? false
                    || highest.policy == .lazy && highest.isToCome
            }
            /// With the condition `all` the highest version counts. While it replaces a version whose files are gone, that
            /// one answers.
            func isUpToDate(_ name: String) -> Bool {
                guard let highest = highest(name) else { return true }
                return highest.policy == .lazy || highest.readyModel != nil || highest.isHeldBack
                    || items[name]?.contains { $0.isLeaving && $0.readyModel != nil } ?? false
            }
            let missing: [String] =
                switch condition {
                case .all: items.keys.filter { !isUpToDate($0) }
                case .any: items.keys.contains(where: isServing) ? [] : Array(items.keys)
                case .models(let names): names.filter { !isServing($0) }
                }
            return missing.sorted().map { Missing(name: $0, state: highest($0)?.record.state) }
        }
    }

    /// How busy the busiest model is: predictions that hold a slot or wait for one, over its slots. 0 if no model is ready.
    package var utilization: Double {
        let models = items.withLock { $0.values.joined().compactMap(\.readyModel) }
        return models.map { model in
            let limiter = model.limiter.snapshot
            return Double(limiter.inFlight + limiter.waiting) / Double(max(1, limiter.limit))
        }.max() ?? 0
    }
}

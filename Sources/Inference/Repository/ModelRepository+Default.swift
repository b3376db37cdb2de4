internal import Synchronization

// Which model a request means that names none. One whose model.json is not finished (`$decide`) is not meant: it is
// asked by its name.

extension ModelRepository {
    /// The model of `classify` without a name: the one that was chosen, or the first by name of the image classifiers that are ready.
    /// If none is ready, the first that is loading or that a request would load; the request waits for it. Nil if there is
    /// none.
    public var defaultClassifier: String? {
        if let settled = settledDefault.withLock({ $0 }), isDefault(settled) { return settled }
        return first { ($0.readyModel?.isImageClassifier ?? false) && !$0.facts.isUndecided }
            ?? first { $0.facts.classifiesPictures && !$0.facts.isUndecided && $0.isToCome }
    }

    /// The same for models that find things: the one that a route without a name means. What lazy models without model.json do is known
    /// when they are loaded: one of these comes last, and may turn out to do something else.
    /// - Parameter preferred: the model that is used if it does this, ready or not.
    package func defaultModel(for task: ObservationTask, preferring preferred: String = "") -> String? {
        first { $0.name == preferred && ($0.facts.tasks.contains(task) || $0.facts.isUndetermined && $0.isToCome) }
            ?? first { ($0.readyModel?.tasks.contains(task) ?? false) && !$0.facts.isUndecided }
            ?? first { $0.facts.tasks.contains(task) && !$0.facts.isUndecided && $0.isToCome }
            ?? first { $0.facts.isUndetermined && $0.isToCome }
    }

    /// Of the image classifiers that cannot be asked, because they were unloaded or failed, the first by name.
    package var unavailableClassifier: String? { first { $0.facts.classifiesPictures && !$0.facts.isUndecided } }

    /// The same for models that find things.
    package func unavailableModel(for task: ObservationTask) -> String? {
        first { $0.facts.tasks.contains(task) && !$0.facts.isUndecided }
    }

    /// The first by name that would be meant if its model.json were finished.
    /// - Parameter task: nil for classifiers.
    package func undecidedModel(for task: ObservationTask?) -> String? {
        first { item in
            item.facts.isUndecided && (task.map { item.facts.tasks.contains($0) } ?? item.facts.classifiesPictures)
        }
    }

    /// The first by name that has a version that fits.
    private func first(_ fits: (ModelVersion) -> Bool) -> String? {
        items.withLock { items in
            // Asked by every request that names no model: no table is built for the answer.
            var first: String?
            for (name, versions) in items where first.map({ name < $0 }) ?? true {
                if versions.contains(where: fits) { first = name }
            }
            return first
        }
    }

    /// True if a model may be the one that `classify` without a name uses.
    private func isDefault(_ name: String) -> Bool {
        items.withLock { items in
            items[name]?.contains {
                !$0.facts.isUndecided
                    && ($0.readyModel?.isImageClassifier ?? false
                        || $0.facts.classifiesPictures && ($0.isToCome || $0.isComingBack))
            } ?? false
        }
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

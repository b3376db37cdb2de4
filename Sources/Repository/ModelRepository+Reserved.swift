internal import Synchronization

/// Names that are reserved for other uses: models of these names are not served.
extension ModelRepository {
    struct Reserved: Sendable {
        var names: Set<String> = []
        /// The paths of models that were found under reserved names.
        var hidden: [String: String] = [:]
        /// True if stages of pipelines may name taught models.
        var allowsTaughtStages = false
    }

    /// Allows stages of pipelines to name taught models: a pipeline is then served although no model has the name of a
    /// stage that classifies, because a taught model has it, or may get it later.
    package func allowTaughtStages() { reserved.withLock { $0.allowsTaughtStages = true } }

    var allowsTaughtStages: Bool { reserved.withLock { $0.allowsTaughtStages } }

    /// Reserves names. Call it before the first ``discover()``.
    package func reserve(_ names: [String]) { reserved.withLock { $0.names.formUnion(names) } }

    /// Reserves a name from now on; false if a model has it. A placeholder gives its name up, and is hidden.
    package func reserve(_ name: String) -> Bool {
        items.withLock { items in
            let versions = items[name] ?? []
            guard versions.allSatisfy(\.isPlaceholder) else { return false }
            reserved.withLock { reserved in
                reserved.names.insert(name)
                reserved.hidden[name] = versions.first?.path
            }
            items[name] = nil
            return true
        }
    }

    /// Releases a reserved name.
    /// - Returns: true if a model of this name was hidden; the next ``discover()`` finds it.
    @discardableResult
    package func release(_ name: String) -> Bool {
        reserved.withLock { reserved in
            reserved.names.remove(name)
            return reserved.hidden.removeValue(forKey: name) != nil
        }
    }

    /// True if a name is reserved.
    func isReserved(_ name: String) -> Bool { reserved.withLock { $0.names.contains(name) } }

    /// The path of a model that is not served because its name is reserved; nil if no such model was found.
    package func hiddenModel(named name: String) -> String? { reserved.withLock { $0.hidden[name] } }

    /// Replaces all models by those found, except those with reserved names.
    func replace(_ found: [String: [ModelVersion]]) {
        items.withLock { items in
            reserved.withLock { reserved in
                let hidden = found.filter { reserved.names.contains($0.key) }
                reserved.hidden = hidden.compactMapValues { $0.first?.path }
                items = found.filter { !reserved.names.contains($0.key) }
            }
        }
    }
}

internal import Synchronization

/// Names that belong to others than the repository: models of these names are not served.
extension ModelRepository {
    struct Reserved: Sendable {
        var names: Set<String> = []
        /// The paths of models that were found under them.
        var hidden: [String: String] = [:]
    }

    /// Keeps names for others: before anything is discovered.
    package func reserve(_ names: [String]) { reserved.withLock { $0.names.formUnion(names) } }

    /// Keeps a name for others from now on; false if a model has it.
    package func reserve(_ name: String) -> Bool {
        items.withLock { items in
            guard items[name]?.isEmpty ?? true else { return false }
            reserved.withLock { _ = $0.names.insert(name) }
            return true
        }
    }

    /// Gives a name back.
    /// - Returns: true if a model would have had it, which ``discover()`` finds now.
    @discardableResult
    package func release(_ name: String) -> Bool {
        reserved.withLock { reserved in
            reserved.names.remove(name)
            return reserved.hidden.removeValue(forKey: name) != nil
        }
    }

    /// The path of a model that is not served because its name is kept for others; nil if there is none.
    package func hiddenModel(named name: String) -> String? { reserved.withLock { $0.hidden[name] } }

    /// Takes what was found as the models from now on, but for those whose names are kept.
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

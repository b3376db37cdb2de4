/// Decides which known models stay when the folders are scanned, and which entries are new.
///
/// A model is gone when its files are gone. If that cannot be determined, because a folder cannot be read, it stays.
struct RepositoryScan {
    /// The models from now on, by name.
    private(set) var items: [String: [ModelVersion]] = [:]
    private let known: [String: [ModelVersion]]

    init(known: [String: [ModelVersion]]) { self.known = known }

    /// Keeps the known versions of an entry; false if none was known.
    mutating func keep(_ entry: RepositoryScanner.Found) -> Bool {
        guard let failure = entry.failure else {
            guard let same = known[entry.name]?.first(where: { $0.path == entry.path && !$0.isUnreadable })
            else { return false }
            same.unreadable = nil
            same.isRetiring = false
            add(same)
            return true
        }
        let below = known.values.joined().filter { $0.path == entry.path || $0.path.hasPrefix(entry.path + "/") }
        let models = below.filter { !$0.isUnreadable }
        // Versions that answer come first: of two with the same number the first is kept.
        let ordered = models.filter { $0.readyModel != nil } + models.filter { $0.readyModel == nil }
        let kept = models.isEmpty ? below.filter { $0.path == entry.path } : ordered
        for item in kept {
            item.unreadable = ModelVersion.Unreadable(path: entry.path, failure: failure)
            item.isRetiring = false
            add(item)
        }
        return !kept.isEmpty
    }

    /// Keeps the known versions at a path, regardless of the state of their files.
    mutating func keep(at path: String) {
        for item in known.values.joined() where item.path == path {
            item.isRetiring = false
            add(item)
        }
    }

    /// Adds a new version. A new version of a model that was unloaded on request is not served either.
    mutating func add(new item: ModelVersion) {
        if let others = known[item.name], !others.isEmpty, others.allSatisfy(\.isManuallyUnloaded) {
            item.unload(unloadsManually: true)
        }
        add(item)
    }

    /// Adds a version. Of two with the same name and number the first is used; a placeholder of an unreadable folder
    /// takes no model's place.
    private mutating func add(_ item: ModelVersion) {
        let isThere = items[item.name, default: []].contains {
            $0 === item
                || $0.numbered == item.numbered && !$0.isUnreadable && !item.isUnreadable
        }
        if !isThere { items[item.name, default: []].append(item) }
    }

    /// Keeps versions with missing files while a new version of the model has yet to be loaded: swapping a mount (the
    /// `..data` link of a ConfigMap) may change file names or version numbers, and requests must not fail meanwhile.
    mutating func keepUntilReplaced() {
        for item in dropped where item.readyModel != nil {
            // Only in the same folder: if the settings name another folder, its model replaces the old one at once.
            guard let successors = items[item.name]?.filter({ !$0.isRetiring }),
                successors.contains(where: { $0.folder == item.folder }),
                successors.allSatisfy({ $0.readyModel == nil && !$0.isManuallyUnloaded })
            else { continue }
            item.isRetiring = true
            items[item.name]?.append(item)
        }
    }

    /// True if a model of this name was ready before the scan.
    func answers(_ name: String) -> Bool { known[name]?.contains { $0.readyModel != nil } ?? false }

    /// Keeps the known versions of a name if the scan found none: a model of `model` is never dropped, but waited for.
    mutating func keepIfMissing(named name: String) {
        guard items[name]?.isEmpty ?? true, let before = known[name] else { return }
        for item in before {
            item.isRetiring = false
            add(item)
        }
    }

    /// The versions that were known and no longer exist.
    var dropped: [ModelVersion] {
        let kept = Set(items.values.joined().map(ObjectIdentifier.init))
        return known.values.joined().filter { !kept.contains(ObjectIdentifier($0)) }
    }
}

/// What becomes of the models that are known when the folders are looked through: which stay, and which are new.
///
/// A model is gone when its files are gone. Where that is unknown, because a folder cannot be read, it stays.
struct RepositoryLook {
    /// The models from now on, by name.
    private(set) var slots: [String: [ModelSlot]] = [:]
    private let known: [String: [ModelSlot]]

    init(known: [String: [ModelSlot]]) { self.known = known }

    /// Keeps what is known of an entry. Tells whether something was.
    mutating func keep(_ entry: RepositoryScanner.Found) -> Bool {
        guard let failure = entry.failure else {
            guard let same = known[entry.name]?.first(where: { $0.path == entry.path && !$0.standsForUnreadable })
            else { return false }
            same.unreadable = nil
            same.isLeaving = false
            add(same)
            return true
        }
        let below = known.values.joined().filter { $0.path == entry.path || $0.path.hasPrefix(entry.path + "/") }
        let models = below.filter { !$0.standsForUnreadable }
        // Those that answer first: of two with one version the first is kept.
        let ordered = models.filter { $0.readyModel != nil } + models.filter { $0.readyModel == nil }
        let kept = models.isEmpty ? below.filter { $0.path == entry.path } : ordered
        for slot in kept {
            slot.unreadable = ModelSlot.Unreadable(path: entry.path, failure: failure)
            slot.isLeaving = false
            add(slot)
        }
        return !kept.isEmpty
    }

    /// Keeps what is known at a path, whatever has become of it.
    mutating func keep(at path: String) {
        for slot in known.values.joined() where slot.path == path {
            slot.isLeaving = false
            add(slot)
        }
    }

    /// Adds a new one. A new version of a model that was unloaded on request is not served either.
    mutating func add(new slot: ModelSlot) {
        if let others = known[slot.name], !others.isEmpty, others.allSatisfy(\.isHeldBack) { slot.holdBack() }
        add(slot)
    }

    /// Of two with one name and version the first counts; what stands for a folder that cannot be read takes no model's
    /// place.
    private mutating func add(_ slot: ModelSlot) {
        let isThere = slots[slot.name, default: []].contains {
            $0 === slot
                || $0.numbered == slot.numbered && !$0.standsForUnreadable && !slot.standsForUnreadable
        }
        if !isThere { slots[slot.name, default: []].append(slot) }
    }

    /// Keeps versions whose files are gone, where a new version of the model has yet to be loaded: a mount that is swapped (the
    /// `..data` link of a ConfigMap) may bring other names of files, or another number, and requests must not fail meanwhile.
    mutating func keepUntilReplaced() {
        for slot in dropped where slot.readyModel != nil {
            // Only in the same place: where the settings name another folder, its model counts at once.
            guard let successors = slots[slot.name]?.filter({ !$0.isLeaving }),
                successors.contains(where: { $0.folder == slot.folder }),
                successors.allSatisfy({ $0.readyModel == nil && !$0.isHeldBack })
            else { continue }
            slot.isLeaving = true
            slots[slot.name]?.append(slot)
        }
    }

    /// Whether a model of a name answered before.
    func answers(_ name: String) -> Bool { known[name]?.contains { $0.readyModel != nil } ?? false }

    /// Keeps what was known of a name where nothing has taken its place: what `model` names is never gone, but awaited.
    mutating func keepIfNone(named name: String) {
        guard slots[name]?.isEmpty ?? true, let before = known[name] else { return }
        for slot in before {
            slot.isLeaving = false
            add(slot)
        }
    }

    /// Those that were known and are no more.
    var dropped: [ModelSlot] {
        let kept = Set(slots.values.joined().map(ObjectIdentifier.init))
        return known.values.joined().filter { !kept.contains(ObjectIdentifier($0)) }
    }
}

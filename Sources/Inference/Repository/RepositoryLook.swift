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
            add(same)
            return true
        }
        let below = known.values.joined().filter { $0.path == entry.path || $0.path.hasPrefix(entry.path + "/") }
        let models = below.filter { !$0.standsForUnreadable }
        let kept = models.isEmpty ? below.filter { $0.path == entry.path } : models
        for slot in kept {
            slot.unreadable = ModelSlot.Unreadable(path: entry.path, failure: failure)
            add(slot)
        }
        return !kept.isEmpty
    }

    /// Keeps what is known at a path, whatever has become of it.
    mutating func keep(at path: String) {
        for slot in known.values.joined() where slot.path == path { add(slot) }
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

    /// Those that were known and are no more.
    var dropped: [ModelSlot] {
        let kept = Set(slots.values.joined().map(ObjectIdentifier.init))
        return known.values.joined().filter { !kept.contains(ObjectIdentifier($0)) }
    }
}

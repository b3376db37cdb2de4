internal import Drift
internal import Settings
internal import SystemSupport

/// The monitors of models and their versions, as a plain value. Bounded: the oldest make room.
struct DriftTable: Sendable {
    /// The maximum number of monitors, and of those of one model.
    static let most = 1_000, mostOfModel = 4

    struct Key: Hashable, Sendable {
        let model: String, version: String
    }

    /// One picture that was answered.
    struct Picture: Sendable {
        let observation: DriftObservation
        let client: UInt64
        /// The number of the model that ran.
        let model: UInt64
        /// Seconds since 1970, and nanoseconds of the monotonic clock.
        let time: Int, instant: UInt64
        let u: Double
    }

    /// The changes that a picture caused.
    struct Taken: Sendable {
        /// True for the first picture of a version since the start.
        var isNew = false
        /// True if another model ran than for the pictures before.
        var isNewModel = false
        /// The monitor if its state is another now.
        var changed: DriftMonitor?
    }

    private struct Entry: Sendable {
        var monitor: DriftMonitor
        var files = ""
        var model: UInt64?
        var lastUse: UInt64 = 0
        var isChanged = false
        var clients = RecentClients()
    }

    private var entries: [Key: Entry] = [:]
    private var removed: Set<Key> = []
    private(set) var plan: DriftMonitor.Plan
    /// `drift_every` in nanoseconds.
    private var every: UInt64
    /// When the daemon started, in seconds since 1970.
    private let start: Int

    init(_ settings: Settings, at start: Int) {
        (plan, every, self.start) = (Self.plan(settings), Self.every(settings), start)
    }

    mutating func use(_ settings: Settings) { (plan, every) = (Self.plan(settings), Self.every(settings)) }

    private static func plan(_ settings: Settings) -> DriftMonitor.Plan {
        .init(reference: settings.driftReference, pictures: Double(settings.driftPictures))
    }

    private static func every(_ settings: Settings) -> UInt64 {
        UInt64(max(0, min(settings.driftEvery, 1e9)) * 1e9)
    }

    /// Takes the states that were kept on the disk.
    mutating func restore(_ record: DriftRecord) {
        let key = Key(model: record.model, version: record.version)
        makeRoom(for: key)
        entries[key] = Entry(monitor: record.monitor, files: record.files)
    }

    // MARK: Pictures

    mutating func take(_ picture: Picture, of key: Key) -> Taken {
        var taken = Taken()
        if entries[key] == nil {
            makeRoom(for: key)
            entries[key] = Entry(monitor: DriftMonitor(at: picture.time))
        }
        let (plan, every) = (plan, every)
        // Changed in its place: a copy would copy all counts.
        func take(_ entry: inout Entry) {
            taken.isNew = entry.model == nil
            taken.isNewModel = entry.model != picture.model
            (entry.model, entry.lastUse) = (picture.model, picture.instant)
            guard every == 0 || entry.clients.counts(picture.client, at: picture.instant, every: every) else { return }
            entry.isChanged = true
            if entry.monitor.observe(picture.observation, at: picture.time, u: picture.u, plan: plan) {
                taken.changed = entry.monitor
            }
        }
        take(&entries[key, default: Entry(monitor: DriftMonitor(at: picture.time))])
        return taken
    }

    private mutating func makeRoom(for key: Key) {
        let versions = entries.keys.filter { $0.model == key.model }
        let oldest: Key? =
            versions.count >= Self.mostOfModel
            ? versions.min { lastUse($0) < lastUse($1) }
            : entries.count >= Self.most ? entries.keys.min { lastUse($0) < lastUse($1) } : nil
        if let oldest { remove(oldest) }
        removed.remove(key)
    }

    private func lastUse(_ key: Key) -> UInt64 { entries[key]?.lastUse ?? 0 }

    private mutating func remove(_ key: Key) {
        entries[key] = nil
        removed.insert(key)
    }

    /// Begins anew if a reference is of other files. Files that are not known yet become those of the reference.
    /// - Returns: true if it begins anew.
    mutating func compare(_ files: String, of key: Key, model: UInt64, at time: Int) -> Bool {
        guard let entry = entries[key], entry.model == model, entry.files != files else { return false }
        let isOther = !entry.files.isEmpty
        if isOther { entries[key]?.monitor = DriftMonitor(at: time) }
        entries[key]?.files = files
        entries[key]?.isChanged = true
        return isOther
    }

    // MARK: Answers

    /// The names of models with a monitor, in their order.
    var names: [String] { Set(entries.keys.map(\.model)).sorted() }

    /// The version of the monitor that is shown: the one that serves, otherwise the one that answered last.
    private func shown(_ name: String, _ serving: String?) -> Key? {
        if let serving { return Key(model: name, version: serving) }
        return entries.keys.filter { $0.model == name }.max { lastUse($0) < lastUse($1) }
    }

    func monitor(of name: String, serving: String?) -> DriftMonitor {
        shown(name, serving).flatMap { entries[$0]?.monitor } ?? DriftMonitor(at: start)
    }

    mutating func learnAnew(_ name: String, serving: String?, at time: Int) {
        guard let key = shown(name, serving) else { return }
        if entries[key] == nil {
            makeRoom(for: key)
            entries[key] = Entry(monitor: DriftMonitor(at: time))
        }
        entries[key]?.monitor = DriftMonitor(at: time)
        entries[key]?.isChanged = true
    }

    mutating func forget(_ name: String) {
        for key in entries.keys.filter({ $0.model == name }) { remove(key) }
    }

    // MARK: Files

    /// The monitors that have changed since the last call, and those that are gone.
    mutating func takeChanges() -> (changed: [DriftRecord], removed: [Key]) {
        var changed: [DriftRecord] = []
        for (key, entry) in entries where entry.isChanged {
            changed.append(
                DriftRecord(model: key.model, version: key.version, files: entry.files, monitor: entry.monitor))
        }
        for record in changed { entries[Key(model: record.model, version: record.version)]?.isChanged = false }
        defer { removed = [] }
        return (changed, Array(removed))
    }

    /// Marks a monitor that could not be written.
    mutating func retry(_ key: Key) { entries[key]?.isChanged = true }
}

/// When each client had its last picture counted. At most 4,096 clients: a new one beyond them does not count, so that
/// never more pictures count than asked for.
struct RecentClients: Sendable {
    static let most = 4_096

    /// The nanosecond of the last picture that counted.
    private var last: [UInt64: UInt64] = [:]
    /// The nanosecond from which on a client can be forgotten.
    private var nextRoom: UInt64 = 0

    init() {}

    /// Returns whether a picture counts, and notes it.
    mutating func counts(_ client: UInt64, at now: UInt64, every: UInt64) -> Bool {
        if let before = last[client] {
            guard now >= before, now - before >= every else { return false }
        } else if last.count >= Self.most {
            guard now >= nextRoom else { return false }
            last = last.filter { now < $0.value || now - $0.value < every }
            let (room, overflow) = (last.values.min() ?? now).addingReportingOverflow(every)
            nextRoom = overflow ? .max : room
            guard last.count < Self.most else { return false }
        }
        last[client] = now
        return true
    }
}

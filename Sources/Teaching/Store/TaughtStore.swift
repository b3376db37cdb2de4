internal import Glibc
internal import SystemSupport

/// The taught models in a folder, which only one process may use at a time. Methods that change them block.
package final class TaughtStore: Sendable {
    private let folder: String
    private let limits: Guarded<TeachingLimits>
    private let total = ByteTotal()
    private let room: ReservedDiskSpace
    private let models = Guarded<[String: TaughtModel]>([:])
    /// Held while a model is created or removed, so only threads that may block take it.
    private let changing = Guarded<Void>(())
    /// The lock file, open as long as the store: its lock excludes other processes.
    private let lock: Descriptor
    /// The folders that could not be read, with the reasons.
    package var problems: [String: String] { unreadable.withLock { $0 } }
    private let unreadable: Guarded<[String: String]>
    /// Sentences for the log: damage found when the files were opened, and space that could not be reserved.
    package let notices: [String]

    /// Opens a folder, creates it if necessary, and completes operations that a kill interrupted.
    package init(folder: String, limits: TeachingLimits = TeachingLimits()) throws(TeachingError) {
        self.folder = folder
        self.limits = Guarded(limits)
        room = ReservedDiskSpace(folder: folder)
        try Folders.create(folder)
        lock = try Descriptor(folder + "/.lock", O_RDWR | O_CREAT | O_CLOEXEC)
        guard lock.lock() else {
            throw .storage("\(folder) is in use by another process: two daemons cannot share a `taught_dir`")
        }
        var found: [String: TaughtModel] = [:], problems: [String: String] = [:], notices: [String] = []
        for name in try Folders.names(in: folder) {
            if name.hasPrefix(Self.unfinished) { try Folders.remove(folder + "/" + name) }
            guard TaughtNames.isName(name) else { continue }
            let path = folder + "/" + name
            do throws(TeachingError) {
                let (model, cut) = try Self.open(name, path, total, room, self.limits)
                found[name] = model
                if let cut { notices.append("taught \(name): \(cut.sentence)") }
            } catch { problems[name] = error.message }
            total.change(by: Folders.bytes(in: path))
        }
        for model in found.values { model.compactIfOvergrown() }
        do throws(TeachingError) {
            try room.set(found.values.map(\.mostLength).max() ?? 0, since: room.holds)
        } catch {
            notices.append("no room is reserved for requests that forget: \(error.message)")
        }
        self.notices = notices
        unreadable = Guarded(problems)
        let all = found
        models.withLock { $0 = all }
    }

    /// The prefix of folders that are being created or removed.
    private static let unfinished = ".unfinished-"

    private static func open(
        _ name: String, _ path: String, _ total: ByteTotal, _ room: ReservedDiskSpace, _ limits: Guarded<TeachingLimits>
    ) throws(TeachingError) -> (model: TaughtModel, cut: TruncatedEnd?) {
        unlink(path + "/journal" + JournalFile.unfinished)
        var replayed: TaughtState?
        let (journal, cut) = try JournalFile.open(path + "/journal", room) { $0.apply(to: &replayed) }
        guard var state = replayed else { throw .storage("\(path)/journal has no records") }
        state.keepVersions(limits.withLock { $0.versions })
        state.dropUnusedClasses()
        try KeptPictures.clean(state, in: path)
        let model = TaughtModel(
            name: name, folder: path, journal: journal, state: state, total: total, room: room, limits: limits)
        return (model, cut)
    }

    /// Changes the limits; existing data stays.
    package func set(limits new: TeachingLimits) { limits.withLock { $0 = new } }

    /// All taught models, sorted by name.
    package var all: [TaughtModel] {
        let models = models.withLock { $0 }
        return models.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    package func model(_ name: String) -> TaughtModel? { models.withLock { $0[name] } }

    /// The size of all files in bytes.
    package var bytes: Int { total.value }

    /// Reserves bytes for other code's files in the folder, which are in a hidden subfolder.
    package func take(_ bytes: Int) throws(TeachingError) {
        try total.take(bytes, limit: limits.withLock { $0.bytes })
    }

    /// Counts bytes of such files that exist already; negative for removed ones.
    package func count(_ bytes: Int) { total.change(by: bytes) }

    /// Creates a taught model. `isNew` is false if it exists already with the same embedder and method.
    package func create(
        _ name: String, _ embedder: Embedder, dimension: Int, _ choice: MethodChoice, grid: PatchGrid? = nil
    ) throws(TeachingError) -> (model: TaughtModel, isNew: Bool) {
        try TaughtNames.check(name: name)
        var outcome: Result<TaughtModel, TeachingError>?
        var isNew = false
        changing.withLock { _ in
            do throws(TeachingError) {
                if let old = model(name) {
                    try Self.compare(name, old.view.state, embedder: embedder.model, choice)
                    outcome = .success(old)
                } else {
                    let state = TaughtState(embedder: embedder, dimension: dimension, choice: choice, grid: grid)
                    let made = try make(name, state, count: all.count)
                    models.withLock { $0[name] = made }
                    isNew = true
                    outcome = .success(made)
                }
            } catch { outcome = .failure(error) }
        }
        guard let outcome else { throw .storage("\(name) was not created") }
        return (try outcome.get(), isNew)
    }

    /// Throws `conflict` if a taught model was created with another embedder or method.
    package static func compare(
        _ name: String, _ state: TaughtState, embedder: String, _ choice: MethodChoice
    ) throws(TeachingError) {
        guard state.embedder.model == embedder else {
            throw .conflict(
                "\(name) is taught with the embedder \(state.embedder.model), not \(embedder): delete it first, or use another name"
            )
        }
        if let found = state.choice.falseAlarms, let wanted = choice.falseAlarms, found != wanted {
            throw .conflict(
                "\(name) has \"false_alarms\" of \(found), not \(wanted): delete it first, or use another name")
        }
        guard state.choice == choice else {
            throw .conflict(
                "\(name) has the method \(state.choice.name), not \(choice.name): delete it first, or use another name"
            )
        }
    }

    private func make(_ name: String, _ state: TaughtState, count: Int) throws(TeachingError) -> TaughtModel {
        let limits = limits.withLock { $0 }
        guard problems[name] == nil else {
            throw .conflict("\(folder)/\(name) could not be read: \(problems[name] ?? "")")
        }
        guard count < limits.models else {
            throw .full(
                "there are \(count) taught models: `taught_max_models` is \(limits.models); delete one, or raise it")
        }
        let records = JournalRecord.all(of: state)
        let bytes = records.reduce(64) { $0 + JournalFile.length(of: $1) }
        try total.take(bytes, limit: limits.bytes)
        let path = folder + "/" + name, unfinished = folder + "/" + Self.unfinished + name
        do throws(TeachingError) {
            try Folders.remove(unfinished)
            try Folders.create(unfinished)
            if let unsynced = try JournalFile.write(records, to: unfinished + "/journal", room).unsynced {
                throw unsynced
            }
            try room.hold(JournalFile.mostLength(JournalFile.length(of: records), examples: 0))
            try Folders.rename(unfinished, path)
            let made = try Self.open(name, path, total, room, self.limits).model
            total.change(by: Folders.bytes(in: path) - bytes)
            return made
        } catch {
            total.change(by: -bytes)
            try? Folders.remove(unfinished)
            throw error
        }
    }

    /// Removes a taught model with all its files.
    package func remove(_ name: String) throws(TeachingError) {
        var problem: TeachingError?
        changing.withLock { _ in
            do throws(TeachingError) { try removeUnlocked(name) } catch { problem = error }
        }
        if let problem { throw problem }
    }

    private func removeUnlocked(_ name: String) throws(TeachingError) {
        let model = model(name)
        // An unreadable model can be removed too.
        guard model != nil || problems[name] != nil else { throw .unknown("there is no taught model \(name)") }
        let path = folder + "/" + name, unfinished = folder + "/" + Self.unfinished + name
        let bytes = Folders.bytes(in: path)
        let move = { () throws(TeachingError) in
            try Folders.remove(unfinished)
            try Folders.rename(path, unfinished)
        }
        if let model { try model.retire(move) } else { try move() }
        unreadable.withLock { problems in _ = problems.removeValue(forKey: name) }
        models.withLock { models in _ = models.removeValue(forKey: name) }
        try Folders.remove(unfinished)
        try Folders.sync(folder)
        total.change(by: -bytes)
        let holds = room.holds
        try? room.set(all.map(\.mostLength).max() ?? 0, since: holds)
    }
}

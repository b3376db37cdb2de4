public import EngineAPI
public import Inference
internal import Synchronization
public import SystemSupport

/// Finds the models of some folders, loads them on demand, and returns them by name and version.
///
/// Sendable and not an actor: getting a ready model takes one short lock.
public final class ModelRepository: Sendable {
    /// An event of a model, for the log and the metrics.
    public enum Event: Sendable {
        /// A version is ready.
        case loaded(name: String, version: String, report: LoadReport)
        /// A version was compiled for single-stream predictions, or that failed, or the compiled variant was released.
        case singleStreamVariant(name: String, version: String, report: SingleStreamReport)
        /// A version could not be loaded; an older one of the same name keeps serving. If the bundle is invalid,
        /// `problems` lists all its errors.
        case failed(name: String, version: String, reason: String, problems: [BundleProblem] = [])
        /// A version is served, but it has a likely mistake, which `text` describes.
        case advice(name: String, version: String, text: String)
        /// A version stays loaded in a reload: neither its files nor its configuration have changed.
        case unchanged(name: String, version: String)
        /// A version stays unchanged in a reload because its files cannot be read; `why` states the error and the
        /// remedy.
        case keptUnreadable(name: String, version: String, why: String)
        /// A version stays unloaded in a reload because it was unloaded on request.
        case manuallyUnloaded(name: String, version: String)
        /// A new bundle in a watched folder is incomplete; it is checked again when it has changed.
        case incompleteBundle(name: String, reason: String)
        /// A step of a model's rollout, as a sentence.
        case rollout(name: String, state: String, text: String)
        /// A version is no longer loaded.
        case unloaded(name: String, version: String, why: String)
    }

    /// The models to look for, and the settings to load them with.
    private struct Plan: Sendable {
        var folders: [String]
        var named: [NamedModel]
        var configuration: ModelConfiguration
        var defaultPolicy: LoadPolicy
        /// The folder of versions created by updates; nil if no updates are served.
        var updates: String?

        init(
            folders: [String], named: [NamedModel], configuration: ModelConfiguration, defaultPolicy: LoadPolicy,
            updates: String? = nil
        ) {
            self.folders = folders.map(FilePath.absolute)
            (self.named, self.configuration, self.defaultPolicy) = (named, configuration, defaultPolicy)
            self.updates = updates
        }
    }
    private let gate: LoadGate
    private let plan: Mutex<Plan>
    let onEvent: @Sendable (Event) -> Void
    private let scanner: RepositoryScanner
    /// The time after a failed load of a lazy version after which it is tried again, while a lower one answers.
    private let retryTime: Duration
    let items = Mutex<[String: [ModelVersion]]>([:])
    /// Names that models must not have.
    let reserved = Mutex(Reserved())
    /// The rollouts of the models that were found, by name.
    let rollouts = Mutex<[String: ModelRollout]>([:])
    /// The folder for the state of models (`state_dir`); nil if not set.
    package let stateFolder: String?
    /// The model for `classify` requests without a model name; nil until it is determined.
    let resolvedDefault = Mutex<String?>(nil)
    /// Held during a scan: of two concurrent scans, the later one would replace a version that the other has just
    /// created and begun to load.
    private let discovering = Mutex(())

    /// A repository of the models in some folders; nothing is read before ``discover()``.
    /// - Parameters:
    ///   - folders: the model folders; if two models have the same name, the one in the first folder is used.
    ///   - named: named models, which take precedence over those of the folders.
    ///   - configuration: how to load models, unless their bundle specifies it.
    ///   - defaultPolicy: when to load models, unless their bundle specifies it.
    ///   - loadsAtOnce: the maximum number of parallel loads; others wait, the cheapest first. A load that takes longer
    ///     than a few seconds no longer counts.
    ///   - stateFolder: the folder for rollouts of models whose own folder is not writable; nil if not set.
    ///   - onEvent: called for loads, failures and unloads, from any thread.
    /// Wide: the options of a repository, most with defaults.
    public convenience init(
        folders: [String], named: [NamedModel] = [], configuration: ModelConfiguration,
        defaultPolicy: LoadPolicy = .eager, loadsAtOnce: Int = 1, stateFolder: String? = nil,
        onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        self.init(
            folders: folders, named: named, configuration: configuration, defaultPolicy: defaultPolicy,
            loadsAtOnce: loadsAtOnce, stateFolder: stateFolder, reader: .disk, onEvent: onEvent)
    }

    /// Serves the versions created by updates and stored in a folder, from the next ``discover()`` on.
    func serveUpdates(in folder: String) { plan.withLock { $0.updates = folder } }

    /// The folder of versions created by updates; nil if updates are not kept.
    var updatesFolder: String? { plan.withLock { $0.updates } }

    /// The configuration of loads, unless a bundle overrides it.
    var configuration: ModelConfiguration { plan.withLock { $0.configuration } }

    /// A repository with another way to read folders, and with other times.
    /// - Parameters:
    ///   - patience: the time of a load after which it no longer delays others.
    ///   - answerTime: the maximum time for reading a folder.
    ///   - retryTime: the time after a failed load of a lazy version after which it is tried again, while a lower one
    ///     answers.
    // Many parameters because tests set the times; the public initializer takes only the settings.
    // Wide: the options of a repository, most with defaults.
    package init(
        folders: [String], named: [NamedModel] = [], configuration: ModelConfiguration,
        defaultPolicy: LoadPolicy = .eager, loadsAtOnce: Int = 1, patience: Duration = .seconds(5),
        answerTime: Duration = .seconds(30), retryTime: Duration = .seconds(60), stateFolder: String? = nil,
        reader: FolderReader,
        onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        plan = Mutex(
            Plan(folders: folders, named: named, configuration: configuration, defaultPolicy: defaultPolicy))
        scanner = RepositoryScanner(files: reader, patience: answerTime)
        gate = LoadGate(limit: loadsAtOnce, patience: patience)
        self.retryTime = retryTime
        self.stateFolder = stateFolder
        self.onEvent = onEvent
    }

    /// Replaces the folders, as ``discover()`` does, and the settings of later loads. Loaded models stay unchanged
    /// until they are loaded again. The folders are read once: blocks.
    /// - Throws: if folders cannot be read; then nothing has changed.
    public func reconfigure(
        folders: [String], named: [NamedModel] = [], configuration: ModelConfiguration, defaultPolicy: LoadPolicy,
        loadsAtOnce: Int = 1
    ) throws(RepositoryError) {
        let next = Plan(
            folders: folders, named: named, configuration: configuration, defaultPolicy: defaultPolicy,
            updates: updatesFolder)
        try discover(among: nil, ignoring: [], by: next) {
            self.gate.use(limit: loadsAtOnce)
            self.plan.withLock { $0 = next }
            for item in self.allVersions {
                item.use(configuration, defaultPolicy: defaultPolicy)
            }
        }
    }

    // MARK: Finding

    /// Scans the folders. New models and versions are added, those whose files are gone are dropped (their requests are
    /// finished first), and known ones stay unchanged. If a subfolder cannot be read, its known models stay; if it
    /// has none, a failed placeholder is added. Reads files: blocks.
    /// - Throws: if the folders themselves cannot be read; then nothing has changed.
    public func discover() throws(RepositoryError) { try discover(among: nil, ignoring: []) }

    /// Scans the folders, and changes only some entries.
    /// - Parameters:
    ///   - paths: entries that have stopped changing: a new one that is not a complete bundle is not added. nil adds
    ///     all entries.
    ///   - others: entries to skip: known ones stay, new ones are not added.
    ///   - next: the folders and models to look for; nil for the present plan.
    ///   - beforeTakingIn: called after the folders have been read, before anything changes.
    func discover(among paths: Set<String>?, ignoring others: Set<String>) throws(RepositoryError) {
        try discover(among: paths, ignoring: others, by: nil) {}
    }

    private func discover(
        among paths: Set<String>?, ignoring others: Set<String>, by next: Plan?, beforeTakingIn: () -> Void
    ) throws(RepositoryError) {
        let result = discovering.withLock { _ -> Result<Void, RepositoryError> in
            Result { () throws(RepositoryError) in
                let found = try scan(next ?? plan.withLock { $0 })
                try refuseTakeOver(found, of: next ?? plan.withLock { $0 })
                beforeTakingIn()
                take(found, among: paths, ignoring: others)
            }
        }
        try result.get()
    }

    /// Refuses a model folder that has become a bundle because a model.json was added to it: all models served from it
    /// would be dropped although their files still exist.
    private func refuseTakeOver(_ found: [RepositoryScanner.Found], of plan: Plan) throws(RepositoryError) {
        let known = allVersions
        // A path of `model` may become a bundle: its name stays the same.
        let named = Set(plan.named.map(\.name))
        for entry in found where entry.path == entry.folder && !named.contains(entry.name) {
            let inside = known.filter {
                $0.path.hasPrefix(entry.folder + "/") && (try? scanner.files.kind($0.path)) != .missing
            }
            guard !inside.isEmpty else { continue }
            let names = Set(inside.map(\.name)).sorted()
            throw RepositoryError(
                folder: entry.folder,
                problem:
                    "has a model.json now, which makes all of it one bundle, while \(names.prefix(5).joined(separator: ", "))"
                    + "\(names.count > 5 ? ", ..." : "") in it \(names.count == 1 ? "is" : "are") served: put the model that it "
                    + "describes into its own folder")
        }
    }

    private func take(
        _ found: [RepositoryScanner.Found], among paths: Set<String>?, ignoring others: Set<String>
    ) {
        let plan = plan.withLock { $0 }
        var scan = RepositoryScan(known: items.withLock { $0 })
        let named = Set(plan.named.map(\.name))
        for entry in found where !scan.keep(entry) {
            guard !others.contains(entry.path) else { continue }
            // A model of `model` that does not answer yet may fail, so that the reason is reported: it is waited for.
            let isAwaited = named.contains(entry.name) && !scan.answers(entry.name)
            guard paths == nil || isAwaited || isWhole(entry) else { continue }
            scan.add(
                new: ModelVersion(
                    found: entry, configuration: plan.configuration, defaultPolicy: plan.defaultPolicy, gate: gate,
                    serves: { [weak self] in self?.serves($0, $1) ?? false }))
        }
        let there = Set(found.map(\.path))
        for path in others where !there.contains(path) { scan.keep(at: path) }
        scan.keepUntilReplaced()
        for name in named { scan.keepIfMissing(named: name) }
        readRollouts(of: scan.items)
        replace(scan.items)
        for item in scan.dropped where item.unload() {
            onEvent(.unloaded(name: item.name, version: item.version, why: "\(item.path) is gone"))
        }
        // The descriptions in bundles may have changed too, except in those that are being copied.
        for item in scan.items.values.joined().filter({ !$0.isRetiring })
        where paths?.contains(item.path) ?? true && !others.contains(item.path) && item.unreadable == nil {
            item.readFacts()
        }
    }

    /// Finds the models of a plan. Explicitly named models come first: their names take precedence.
    private func scan(_ plan: Plan) throws(RepositoryError) -> [RepositoryScanner.Found] {
        var found = LoaderThread.map(plan.named) { [scanner] in scanner.scanInTime($0) }.flatMap { $0 }
        let taken = Set(plan.named.map(\.name))
        var problems: [String] = []
        for folder in plan.folders {
            do throws(RepositoryError) {
                // An unreadable entry does not claim its name: another model of that name may be served meanwhile.
                for entry in try scanner.scanInTime(folder) where !taken.contains(entry.name) {
                    let isThere = found.contains {
                        $0.name == entry.name && $0.version == entry.version && $0.failure == nil
                    }
                    if entry.failure != nil || !isThere { found.append(entry) }
                }
            } catch {
                problems.append(error.message)
            }
        }
        guard problems.isEmpty else { throw RepositoryError(message: problems.joined(separator: "; ")) }
        guard let updates = plan.updates else { return found }
        // An update of a model without its own files is not served.
        let names = Set(found.map(\.name))
        return found + scanner.updatesInTime(updates).filter { names.contains($0.name) }
    }

    /// The entries of the folders that are not served, each with the reason. Reads the folders: blocks.
    package var leftOut: [String] {
        let plan = plan.withLock { $0 }
        guard let found = try? scan(plan) else { return [] }
        return plan.folders.flatMap { scanner.leftOut(of: $0, found: found) }
    }

    /// The entries of a folder that is not itself a bundle: the paths of those that are served, and the others, each
    /// with the reason; both are empty if it cannot be read. Blocks.
    package static func contents(of folder: String) -> (served: [String], leftOut: [String]) {
        let repository = ModelRepository(folders: [folder], configuration: ModelConfiguration())
        guard let found = try? repository.scan(repository.plan.withLock { $0 }) else { return ([], []) }
        return (
            found.map(\.path).filter { $0 != folder }, repository.scanner.leftOut(of: folder, found: found)
        )
    }

    /// The bundles and model files that a named model's path contains; the path itself if it contains none. Blocks.
    package static func entries(of model: NamedModel) -> [String] { RepositoryScanner().models(at: model) }

    /// The models that a path of the command line means, each with its number if it is a version: the newest version is
    /// the last. Blocks.
    package static func versions(at path: String) -> [(number: String?, path: String)] {
        RepositoryScanner().scan(NamedModel(at: path)).map { ($0.version, $0.path) }
    }

    /// True if a new entry is complete; an incomplete one is reported and ignored.
    private func isWhole(_ entry: RepositoryScanner.Found) -> Bool {
        if let failure = entry.failure {
            onEvent(.incompleteBundle(name: entry.name, reason: "\(entry.path) cannot be read: \(failure.reason)"))
            return false
        }
        let links = plan.withLock { $0.configuration.links }
        let problem = LoaderThread.wait(within: BundleFacts.patience, on: entry.path) { () -> String? in
            do throws(InferenceError) {
                _ = try ModelBundle(path: entry.path, links: links)
                return nil
            } catch {
                return error.message
            }
        }
        guard let reason = problem ?? "\(entry.path) \(BundleFacts.silence)" else { return true }
        onEvent(.incompleteBundle(name: entry.name, reason: reason))
        return false
    }

    /// The state of an entry of the folders, and the reason it cannot be read, if any.
    struct EntryStamp: Sendable, Equatable {
        /// nil if the file system does not answer.
        let files: BundleStamp?
        let failure: FileFailure?
    }

    /// The present state of the folders' entries, by path. Reads the folders: blocks.
    func stamps() throws(RepositoryError) -> [String: EntryStamp] {
        let found = try scan(plan.withLock { $0 })
        let stamps = found.map { entry -> (String, EntryStamp) in
            let files =
                entry.failure == RepositoryScanner.silence
                ? nil
                : LoaderThread.wait(within: BundleFacts.patience, on: entry.path) { BundleStamp(path: entry.path) }
            return (
                entry.path,
                EntryStamp(files: files, failure: files == nil ? RepositoryScanner.silence : entry.failure)
            )
        }
        let rollouts = Set(found.compactMap(\.place)).map { place -> (String, EntryStamp) in
            let path = place + "/" + RolloutFile.name
            let files = LoaderThread.wait(within: BundleFacts.patience, on: path) { BundleStamp(path: path) }
            return (path, EntryStamp(files: files, failure: nil))
        }
        return Dictionary(stamps + rollouts) { first, _ in first }
    }

    // MARK: Handing out

    /// Returns a ready model. A lazy one is loaded first; concurrent callers wait for the same load.
    /// - Parameters:
    ///   - version: a version or label; nil for the version that serves.
    ///   - deadline: the end of the wait for a load; the load continues after it, for later requests.
    public func model(
        named name: String, version: String? = nil, deadline: MonotonicInstant? = nil
    ) async throws(InferenceError) -> Model {
        var item = try find(name, version: version)
        while true {
            if let model = item.readyModel { return model }
            do throws(InferenceError) {
                return try await load(item, deadline: deadline)
            } catch {
                // If the request has no version, the next version answers. Each attempt leaves one more version failed,
                // so the loop ends.
                guard version == nil, case .modelNotReady = error, let next = try? find(name, version: nil),
                    next !== item
                else { throw error }
                item = next
            }
        }
    }

    /// A model if it is ready now; never waits.
    public func readyModel(named name: String, version: String? = nil) throws(InferenceError) -> Model? {
        try find(name, version: version).readyModel
    }

    /// Decides whether requests for a name go to a model. It gets that model, or nil if there is no model of the name.
    private func serves(_ name: String, _ model: Model?) -> Bool {
        guard let model else { return versions(of: name).isEmpty }
        return (try? readyModel(named: name)) === model
    }

    // MARK: Versions

    /// Every version of every model, in no order.
    var allVersions: [ModelVersion] { items.withLock { Array($0.values.joined()) } }

    /// The versions of a model, without those that answer only until they are replaced.
    func versions(of name: String) -> [ModelVersion] {
        items.withLock { $0[name]?.filter { !$0.isRetiring } ?? [] }
    }

    /// The highest version of a model, ready or not.
    func highest(of name: String) throws(InferenceError) -> ModelVersion {
        guard let highest = versions(of: name).max(by: { $0.order < $1.order }) else {
            throw .modelNotFound(name: name, known: names)
        }
        return highest
    }

    /// The version that answers a request: the one that serves, or the one that is named, by its number or a label.
    func find(_ name: String, version: String?) throws(InferenceError) -> ModelVersion {
        let versions = items.withLock { $0[name] ?? [] }
        let rollout = version == nil ? rollouts.withLock { $0[name] }?.barring : nil
        // Most models have one version, and most requests have no version.
        if version == nil, rollout == nil, versions.count == 1, let only = versions.first, !only.isRetiring {
            return only
        }
        let highest = try highest(of: name)
        guard let word = version else {
            let ascending = versions.sorted { $0.order < $1.order }
            let situations = ascending.map { $0.situation(in: rollout) }
            guard let answering = VersionSituation.answering(situations) else {
                guard let rollout else { return highest }
                throw .modelNotReady(name: name, reason: rollout.absence)
            }
            // Retry failed higher versions in the background, as their cause may have passed; the lower one keeps
            // answering.
            for index in ascending.indices[(answering + 1)...]
            where situations[index].mayServe && ascending[index].isDueAgain(after: retryTime) {
                retryLoad(ascending[index], after: retryTime)
            }
            return ascending[answering]
        }
        let version = number(for: word, of: name)
        // Two versions may have the same number while one replaces the other.
        let same = versions.filter { $0.version == version }
        guard let item = same.first(where: { $0.readyModel != nil }) ?? same.first else {
            throw .versionNotFound(name: name, version: word, known: versions.map(\.version))
        }
        return item
    }
}

internal import FlowControl
internal import ImagePipeline
internal import Synchronization
public import SystemSupport

/// The models of some folders, by name and version: finds them, loads them when they are wanted, and hands them out.
///
/// Sendable and not an actor: asking for a model that is ready takes one short lock.
public final class ModelRepository: Sendable {
    /// Something that happened to a model, for the log and the metrics.
    public enum Event: Sendable {
        /// A version is ready.
        case loaded(name: String, version: String, report: LoadReport)
        /// A version has been compiled once more for lone predictions, or could not be, or that variant was released.
        case loneVariant(name: String, version: String, report: LoneReport)
        /// A version could not be loaded; an older one of the same name goes on serving. The reason holds all problems of the
        /// bundle, where it is the bundle's.
        case failed(name: String, version: String, reason: String, problems: [BundleProblem] = [])
        /// A version is served, though something looks like a mistake, which was seen when it was used.
        case advice(name: String, version: String, text: String)
        /// A version stays loaded in a reload: neither its files nor its configuration have changed.
        case unchanged(name: String, version: String)
        /// A version stays as it is in a reload because its files cannot be read: what is wrong, and what to do.
        case leftAsItIs(name: String, version: String, why: String)
        /// A version stays unloaded in a reload: it was unloaded on request.
        case heldBack(name: String, version: String)
        /// A new bundle in a watched folder is not whole: it is looked at again when it has changed.
        case leftAlone(name: String, reason: String)
        /// A version is no longer loaded.
        case unloaded(name: String, version: String, why: String)
    }

    /// What is looked for and how it is loaded.
    private struct Plan: Sendable {
        var folders: [String]
        var named: [NamedModel]
        var configuration: ModelConfiguration
        var defaultPolicy: LoadPolicy
    }
    private let gate: LoadGate
    private let plan: Mutex<Plan>
    private let onEvent: @Sendable (Event) -> Void
    private let scanner: RepositoryScanner
    private let items = Mutex<[String: [ModelVersion]]>([:])
    /// What `classify` without a name means, once that has been settled.
    private let settledDefault = Mutex<String?>(nil)
    /// Held while the folders are looked through: of two that do so at once, the later one would put its own version in the
    /// place of one that the other has just made and begun to load.
    private let discovering = Mutex(())

    /// A repository of the models in some folders; nothing is read before ``discover()``.
    /// - Parameters:
    ///   - folders: where models are looked for; of two models with one name the first folder's counts.
    ///   - named: models with a name of their own, which win over those of the folders.
    ///   - configuration: how models are loaded that do not say it themselves.
    ///   - defaultPolicy: when models are loaded that do not say it themselves.
    ///   - loadsAtOnce: loads that run at a time; the others wait.
    ///   - onEvent: called for loads, failures and unloads, from any thread.
    public convenience init(
        folders: [String], named: [NamedModel] = [], configuration: ModelConfiguration,
        defaultPolicy: LoadPolicy = .eager, loadsAtOnce: Int = 1,
        onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        self.init(
            folders: folders, named: named, configuration: configuration, defaultPolicy: defaultPolicy,
            loadsAtOnce: loadsAtOnce,
            reader: .disk, onEvent: onEvent)
    }

    /// The same, with folders that are looked into by other means.
    package init(
        folders: [String], named: [NamedModel] = [], configuration: ModelConfiguration,
        defaultPolicy: LoadPolicy = .eager, loadsAtOnce: Int = 1,
        reader: FolderReader, onEvent: @escaping @Sendable (Event) -> Void = { _ in }
    ) {
        plan = Mutex(
            Plan(folders: folders, named: named, configuration: configuration, defaultPolicy: defaultPolicy))
        scanner = RepositoryScanner(files: reader)
        gate = LoadGate(limit: loadsAtOnce)
        self.onEvent = onEvent
    }

    /// Looks elsewhere, as ``discover()`` does, and loads otherwise from now on. Models that are loaded stay as they are until they
    /// are loaded again. The folders are read once: blocks.
    /// - Throws: the folders that cannot be read; nothing has changed then.
    public func reconfigure(
        folders: [String], named: [NamedModel] = [], configuration: ModelConfiguration, defaultPolicy: LoadPolicy,
        loadsAtOnce: Int = 1
    ) throws(RepositoryError) {
        let next = Plan(folders: folders, named: named, configuration: configuration, defaultPolicy: defaultPolicy)
        try discover(among: nil, leavingAlone: [], by: next) {
            self.gate.use(limit: loadsAtOnce)
            self.plan.withLock { $0 = next }
            for item in self.items.withLock({ Array($0.values.joined()) }) {
                item.use(configuration, defaultPolicy: defaultPolicy)
            }
        }
    }

    // MARK: Finding

    /// Looks into the folders. New models and versions are added, those that are gone are dropped (what they hold is
    /// finished first), and known ones stay as they are. Where a folder inside them cannot be read, nothing is gone: the
    /// models of it that are known stay, and where none is, there is one that has failed. Reads files: blocks.
    /// - Throws: the folders that cannot be read themselves; nothing has changed then.
    public func discover() throws(RepositoryError) { try discover(among: nil, leavingAlone: []) }

    /// The same for some entries.
    /// - Parameters:
    ///   - paths: entries that are known to be whole, if they are bundles at all: a new one that is not is not added. nil
    ///     adds all there are.
    ///   - others: entries of which nothing is to be done: known ones stay, new ones are not added.
    ///   - next: where to look; nil for the places of before.
    ///   - beforeTakingIn: called when the folders have been read, and before anything changes.
    func discover(among paths: Set<String>?, leavingAlone others: Set<String>) throws(RepositoryError) {
        try discover(among: paths, leavingAlone: others, by: nil) {}
    }

    private func discover(
        among paths: Set<String>?, leavingAlone others: Set<String>, by next: Plan?, beforeTakingIn: () -> Void
    ) throws(RepositoryError) {
        let result = discovering.withLock { _ -> Result<Void, RepositoryError> in
            do throws(RepositoryError) {
                let found = try scan(next ?? plan.withLock { $0 })
                try refuseTakeOver(found, of: next ?? plan.withLock { $0 })
                beforeTakingIn()
                take(found, among: paths, leavingAlone: others)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        try result.get()
    }

    /// A folder of models that has become a bundle, because a model.json was put into it, would drop all that is served from
    /// it, though nothing of that is gone.
    private func refuseTakeOver(_ found: [RepositoryScanner.Found], of plan: Plan) throws(RepositoryError) {
        let known = items.withLock { Array($0.values.joined()) }
        // What `model` names may become a bundle: its name stays the same.
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
        _ found: [RepositoryScanner.Found], among paths: Set<String>?, leavingAlone others: Set<String>
    ) {
        let plan = plan.withLock { $0 }
        var look = RepositoryLook(known: items.withLock { $0 })
        let named = Set(plan.named.map(\.name))
        for entry in found where !look.keep(entry) {
            guard !others.contains(entry.path) else { continue }
            // A model of `model` that does not answer yet may as well fail, and say why: it is waited for.
            let isAwaited = named.contains(entry.name) && !look.answers(entry.name)
            guard paths == nil || isAwaited || isWhole(entry) else { continue }
            look.add(
                new: ModelVersion(
                    found: entry, configuration: plan.configuration, defaultPolicy: plan.defaultPolicy, gate: gate))
        }
        let there = Set(found.map(\.path))
        for path in others where !there.contains(path) { look.keep(at: path) }
        look.keepUntilReplaced()
        for name in named { look.keepIfNone(named: name) }
        items.withLock { $0 = look.items }
        for item in look.dropped where item.unload() {
            onEvent(.unloaded(name: item.name, version: item.version, why: "\(item.path) is gone"))
        }
        // What bundles say of themselves may have changed too, but for those that are being copied.
        for item in look.items.values.joined().filter({ !$0.isLeaving })
        where paths?.contains(item.path) ?? true && !others.contains(item.path) && item.unreadable == nil {
            item.readFacts()
        }
    }

    /// What there is. Models that the plan names come first: their names win.
    private func scan(_ plan: Plan) throws(RepositoryError) -> [RepositoryScanner.Found] {
        var found = plan.named.flatMap { scanner.scan($0) }
        let taken = Set(plan.named.map(\.name))
        var problems: [String] = []
        for folder in plan.folders {
            do throws(RepositoryError) {
                // One that cannot be read has no claim to its name: another of that name may be served meanwhile.
                for entry in try scanner.scan(folder) where !taken.contains(entry.name) {
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
        return found
    }

    /// What lies in the folders and is not served, each with the reason. Reads the folders: blocks.
    package var leftOut: [String] {
        let plan = plan.withLock { $0 }
        guard let found = try? scan(plan) else { return [] }
        return plan.folders.flatMap { scanner.leftOut(of: $0, found: found) }
    }

    /// The bundles and model files of a folder that is not itself one; none where it cannot be read. Blocks.
    package static func entries(of folder: String) -> [String] {
        ((try? RepositoryScanner().scan(folder)) ?? []).map(\.path).filter { $0 != folder }
    }

    /// The bundles and model files that a named model's path contains; the path itself if it contains none. Blocks.
    package static func entries(of model: NamedModel) -> [String] { RepositoryScanner().models(at: model) }

    /// Whether a new entry has all its parts; one that has not is reported and ignored.
    private func isWhole(_ entry: RepositoryScanner.Found) -> Bool {
        if let failure = entry.failure {
            onEvent(.leftAlone(name: entry.name, reason: "\(entry.path) cannot be read: \(failure.reason)"))
            return false
        }
        do throws(InferenceError) {
            _ = try ModelBundle(path: entry.path, links: plan.withLock { $0.configuration.links })
            return true
        } catch {
            onEvent(.leftAlone(name: entry.name, reason: error.message))
            return false
        }
    }

    /// What an entry of the folders looks like, and why it cannot be looked into, where it cannot.
    struct EntryStamp: Sendable, Equatable {
        let files: BundleStamp
        let failure: FileFailure?
    }

    /// What the entries of the folders look like now, by path. Reads the folders: blocks.
    func stamps() throws(RepositoryError) -> [String: EntryStamp] {
        let found = try scan(plan.withLock { $0 })
        let stamps = found.map { ($0.path, EntryStamp(files: BundleStamp(path: $0.path), failure: $0.failure)) }
        return Dictionary(stamps) { first, _ in first }
    }

    /// Loads every model whose policy is `eager` and that is not loaded; failures are reported as events and states.
    public func loadEager() async {
        for item in items.withLock({ Array($0.values.joined()) }).sorted(by: { $0.name < $1.name })
        where !isOutOfReach(item) && item.policy == .eager && item.isHighest(among: versions(of: item.name)) {
            _ = try? await load(item)
        }
    }

    // MARK: Handing out

    /// A model that is ready. A lazy one is loaded now; all who ask meanwhile wait for the one load.
    /// - Parameters:
    ///   - version: nil for the highest.
    ///   - deadline: until when a load is waited for; it goes on after that, for the next who ask.
    public func model(
        named name: String, version: String? = nil, deadline: MonotonicInstant? = nil
    ) async throws(InferenceError) -> Model {
        let item = try find(name, version: version)
        if let model = item.readyModel { return model }
        return try await load(item, deadline: deadline)
    }

    /// A model if it is ready now; never waits.
    public func readyModel(named name: String, version: String? = nil) throws(InferenceError) -> Model? {
        try find(name, version: version).readyModel
    }

    /// The name of the model that `classify` without a name means: of the image classifiers that are ready, the first by
    /// name, until it is settled. Where none is ready, the first that is being loaded or would be for a request: the first request waits for
    /// it. Nil where there is none of these either.
    public var defaultClassifier: String? {
        if let settled = settledDefault.withLock({ $0 }), isDefault(settled) { return settled }
        return first { $0.readyModel?.isImageClassifier ?? false }
            ?? first { $0.facts.classifiesPictures && $0.isToCome }
    }

    /// The same for models that find things: the one that a route without a name means.
    package func defaultModel(for task: ObservationTask) -> String? {
        first { $0.readyModel?.tasks.contains(task) ?? false } ?? first { $0.facts.tasks.contains(task) && $0.isToCome }
    }

    /// Of the image classifiers that cannot be asked, because they were unloaded or failed, the first by name.
    package var unavailableClassifier: String? { first { $0.facts.classifiesPictures } }

    /// The same for models that find things.
    package func unavailableModel(for task: ObservationTask) -> String? { first { $0.facts.tasks.contains(task) } }

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

    /// Whether a model may be the one that `classify` without a name means.
    private func isDefault(_ name: String) -> Bool {
        items.withLock { items in
            items[name]?.contains {
                $0.readyModel?.isImageClassifier ?? false
                    || $0.facts.classifiesPictures && ($0.isToCome || $0.isComingBack)
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

    /// Every version of every model, by name, versions ascending.
    public var records: [ModelRecord] {
        items.withLock { Array($0.values.joined()) }
            .sorted { ($0.name, $0.order) < ($1.name, $1.order) }
            .map(\.record)
    }

    /// The names of all models.
    public var names: [String] { items.withLock { $0.keys.sorted() } }

    /// Whether the models that must be ready are: ``missing(for:)`` is empty.
    public func isReady(when condition: ReadyCondition = .all) -> Bool { missing(for: condition).isEmpty }

    /// A model that keeps the whole from being ready.
    public struct Missing: Sendable, Hashable {
        /// Its name.
        public let name: String
        /// The state of its highest version; nil where there is no such model.
        public let state: ModelState?
    }

    /// The models that must be ready and are not, by name.
    ///
    /// A lazy model that has not failed is ready: the first request loads it. A model that a client has unloaded is not waited
    /// for, unless the condition names it.
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
            /// With the condition `all` the highest version counts. While it loads in the place of one whose files are gone, that
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

    /// How busy the busiest model is: predictions that hold a slot or wait for one, over its slots. 0 where no model is ready.
    package var utilization: Double {
        let models = items.withLock { $0.values.joined().compactMap(\.readyModel) }
        return models.map { model in
            let limiter = model.limiter.snapshot
            return Double(limiter.inFlight + limiter.waiting) / Double(max(1, limiter.limit))
        }.max() ?? 0
    }

    // MARK: Loading by request

    /// Reloads a model beside the old one and switches when it is ready; the old one finishes what it holds. One that was
    /// unloaded is served again, with all its versions.
    public func reload(_ name: String) async throws(InferenceError) {
        // Not the one that answers: where the highest has failed, it is the one to be tried again.
        let highest = try highest(of: name)
        for item in versions(of: name) { item.release() }
        _ = try await load(highest, again: true, bringsBack: true)
    }

    /// Reloads every version that is loaded, or should be, beside the old one; see ``reload(_:)``. One of which neither
    /// files nor configuration have changed since it was loaded stays as it is; one whose last load failed is tried again.
    /// What was unloaded on request stays so, and so do models whose files cannot be read now.
    public func reloadAll() async { await reload { _ in true } }

    /// The same for the versions at some places; those that are already loaded are not reported.
    func reload(at paths: Set<String>) async {
        await reload(tellsUnchanged: false) { item in
            paths.contains(item.path) || item.unreadable.map { paths.contains($0.path) } ?? false
        }
    }

    private func reload(tellsUnchanged: Bool = true, where isMeant: (ModelVersion) -> Bool) async {
        for name in names {
            let versions = versions(of: name)
            for item in versions where isMeant(item) {
                if item.isHeldBack {
                    if tellsUnchanged { onEvent(.heldBack(name: name, version: item.version)) }
                    continue
                }
                if isOutOfReach(item) { continue }
                guard item.readyModel != nil || item.policy == .eager && item.isHighest(among: versions) else {
                    item.forgetFailure()
                    continue
                }
                if await item.isCurrent {
                    if tellsUnchanged { onEvent(.unchanged(name: name, version: item.version)) }
                } else {
                    // A failure is an event, and the old model keeps serving.
                    _ = try? await load(item, again: true)
                }
            }
        }
    }

    /// Whether nothing can be loaded or reloaded because the files cannot be read, which is an event.
    private func isOutOfReach(_ item: ModelVersion) -> Bool {
        guard let reason = item.unreadable?.reason else { return false }
        if item.readyModel != nil {
            onEvent(.leftAsItIs(name: item.name, version: item.version, why: reason))
        } else if item.standsForUnreadable, !item.isHeldBack {
            onEvent(.failed(name: item.name, version: item.version, reason: reason, problems: []))
        } else {
            return item.standsForUnreadable
        }
        return true
    }

    /// Unloads all versions of a model: requests that it has accepted are finished, later ones are refused until it is
    /// loaded again.
    public func unload(_ name: String) throws(InferenceError) {
        let versions = items.withLock { $0[name] ?? [] }
        guard !versions.isEmpty else { throw .modelNotFound(name: name, known: names) }
        for item in versions where item.unload(holdsBack: true) {
            onEvent(.unloaded(name: item.name, version: item.version, why: "on request"))
        }
    }

    /// Unloads lazy models that have had nothing to do for longer than they are kept; they are loaded again when they
    /// are asked for. Releases variants for lone predictions where none come. To be called now and then.
    public func unloadIdle() {
        for item in items.withLock({ Array($0.values.joined()) }) {
            if item.isIdle, item.unload() {
                onEvent(.unloaded(name: item.name, version: item.version, why: "it was idle"))
            }
            item.readyModel?.releaseUnusedVariant()
        }
    }

    /// Unloads up to so many lazy models, those idle for longest first, for another one that needs their threads, and waits until they
    /// are released: the engine gives their threads to others only then. Returns whether there was one.
    private func unloadIdlest(_ count: Int, for other: ModelVersion) async -> Bool {
        let idle = items.withLock { Array($0.values.joined()) }
            .filter { $0 !== other && $0.policy == .lazy }
            .compactMap { item in item.readyModel.map { (item, $0.idleTime) } }
            .filter { $0.1 > .zero }
            .sorted { $0.1 > $1.1 }
        var released: [Released] = []
        for (item, _) in idle.prefix(count) {
            let model = Released(item.readyModel)
            guard item.unload() else { continue }
            released.append(model)
            let why = "it was idle, and there were no more threads for model \(other.name)"
            onEvent(.unloaded(name: item.name, version: item.version, why: why))
        }
        // Requests that came meanwhile may hold one for long: then the next attempt decides.
        for _ in 0..<100 where released.contains(where: { $0.model != nil }) {
            try? await Task.sleep(for: .milliseconds(10))
        }
        return !released.isEmpty
    }

    /// A model that is to be released.
    private struct Released: Sendable {
        weak let model: Model?
        init(_ model: Model?) { self.model = model }
    }

    /// How often ``unloadIdle()`` is worth a call: a process at rest should sleep.
    package var idleInterval: Duration {
        items.withLock { Array($0.values.joined()) }.contains(where: \.mayIdleOut) ? .seconds(1) : .seconds(10)
    }

    /// When any model last ended a prediction or was loaded; nil where none is loaded.
    package var lastActivity: MonotonicInstant? {
        items.withLock { Array($0.values.joined()) }.compactMap { $0.readyModel?.lastActivity }.max()
    }

    /// Releases what models keep for the next predictions: for when none come.
    package func releaseMemory() {
        for item in items.withLock({ Array($0.values.joined()) }) { item.readyModel?.releaseMemory() }
        ImagePipeline.releaseMemory()
    }

    /// Where the highest version of a model is: its folder or file.
    package func location(of name: String) throws(InferenceError) -> String {
        try highest(of: name).path
    }

    /// The versions of a model, without those that only answer until they are replaced.
    private func versions(of name: String) -> [ModelVersion] {
        items.withLock { $0[name]?.filter { !$0.isLeaving } ?? [] }
    }

    /// Unloads the versions that answered until this one was ready.
    private func dropReplaced(by item: ModelVersion) {
        let replaced = items.withLock { items -> [ModelVersion] in
            guard let versions = items[item.name], versions.contains(where: { $0 === item }) else { return [] }
            items[item.name] = versions.filter { !$0.isLeaving }
            return versions.filter(\.isLeaving)
        }
        for old in replaced where old.unload() {
            let why = "\(old.path) is gone; \(item.path) is served in its place"
            onEvent(.unloaded(name: old.name, version: old.version, why: why))
        }
    }

    private func highest(of name: String) throws(InferenceError) -> ModelVersion {
        guard let highest = versions(of: name).max(by: { $0.order < $1.order }) else {
            throw .modelNotFound(name: name, known: names)
        }
        return highest
    }

    private func find(_ name: String, version: String?) throws(InferenceError) -> ModelVersion {
        let versions = items.withLock { $0[name] ?? [] }
        let highest = try highest(of: name)
        guard let version else {
            // The highest version that answers: one that failed to load leaves the older ones serving.
            let ready = versions.filter { $0.readyModel != nil }.max { $0.order < $1.order }
            let answers = highest.readyModel != nil || highest.policy == .lazy && !highest.hasFailed
            return answers ? highest : ready ?? highest
        }
        // Two may tell the same version while one replaces the other.
        let same = versions.filter { $0.version == version }
        guard let item = same.first(where: { $0.readyModel != nil }) ?? same.first else {
            throw .versionNotFound(name: name, version: version, known: versions.map(\.version))
        }
        return item
    }

    @discardableResult
    private func load(
        _ item: ModelVersion, again: Bool = false, bringsBack: Bool = false, deadline: MonotonicInstant? = nil
    ) async throws(InferenceError) -> Model {
        // The load itself reports how it went, not those who wait for it: all of them may be gone by then.
        let makeRoom: @Sendable (Int) async -> Bool = { await self.unloadIdlest($0, for: item) }
        let outcome = try await item.load(
            again: again, bringsBack: bringsBack, deadline: deadline, makeRoom: makeRoom
        ) {
            self.report($0, of: item)
        }
        switch outcome.result {
        case .success(let model): return model
        case .failure(.modelNotReady(let name, let reason)): throw .modelNotReady(name: name, reason: reason)
        case .failure(let error): throw .modelNotReady(name: item.name, reason: item.shown(error.message))
        }
    }

    private func report(_ outcome: ModelVersion.Outcome, of item: ModelVersion) {
        switch outcome.result {
        case .success(let model):
            let (name, version, onEvent) = (item.name, item.version, onEvent)
            model.lone.whenChanged { onEvent(.loneVariant(name: name, version: version, report: $0)) }
            onEvent(.loaded(name: item.name, version: item.version, report: model.loadReport))
            model.scoreWatch.listen { [onEvent, name = item.name, version = item.version] text in
                onEvent(.advice(name: name, version: version, text: text))
            }
            if outcome.isKept { dropReplaced(by: item) }
            if !outcome.isKept {
                let why = "it was unloaded while it was loading"
                onEvent(.unloaded(name: item.name, version: item.version, why: why))
            }
        case .failure(let error):
            var problems: [BundleProblem] = []
            if case .invalidBundle(_, let all) = error { problems = all }
            onEvent(.failed(name: item.name, version: item.version, reason: error.message, problems: problems))
        }
    }
}

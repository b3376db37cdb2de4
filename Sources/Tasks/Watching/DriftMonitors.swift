internal import Drift
internal import FoundationEssentials
internal import Glibc
package import Inference
package import Repository
package import ServiceCore
package import Settings
internal import Synchronization
internal import SystemSupport
internal import Teaching

/// The monitors for drift of all models, one for each version that answers. It decides which pictures count, keeps the
/// states on the disk, and logs their changes. Thread-safe.
package final class DriftMonitors: AnswerWatcher {
    private let table: Mutex<DriftTable>
    /// The setting `drift`, which every request reads.
    private let isOn: Atomic<Bool>
    private let isStopped = Atomic(false)
    private let repository: ModelRepository
    private let taught: TaughtModels?
    private let files: DriftFiles?
    private let saving = Mutex(())
    private let log: Log

    /// The time between two writes of changed states: a process that is killed loses the pictures since.
    private static let interval = Duration.seconds(30)

    /// Reads the kept states. Blocks.
    package init(_ repository: ModelRepository, taught: TaughtModels?, settings: Settings, log: Log) {
        self.repository = repository
        self.taught = taught
        self.log = log
        isOn = Atomic(settings.drift)
        files = repository.stateFolder.map { DriftFiles(stateFolder: $0) }
        var table = DriftTable(settings, at: Self.now)
        let (records, problems) = files?.read(most: DriftTable.most) ?? ([], [])
        for problem in problems { log.warning("drift: \(problem); its model learns anew") }
        for record in records { table.restore(record) }
        self.table = Mutex(table)
    }

    /// Applies other settings from now on.
    package func use(_ settings: Settings) {
        isOn.store(settings.drift, ordering: .relaxed)
        table.withLock { $0.use(settings) }
    }

    /// Begins to write changed states from time to time.
    package func begin() {
        Task { [weak self] in
            while true {
                try? await Task.sleep(for: Self.interval)
                guard let self, !isStopped.load(ordering: .relaxed) else { return }
                await save()
            }
        }
    }

    /// Writes changed states for the last time.
    package func end() async {
        isStopped.store(true, ordering: .relaxed)
        await save()
    }

    private static var now: Int { max(0, time(nil)) }

    // MARK: Pictures

    package func watches(_ model: Model, named name: String) -> Bool {
        model.watchesDrift ?? isOn.load(ordering: .relaxed)
    }

    package func answered(_ report: AnswerReport) {
        let key = DriftTable.Key(model: report.model, version: report.version), number = report.ran?.number ?? 0
        let picture = DriftTable.Picture(
            observation: DriftObservation(report), client: report.client, model: number, time: Self.now,
            instant: MonotonicInstant.now.nanoseconds, u: Double.random(in: 0..<1))
        let taken = table.withLock { $0.take(picture, of: key) }
        if taken.isNewModel, let model = report.ran { compareFiles(of: model, key) }
        if taken.isNew, files == nil {
            log.warning(
                "drift: references are kept in memory alone, and learned anew after a restart: state_dir is not set",
                repeating: "drift-memory")
        }
        guard let monitor = taken.changed else { return }
        switch monitor.state {
        case .learning: break
        case .steady:
            log.info("model \(key.model): the reference of drift is complete (\(monitor.reference.pictures) pictures)")
        case .drifted: log.warning("model \(key.model) has drifted: \(monitor.finding)")
        }
        Task { await save() }
    }

    /// Begins anew if the files that answer are not those of the reference, although the version has the same name.
    private func compareFiles(of model: Model, _ key: DriftTable.Key) {
        Task {
            guard let digest = await BackgroundThread.run({ model.loadedFilesDigest }) else { return }
            let isOther = table.withLock { $0.compare(digest, of: key, model: model.number, at: Self.now) }
            if isOther {
                log.notice("model \(key.model): its files are others now: the reference of drift is learned anew")
            }
        }
    }

    // MARK: Answers

    /// True if the pictures of a model count: by its `runtime.drift` (for a taught model, by that of its embedder), or
    /// by the setting.
    package func isWatched(_ name: String) -> Bool {
        let owner = taught?.model(name)?.view.state.embedder.model ?? name
        let own = (try? repository.records(of: owner))?.last { $0.model != nil }?.model?.watchesDrift
        return own ?? isOn.load(ordering: .relaxed)
    }

    /// The monitor of the version that answers; one without pictures if no answer has counted.
    func status(of name: String) -> (monitor: DriftMonitor, plan: DriftMonitor.Plan) {
        let serving = serving(name)
        return table.withLock { ($0.monitor(of: name, serving: serving), $0.plan) }
    }

    private func serving(_ name: String) -> String? {
        taught?.servingVersion(of: name) ?? repository.servingVersion(of: name)
    }

    /// Learns the reference of the version that answers from the next pictures.
    func learnAnew(_ name: String) async {
        let serving = serving(name)
        table.withLock { $0.learnAnew(name, serving: serving, at: Self.now) }
        log.notice("model \(name): the reference of drift is learned anew")
        await save()
    }

    /// Forgets a model that is deleted.
    func forget(_ name: String) async {
        table.withLock { $0.forget(name) }
        await save()
    }

    /// The state of each watched model, for metrics, by name.
    package var usage: [DriftUsage] {
        table.withLock { $0.names }.filter(isWatched).map { name in
            let monitor = status(of: name).monitor
            return DriftUsage(
                model: name, hasDrifted: monitor.state == .drifted,
                evidence: monitor.readings.map { ($0.signal.rawValue, $0.evidence) })
        }
    }

    // MARK: Files

    /// Writes changed states on another thread.
    private func save() async {
        guard let files else { return }
        await BackgroundThread.run { [self] in
            saving.withLock { _ in
                let (changed, removed) = table.withLock { $0.takeChanges() }
                for key in removed { files.remove(model: key.model, version: key.version) }
                for record in changed {
                    guard let problem = files.write(record) else { continue }
                    log.warning("drift: \(problem) (will be retried)", repeating: "drift-write")
                    table.withLock { $0.retry(.init(model: record.model, version: record.version)) }
                }
            }
        }
    }
}

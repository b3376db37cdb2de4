internal import Inference
internal import Repository
package import ServiceCore
package import ServicePlanning
internal import Settings
internal import Synchronization

/// Limits the compiled models on disk to `cache_size`: after loading the models at start, after each reload, and after
/// each other load that adds a compiled model.
package final class CompiledModelsLimit: Sendable {
    private struct Limit: Sendable {
        let folder: String?
        let bytes: Int

        init(_ plan: ServicePlan) { (folder, bytes) = (plan.cacheDirectory, plan.settings.cacheSize) }
    }

    private let limit: Mutex<Limit>
    /// The reasons logged since the last compiled model that could be kept: each is logged once.
    private let reported = Mutex<Set<String>>([])
    private let log: Log

    package init(_ plan: ServicePlan, log: Log) {
        limit = Mutex(Limit(plan))
        self.log = log
    }

    /// Applies another folder and size.
    func use(_ plan: ServicePlan) { limit.withLock { $0 = Limit(plan) } }

    /// Removes compiled models over the limit.
    func keep() async {
        let now = limit.withLock { $0 }
        guard let folder = now.folder else { return }
        let pruned = await LoaderThread.run { CompiledModelCache.prune(folder, to: now.bytes) }
        guard pruned.files > 0 else { return }
        log.info("removed \(pruned.files) compiled models from the cache (\(Units.bytes(pruned.bytes)))")
    }

    /// Applies the limit in the background, after a load that is part of neither the start nor a reload. Logs the
    /// reason if the compiled model could not be kept.
    func keep(after event: ModelRepository.Event) {
        switch event {
        case .loaded(let name, _, let report) where !report.isCached:
            Task {
                await check(name, report)
                await keep()
            }
        case .singleStreamVariant(_, _, let report) where report.state == .ready && !report.isCached:
            Task { await keep() }
        default: break
        }
    }

    private func check(_ name: String, _ report: LoadReport) async {
        guard let folder = limit.withLock({ $0 }).folder else { return }
        let seconds = Int(clamping: report.total / 1_000_000_000)
        let obstacle = await LoaderThread.run {
            CompiledModelCache.obstacle(folder, seconds: seconds, bytes: report.fileBytes)
        }
        guard let obstacle else { return reported.withLock { $0 = [] } }
        guard reported.withLock({ $0.insert(obstacle).inserted }) else { return }
        log.warning(
            "model \(name): cannot cache the compiled model in \(folder) (cache_dir): \(obstacle); models are compiled at every "
                + "start until that is fixed")
    }
}

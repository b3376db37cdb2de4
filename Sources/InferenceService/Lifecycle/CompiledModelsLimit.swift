internal import Inference
internal import Settings

/// Keeps the compiled models on disk to `cache_size`: after the models were loaded at start, and after each reload, which adds
/// to them.
enum CompiledModelsLimit {
    /// Removes what is too much.
    static func keep(_ plan: ServicePlan, _ log: Log) async {
        guard let cache = plan.cacheDirectory else { return }
        let most = plan.settings.cacheSize
        let pruned = await LoaderThread.run { CompiledModelCache.prune(cache, to: most) }
        guard pruned.files > 0 else { return }
        log.info("removed \(pruned.files) compiled models from the cache (\(Units.bytes(pruned.bytes)))")
    }
}

internal import Inference

/// Keeps the compiled models on disk to `cache_size`: after the models were loaded at start, and after each reload, which adds
/// to them.
enum CompiledModelsLimit {
    /// Removes what is too much. Blocks: looks at the cache's folder.
    static func keep(_ plan: ServicePlan, _ log: Log) {
        guard let cache = plan.cacheDirectory else { return }
        let pruned = CompiledModelCache.prune(cache, to: plan.settings.cacheSize)
        guard pruned.files > 0 else { return }
        log.info("removed \(pruned.files) compiled models from the cache (\(Units.bytes(pruned.bytes)))")
    }
}

internal import Bundles
internal import ImagePipeline
internal import Inference
internal import Synchronization
package import SystemSupport

extension ModelRepository {
    /// Unloads lazy models with an idle time above the limit; the next request loads them again. Releases unused
    /// variants for single-stream predictions. Call it regularly.
    public func unloadIdle() {
        for item in allVersions {
            if item.isIdle, item.unload() {
                onEvent(.unloaded(name: item.name, version: item.version, why: "it was idle"))
            }
            item.readyModel?.releaseUnusedVariant()
        }
    }

    /// Unloads up to `count` lazy models, the longest idle first, for another model that needs their threads, and waits
    /// until they are released, because the engine frees their threads only then. Returns whether any was unloaded.
    func unloadIdlest(_ count: Int, for other: ModelVersion) async -> Bool {
        let idle =
            allVersions
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
        // Requests that arrived meanwhile may hold a model for long; then the next attempt decides.
        for _ in 0..<100 where released.contains(where: { $0.model != nil }) {
            try? await Task.sleep(for: .milliseconds(10))
        }
        return !released.isEmpty
    }

    /// A weak reference to a model that will be released.
    private struct Released: Sendable {
        weak let model: Model?
        init(_ model: Model?) { self.model = model }
    }

    /// The interval for calling ``unloadIdle()``; long if no model can idle out, because an idle process should sleep.
    package var idleInterval: Duration {
        allVersions.contains(where: \.mayUnloadWhenIdle) ? .seconds(1) : .seconds(10)
    }

    /// The time when any model last ended a prediction or was loaded; nil if none is loaded.
    package var lastActivity: MonotonicInstant? {
        allVersions.compactMap { $0.readyModel?.lastActivity }.max()
    }

    /// Releases the buffers that models keep for the next predictions. Call it when no predictions arrive.
    package func releaseMemory() {
        for item in allVersions { item.readyModel?.releaseMemory() }
        ImagePipeline.releaseMemory()
    }
}

internal import FlowControl
package import Inference
internal import Synchronization

/// Feeds the service manager's watchdog, and only when a prediction has just been made: a process that accepts
/// connections and answers /healthz while its engine is stuck is not alive.
///
/// A model whose streams differ is reloaded with one stream: a restart would help no more, and would end all requests.
///
/// A model whose answer to one of its goldens differs is taken out of service and loaded again; only if it cannot be,
/// or differs again, is the watchdog not fed (``GoldenWatch``): in the latter case never again.
///
/// The canary runs on zeros, beside the limiter of its model and not through it: a daemon that is merely busy is not
/// restarted for it.
package struct Watchdog: Sendable {
    let manager: ServiceManager
    let repository: ModelRepository
    let metrics: ServiceMetrics
    let log: Log
    private let goldens = Goldens()

    package init(manager: ServiceManager, repository: ModelRepository, metrics: ServiceMetrics, log: Log) {
        self.manager = manager
        self.repository = repository
        self.metrics = metrics
        self.log = log
    }

    private final class Goldens: Sendable {
        let state = Mutex(GoldenWatch())
    }

    /// Goes on until the calling task is cancelled. Returns at once if there is no watchdog.
    func run() async {
        guard let interval = manager.watchdogInterval else { return }
        var turn = 0
        while !Task.isCancelled {
            if await isAlive(turn: &turn) { manager.watchdog() }
            // As sd_watchdog_enabled(3) advises: twice in the interval; a third leaves room for a slow canary.
            try? await Task.sleep(for: interval / 3)
        }
    }

    /// Makes one prediction with one of the models that are ready, each in its turn. With none there is nothing that
    /// could be shown, and nothing that a restart would fix.
    /// - Returns: whether the watchdog is to be fed.
    package func isAlive(turn: inout Int) async -> Bool {
        let records = repository.records
        let ready = records.filter { $0.model != nil }.map { GoldenWatch.Version(name: $0.name, version: $0.version) }
        if let broken = goldens.state.withLock({ $0.broken(ready: Set(ready)) }) {
            metrics.add(.canariesFailed)
            log.error(
                "a golden of model \(broken.name), version \(broken.version) differed twice, or the version cannot be loaded "
                    + "since; the watchdog is not notified",
                repeating: "canary")
            return false
        }
        let models = records.compactMap { record in record.model.map { (record.name, record.version, $0) } }
        guard !models.isEmpty else { return true }
        let (name, version, model) = models[turn % models.count]
        turn &+= 1
        do throws(InferenceError) {
            guard let difference = try await model.canary() else {
                return await answersGoldens(GoldenWatch.Version(name: name, version: version), model)
            }
            metrics.add(.canariesFailed)
            log.error(
                "the streams of model \(name) no longer give the same answers: \(difference); reloads it with one stream",
                repeating: "canary")
            // A load may take longer than the interval. Who asks for it again meanwhile joins it, and the repository
            // reports its failure.
            Task { [repository] in try? await repository.reload(servedBy: model) }
            return true
        } catch {
            metrics.add(.canariesFailed)
            log.error(
                "the canary of model \(name) failed: \(error.message); the watchdog is not notified",
                repeating: "canary")
            return false
        }
    }

    /// Compares the model's answer to one of its goldens with the expected one.
    private func answersGoldens(_ version: GoldenWatch.Version, _ model: Model) async -> Bool {
        guard let difference = await model.goldenCanary() else {
            metrics.add(.canariesSucceeded)
            return true
        }
        metrics.add(.canariesFailed)
        let isFirst = goldens.state.withLock { $0.differs(version) }
        log.error(
            "a golden of model \(version.name), version \(version.version) differs: \(difference); "
                + (isFirst ? "loads the version again" : "it did so before; the watchdog is not notified"),
            repeating: "canary")
        // As above: a load may take longer than the interval.
        Task { [repository, goldens] in
            do throws(InferenceError) {
                try await repository.replace(model, because: "a golden differs: \(difference)")
            } catch {
                goldens.state.withLock { $0.reloadFailed(version) }
            }
        }
        return isFirst
    }
}

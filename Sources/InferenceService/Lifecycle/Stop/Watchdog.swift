internal import FlowControl
internal import Inference
package import Repository
package import ServiceCore
internal import Synchronization

/// Feeds the service manager's watchdog, each time only after a successful prediction: a process that accepts
/// connections and answers /healthz while its engine hangs is not alive.
///
/// A model with different answers of its streams is reloaded with one stream: a restart would help no more, and would
/// end all requests.
///
/// A model that differs from one of its goldens is taken out of service and loaded again. Only if that fails, or the
/// answer differs again, is the watchdog not fed (``GoldenWatch``); in the latter case never again.
///
/// The canary runs on zeros and bypasses the model's limiter: a daemon that is only busy is not restarted.
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

    /// Runs until the calling task is cancelled. Returns at once without a watchdog.
    func run() async {
        guard let interval = manager.watchdogInterval else { return }
        var turn = 0
        while !Task.isCancelled {
            if await isAlive(turn: &turn) { manager.watchdog() }
            // sd_watchdog_enabled(3) advises to notify twice in the interval; a third leaves room for a slow canary.
            try? await Task.sleep(for: interval / 3)
        }
    }

    /// Makes one prediction with one of the ready models, in turns. Without a ready model it returns true: a restart
    /// would not help.
    /// - Returns: whether to feed the watchdog.
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
            // Do not wait: a load may take longer than the interval. Further requests join this load, and the
            // repository reports its failure.
            Task { [repository] in try? await repository.reload(servedBy: model) }
            return true
        } catch {
            metrics.add(.canariesFailed)
            let isOfModel = if case .invalidOutput = error { true } else { false }
            log.error(
                "the canary of model \(name) failed: \(error.message)"
                    + (isOfModel ? "" : "; the watchdog is not notified"),
                repeating: "canary")
            // After a restart the model's answer would be the same, unless its goldens agreed before.
            guard isOfModel else { return false }
            return await answersGoldens(GoldenWatch.Version(name: name, version: version), model, hasFailed: true)
        }
    }

    /// Compares the model's answer to one of its goldens with the expected one.
    /// - Parameter hasFailed: whether the canary is already counted as failed.
    private func answersGoldens(
        _ version: GoldenWatch.Version, _ model: Model, hasFailed: Bool = false
    ) async -> Bool {
        guard let difference = await model.goldenCanary() else {
            if !hasFailed { metrics.add(.canariesSucceeded) }
            return true
        }
        if !hasFailed { metrics.add(.canariesFailed) }
        let isFirst = goldens.state.withLock { $0.differs(version) }
        log.error(
            "a golden of model \(version.name), version \(version.version) differs: \(difference); "
                + (isFirst ? "loads the version again" : "it differed before; the watchdog is not notified"),
            repeating: "canary")
        // Do not wait, as above: a load may take longer than the interval.
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

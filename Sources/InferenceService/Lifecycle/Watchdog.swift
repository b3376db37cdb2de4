internal import FlowControl
internal import Inference

/// Feeds the service manager's watchdog, and only when a prediction has just been made: a process that accepts
/// connections and answers /healthz while its engine is stuck is not alive.
///
/// A model whose streams differ is reloaded with one stream: a restart would help no more, and would end all requests.
///
/// The canary runs on zeros, beside the limiter of its model and not through it: a daemon that is merely busy is not
/// restarted for it.
struct Watchdog: Sendable {
    let manager: ServiceManager
    let repository: ModelRepository
    let metrics: ServiceMetrics
    let log: Log

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

    /// Makes one prediction with one of the models that are ready, each in its turn. With none there is nothing that could
    /// be shown, and nothing that a restart would fix.
    private func isAlive(turn: inout Int) async -> Bool {
        let models = repository.records.compactMap { record in record.model.map { (record.name, $0) } }
        guard !models.isEmpty else { return true }
        let (name, model) = models[turn % models.count]
        turn &+= 1
        do throws(InferenceError) {
            guard let difference = try await model.canary() else {
                metrics.add(.canariesSucceeded)
                return true
            }
            metrics.add(.canariesFailed)
            log.error(
                "the streams of model \(name) no longer give the same answers: \(difference); reloads it with one stream",
                repeating: "canary")
            // A load may take longer than the interval. Who asks for it again meanwhile joins it, and the repository reports its failure.
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
}

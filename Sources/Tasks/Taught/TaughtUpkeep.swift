internal import Inference
internal import ServiceCore
internal import Synchronization
internal import SystemSupport
internal import Teaching

/// The background work on taught models: evaluations, and new embeddings of kept pictures after the embedder has
/// changed. It handles one model at a time, on a thread with a lower priority than requests, and ends with a drain.
/// Thread-safe.
final class TaughtUpkeep: Sendable {
    private struct State: Sendable {
        var waiting: [String] = []
        var isRunning = false
    }

    private let state = Mutex(State())
    private let isStopped = Atomic(false)

    /// The wait for further changes before an evaluation, because a change would end it.
    private static let pause = Duration.milliseconds(100)
    /// The time after which the comparison of many normal examples, which keeps its progress, gives way to other
    /// models.
    private static let turn = Duration.seconds(5)
    /// The time from a failure to the next attempt.
    private static let retryTime = Duration.seconds(60)

    /// True from the drain on.
    var isOver: Bool { isStopped.load(ordering: .relaxed) }

    /// Prevents new work, and ends the current one.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Queues a model for the work that it needs.
    func check(_ model: TaughtModel, of taught: TaughtModels) {
        let begins = state.withLock { state in
            if !state.waiting.contains(model.name) { state.waiting.append(model.name) }
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if begins { Task { await run(taught) } }
    }

    private func run(_ taught: TaughtModels) async {
        while !isOver {
            try? await Task.sleep(for: Self.pause)
            let name = state.withLock { state -> String? in
                guard !state.waiting.isEmpty else {
                    state.isRunning = false
                    return nil
                }
                return state.waiting.removeFirst()
            }
            guard let name else { return }
            guard let model = taught.model(name) else { continue }
            await work(on: model, taught)
        }
        state.withLock { $0.isRunning = false }
    }

    private func work(on model: TaughtModel, _ taught: TaughtModels) async {
        if await taught.rebuildIfStale(model) { return }
        guard model.view.isEvaluating else { return }
        let isDivided = model.view.state.choice.falseAlarms != nil
        let failure = await BackgroundThread.run { [self] () -> TeachingError? in
            let end = MonotonicInstant.now + Self.turn
            do throws(TeachingError) {
                try model.evaluate(
                    time: TaughtModels.now, isCancelled: { isOver || isDivided && MonotonicInstant.now >= end },
                    isStopped: { isOver })
                return nil
            } catch {
                return error
            }
        }
        if let failure {
            // It was deleted meanwhile, or its disk is full.
            guard taught.model(model.name) === model, !isOver else { return }
            taught.log.error("taught \(model.name): not evaluated: \(failure.message) (will be retried)")
            Task {
                try? await Task.sleep(for: Self.retryTime)
                if !isOver { check(model, of: taught) }
            }
        } else if isDivided, model.view.isEvaluating {
            check(model, of: taught)
        } else {
            taught.evaluated(model)
        }
    }
}

internal import FlowControl
internal import Synchronization
internal import SystemSupport

extension Model {
    /// Runs the model to check that it works: on all free infer requests at the same time, comparing their answers with
    /// those of one stream; if the model has no reference answers, once on zeros. Takes no slot of ``limiter``, so that
    /// it also works when the model is busy; it then waits for an infer request. Does nothing if the shape of an input
    /// is open.
    /// - Returns: the difference between the answers of several streams and those of one; nil if they agree. If they
    ///   differ, the model must be reloaded, and then runs with one stream.
    /// - Throws: if the engine fails, or one stream gives different answers too; `invalidOutput` if a score of the
    ///   model's own classes is NaN.
    @discardableResult
    public func canary() async throws(InferenceError) -> String? {
        guard plan.hasZeros else { return nil }
        var taken: [RequestPool.PooledRequest] = []
        defer { for pooled in taken { pooled.release() } }
        do throws(InferenceError) {
            taken.append(try await requests.acquire(deadline: nil))
        } catch {
            if case .engine = error { throw error }
            return nil
        }
        let difference = try await difference(&taken)
        if difference == nil { try builtInClasses?.check(taken[0].request) }
        return difference
    }

    /// Runs the requests, after taking all other free ones if the model has reference answers.
    private func difference(_ taken: inout [RequestPool.PooledRequest]) async throws(InferenceError) -> String? {
        do throws(EngineError) {
            guard let reference = reference.withLock({ $0 }) else {
                let filled = try tensors.take()
                defer { tensors.giveBack(filled) }
                for tensor in filled.tensors { tensor.zero() }
                try setInputs(of: taken[0].request, to: filled.tensors)
                try await taken[0].runAnything()
                return nil
            }
            while let pooled = requests.tryAcquire() { taken.append(pooled) }
            let probe = AnswerProbe(plan: plan, compiled: compiled), running = taken.map(\.request)
            let mayLoseStreams = (compiled.execution.streams ?? 2) > 1
            let outcome = await LoaderThread.run(lending: (self, probe, running)) { model, probe, running in
                Result { () throws(EngineError) in
                    let difference = try probe.difference(
                        from: reference.answers, requests: running, patterns: [.picture], rounds: 1)
                    if mayLoseStreams, let difference { model.keep(difference, reference) }
                    return difference
                }
            }
            let difference = try outcome?.get()
            guard let difference, !mayLoseStreams else { return difference }
            throw EngineError(kind: .failure, operation: "repeat its answers", detail: difference)
        } catch {
            throw .engine(error)
        }
    }

    /// Stores a difference of the streams that appeared after the load, so that the next load runs with one stream.
    /// Blocks.
    private func keep(_ difference: String, _ reference: Reference) {
        laterDifference.withLock { $0 = difference }
        var answers = reference.source.cached() ?? reference.answers
        answers.difference = difference
        reference.source.keep(answers)
    }
}

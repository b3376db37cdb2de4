internal import Synchronization
internal import SystemSupport

extension Model {
    /// Compares the answers of all infer requests, of which at least as many run at once as the engine has streams,
    /// with those of one stream. Blocks.
    /// - Returns: the difference; nil if the answers are equal, or could not be compared.
    func compare(with reference: Reference) -> StreamDifference? {
        let start = MonotonicInstant.now
        defer { load.withLock { $0.comparison &+= MonotonicInstant.now.nanoseconds(since: start) } }
        do throws(EngineError) {
            var answers = reference.answers
            var difference = try difference(from: answers)
            if let found = difference, !found.isOfBatches, reference.isCached {
                // Stored answers may be wrong themselves: compute them again.
                answers = try reference.source.computed()
                if answers.isRandom {
                    note(.random)
                    return nil
                }
                difference = try self.difference(from: answers)
            }
            if let difference, difference.isOfBatches {
                return StreamDifference(text: difference.text, answers: answers, isOfBatches: true)
            }
            if let difference = difference?.text {
                if (compiled.execution.streams ?? 2) > 1 {
                    answers.difference = difference
                    reference.source.keep(answers)
                }
                return StreamDifference(text: difference, answers: answers)
            }
            if let known = answers.difference { note(.oneStream(reason: known)) }
            // The canary needs only the answer to the picture.
            answers.answers = answers.answers.filter { $0.key == .picture }
            var reference = reference
            reference.answers = answers
            self.reference.withLock { [reference] in $0 = reference }
        } catch {
            note(.impossible(reason: error.message))
        }
        return nil
    }

    private func difference(
        from answers: ReferenceAnswers
    ) throws(EngineError) -> (text: String, isOfBatches: Bool)? {
        let probe = AnswerProbe(plan: plan, compiled: compiled)
        if let difference = try Self.difference(from: answers, probe, requests) { return (difference, false) }
        guard let batch else { return nil }
        let batches = AnswerProbe(plan: plan, compiled: batch.compiled, items: batch.limit)
        let difference = try Self.difference(from: answers.forBatches, batches, batch.requests)
        return difference.map { ("in batches, \($0)", true) }
    }

    private static func difference(
        from answers: ReferenceAnswers, _ probe: AnswerProbe, _ requests: RequestPool
    ) throws(EngineError) -> String? {
        var taken: [RequestPool.PooledRequest] = []
        defer { for pooled in taken { pooled.release() } }
        while taken.count < requests.count, let pooled = requests.tryAcquire() { taken.append(pooled) }
        var running = taken.map(\.request)
        // The reported number of streams is capped, in case it is implausible.
        for _ in 0..<max(0, min(probe.compiled.execution.streams ?? 1, 1024) - running.count) {
            running.append(try probe.compiled.makeRequest())
        }
        return try probe.difference(from: answers, requests: running)
    }

    private func note(_ check: StreamCheck) {
        load.withLock { report in
            report.streamCheck = check
            if let advice = check.advice { report.advice.append(advice) }
        }
    }
}

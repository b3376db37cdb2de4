internal import Synchronization
internal import SystemSupport

/// The answers of one stream, and where they are from.
struct Reference: Sendable {
    var answers: ReferenceAnswers
    let source: ReferenceSource
    /// True if the answers are of an earlier load.
    let isCached: Bool

    /// The reference of a model file, and the result of the comparison as long as there is none. Blocks: may compile the model for one
    /// stream.
    /// - Parameter known: the answers, if an earlier attempt of the same load has computed them.
    static func find(
        _ file: any ModelFile, engine: any Engine, source: ModelSource, _ configuration: ModelConfiguration,
        plan: ModelPlan, known: ReferenceAnswers?
    ) -> (Reference?, StreamCheck) {
        func none(_ reason: String) -> (Reference?, StreamCheck) { (nil, .notCompared(reason: reason)) }
        guard configuration.comparesStreams, engine.comparesStreams else { return none("the streams are not checked") }
        guard plan.hasZeros else { return none("an input is a string, or its shape is open") }
        guard known != nil || configuration.compile.runsSeveralStreams else { return none("it runs with one stream") }
        let source = ReferenceSource(file, engine: engine, source: source, options: configuration.compile, plan: plan)
        let cached = known ?? source.cached()
        do throws(EngineError) {
            let answers = if let cached { cached } else { try source.computed() }
            if answers.isRandom { return (nil, .random) }
            return (Reference(answers: answers, source: source, isCached: cached != nil && known == nil), .equal)
        } catch {
            return (nil, .impossible(reason: error.message))
        }
    }
}

/// A difference between the answers of a model's streams and those of one stream.
struct StreamDifference: Sendable {
    let text: String
    /// The answers of one stream.
    let answers: ReferenceAnswers
    /// True if only the variant for batches differs.
    var isOfBatches = false
    /// The report of the load whose model differs.
    private(set) var report = LoadReport()

    func after(_ report: LoadReport) -> StreamDifference {
        var copy = self
        copy.report = report
        return copy
    }
}

extension Model {
    /// Compares the answers of all infer requests, at least as many at once as there are streams, with those of one stream. Blocks.
    /// - Returns: how they differ; nil if they do not, or could not be compared.
    func compare(with reference: Reference) -> StreamDifference? {
        let start = MonotonicInstant.now
        defer { load.withLock { $0.comparison &+= MonotonicInstant.now.nanoseconds(since: start) } }
        do throws(EngineError) {
            var answers = reference.answers
            var difference = try difference(from: answers)
            if let found = difference, !found.isOfBatches, reference.isCached {
                // Those of another day may be wrong themselves.
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
            // The canary has no use for the others.
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
        // An engine that says it has more streams than any machine has processors is not believed.
        for _ in 0..<max(0, min(probe.compiled.execution.streams ?? 1, 1024) - running.count) {
            running.append(try probe.compiled.makeRequest())
        }
        return try probe.difference(from: answers, requests: running)
    }

    /// Remembers that the streams have gone wrong since the load, so that the next load runs with one. Blocks.
    func keep(_ difference: String, _ reference: Reference) {
        laterDifference.withLock { $0 = difference }
        var answers = reference.source.cached() ?? reference.answers
        answers.difference = difference
        reference.source.keep(answers)
    }

    private func note(_ check: StreamCheck) {
        load.withLock { report in
            report.streamCheck = check
            if let advice = check.advice { report.advice.append(advice) }
        }
    }

    /// Notes what the load of the model with several streams took, before this with one.
    func note(_ difference: StreamDifference) {
        load.withLock { report in
            let first = difference.report
            report.trial = first.trial
            report.wasTried = first.wasTried
            report.trialProblem = first.trialProblem
            // What the first has compiled was not there before.
            report.isCached = first.isCached
            report.comparison &+= first.read &+ first.compile &+ first.warmUp &+ first.comparison
        }
    }
}

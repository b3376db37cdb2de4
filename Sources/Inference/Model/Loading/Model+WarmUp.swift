internal import FlowControl
internal import Synchronization
internal import SystemSupport

extension Model {
    /// Runs every infer request once, so that work which an engine defers to the first inference is done before clients
    /// wait for it, and a model that cannot run does not become ready.
    func warmUp(_ warmUp: WarmUp) async throws(InferenceError) {
        // Inputs of open shape cannot be filled with zeros: their first prediction is their warm-up.
        guard plan.hasZeros, warmUp.runs > 0 else { return }
        let start = MonotonicInstant.now
        // All requests are taken before the first is released, because the pool hands out the last returned one first.
        var taken: [RequestPool.PooledRequest] = []
        defer { for pooled in taken { pooled.release() } }
        for _ in 0..<requests.count { taken.append(try await requests.acquire(deadline: nil)) }
        do throws(EngineError) {
            let filled = try tensors.take()
            for tensor in filled.tensors { tensor.zero() }
            for round in 0..<max(1, warmUp.tensors.count) {
                if round < warmUp.tensors.count, let tensor = filled.tensors.first,
                    tensor.bytes.count == warmUp.tensors[round].count
                {
                    tensor.bytes.copyBytes(from: warmUp.tensors[round])
                }
                for pooled in taken {
                    for run in 0..<warmUp.runs {
                        try setInputs(of: pooled.request, to: filled.tensors)
                        try await pooled.runAnything()
                        load.withLock {
                            $0.firstPrediction = $0.firstPrediction ?? MonotonicInstant.now.nanoseconds(since: start)
                        }
                        if run == 0 { try checkScores(of: pooled.request) }
                    }
                }
            }
            tensors.giveBack(filled)
        } catch {
            throw .engine(error)
        }
        if let batch { try await self.warmUp(batch, on: warmUp.tensors.first) }
        let time = MonotonicInstant.now.nanoseconds(since: start)
        load.withLock { $0.warmUp = time }
    }

    /// Runs every infer request for batches once, with the maximum number of items: a model that compiles may still not
    /// run, and the first full batch of clients would detect that too late.
    /// - Parameter item: the contents of the input for each item; nil for zeros.
    private func warmUp(_ batch: BatchVariant, on item: [UInt8]?) async throws(InferenceError) {
        let wholes = try tensors(of: batch, count: batch.limit)
        for whole in wholes {
            for index in 0..<batch.limit {
                let part = BatchItemTensor(index, of: batch.limit, in: whole)
                if let item, item.count == part.bytes.count {
                    part.bytes.copyBytes(from: item)
                } else {
                    part.zero()
                }
            }
        }
        var taken: [RequestPool.PooledRequest] = []
        defer { for pooled in taken { pooled.release() } }
        for _ in 0..<batch.requests.count { taken.append(try await batch.requests.acquire(deadline: nil)) }
        do throws(EngineError) {
            for pooled in taken {
                try setInputs(of: pooled.request, to: wholes)
                try await pooled.runAnything()
                let last = BatchItemOutputs(request: pooled.request, item: batch.limit - 1, count: batch.limit)
                for output in plan.outputs { try last.withOutput(output.index) { _, _ in } }
            }
        } catch {
            let reason = "is \(batch.limit), but the model does not run on \(batch.limit) items: \(error.message)"
            throw .invalidBundle(
                name: description.name, problems: [BundleProblem(path: "runtime.batch", reason: reason)])
        }
    }

    /// Checks the scores of a first run; a warning becomes advice of the load.
    private func checkScores(of outputs: any EngineOutputs) throws(EngineError) {
        for output in plan.outputs where output.description.labels != nil {
            guard case .array = output.kind else { continue }
            let reader = ScoreReader(
                elementType: output.description.elementType, linear: output.linear, activation: output.activation)
            let finding = try outputs.withOutput(output.index) { _, raw in
                reader.withScores(raw) { scoreWatch.finding(in: $0, output: output.description.name) }
            }
            if let finding { load.withLock { $0.advice.append(finding) } }
        }
    }
}

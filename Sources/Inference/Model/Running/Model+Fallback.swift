internal import FlowControl
internal import SystemSupport

/// Inputs that the model's engine refuses, on the runtime of the file's own format.
extension Model {
    /// The runtime for inputs that the engine refuses; nil if the file's format has none, or if it runs the model.
    package var fallback: Fallback? { resources.fallback }

    /// Runs inputs that the engine has refused.
    /// - Parameters:
    ///   - shapes: of inputs with open axes, by the index of the input.
    ///   - refusal: the engine's error.
    /// - Returns: the runtime's infer request, which holds the answer.
    /// - Throws: the error of both engines if the runtime refuses the inputs too.
    func infer(
        _ record: inout InferenceRecord, on tensors: [any EngineTensor], _ options: PredictionOptions,
        shapes: [Int: Shape], after refusal: EngineError
    ) async throws(InferenceError) -> RequestPool.PooledRequest {
        guard let fallback else { throw InferenceError(ofRun: refusal) }
        func joined(_ error: EngineError) -> InferenceError {
            InferenceError(ofRun: refusal.joined(with: error, of: fallback.version))
        }
        let runtime = try await fallback.runtime(after: refusal, until: options.deadline)
        if !shapes.isEmpty {
            do throws(ShapeChecks.Failure) {
                try await runtime.checks.check(shapes, deadline: options.deadline)
            } catch {
                switch error {
                case .wait(let ending): throw InferenceError(ofQueue: ending)
                case .refused(let error): throw joined(error)
                }
            }
        }
        let pooled = try await runtime.requests.acquire(deadline: options.deadline)
        record.begins(beside: RunningPredictions.number)
        do throws(EngineError) {
            var copies: [any EngineTensor] = []
            for tensor in tensors { copies.append(try runtime.tensor(like: tensor)) }
            try setInputs(of: pooled.request, to: copies)
            pooled.request.setDetectionThresholds(options.detectionThresholds)
            try await pooled.run(deadline: options.deadline)
        } catch {
            pooled.release()
            throw joined(error)
        }
        record.fellBack()
        fallback.succeeded(shapes, after: refusal, isForValues: record.nonFinite != nil)
        return pooled
    }
}

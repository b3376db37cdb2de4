/// Predictions over a sequence of inputs, in the three kinds that Core ML's Combine operators have.
extension AsyncSequence where Self: Sendable, Element: FeatureProvider {
    /// A result for each element, in order: a failure is an element like any other. Failures of the source end the
    /// sequence without a further element.
    /// - Parameter concurrency: how many elements are worked on at once; at least 1.
    public func predictionResults(
        model: Model, options: PredictionOptions = PredictionOptions(), concurrency: Int = 2
    ) -> AsyncStream<Result<Prediction, InferenceError>> {
        let (stream, continuation) = AsyncStream.makeStream(of: Result<Prediction, InferenceError>.self)
        let task = Task {
            await predict(model: model, options: options, concurrency: concurrency) { result in
                continuation.yield(result)
                return true
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// A prediction for each element that the model could work on, in order; failures are dropped.
    public func predictions(
        droppingFailures model: Model, options: PredictionOptions = PredictionOptions(), concurrency: Int = 2
    ) -> AsyncStream<Prediction> {
        let (stream, continuation) = AsyncStream.makeStream(of: Prediction.self)
        let task = Task {
            await predict(model: model, options: options, concurrency: concurrency) { result in
                if case .success(let prediction) = result { continuation.yield(prediction) }
                return true
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// A prediction for each element, in order; the first failure ends the sequence and is thrown.
    public func predictions(
        model: Model, options: PredictionOptions = PredictionOptions(), concurrency: Int = 2
    ) -> AsyncThrowingStream<Prediction, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: Prediction.self)
        let task = Task {
            await predict(model: model, options: options, concurrency: concurrency) { result in
                switch result {
                case .success(let prediction):
                    continuation.yield(prediction)
                    return true
                case .failure(let error):
                    continuation.finish(throwing: error)
                    return false
                }
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    /// Works on up to `concurrency` elements at once and hands the results on in order; stops when `emit` says so.
    private func predict(
        model: Model, options: PredictionOptions, concurrency: Int,
        emit: (Result<Prediction, InferenceError>) -> Bool
    ) async {
        await withTaskGroup(of: IndexedOutcome.self) { group in
            var waiting: [Int: Result<Prediction, InferenceError>] = [:]
            var next = 0, emitted = 0
            func take(_ outcome: IndexedOutcome) -> Bool {
                waiting[outcome.index] = outcome.result
                while let result = waiting.removeValue(forKey: emitted) {
                    emitted += 1
                    if !emit(result) { return false }
                }
                return true
            }
            do {
                for try await element in self {
                    // Results that wait for an earlier one count too: order must not cost unbounded memory.
                    while next - emitted >= Swift.max(1, concurrency) {
                        guard let outcome = await group.next() else { break }
                        guard take(outcome) else {
                            group.cancelAll()
                            return
                        }
                    }
                    let index = next
                    next += 1
                    group.addTask { await model.outcome(of: element, at: index, options: options) }
                }
            } catch {
                // The source has failed: what was read before is still answered, as the documentation says.
            }
            while let outcome = await group.next() {
                guard take(outcome) else {
                    group.cancelAll()
                    return
                }
            }
        }
    }
}

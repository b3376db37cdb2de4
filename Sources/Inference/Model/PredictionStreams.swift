/// Predictions over a sequence of inputs, in the three kinds that Core ML's Combine operators have.
///
/// Each is handed on as soon as it, and those before it, are there: what comes next from the source is not waited for. Nor is
/// the source read further than `concurrency` elements ahead of the code that iterates over the results. A stream that is dropped,
/// or whose iterating task is cancelled, stops the work.
extension AsyncSequence where Self: Sendable, Element: FeatureProvider {
    /// A result for each element, in order: a failure is an element like any other. Failures of the source end the
    /// sequence without a further element.
    /// - Parameter concurrency: how many elements are worked on, or wait to be taken, at once; at least 1.
    public func predictionResults(
        model: Model, options: PredictionOptions = PredictionOptions(), concurrency: Int = 2
    ) -> AsyncStream<Result<Prediction, InferenceError>> {
        let flow = PredictionFlow(concurrency: concurrency)
        let results = flow.start(self, model: model, options: options)
        return AsyncStream { await PredictionFlow.next(of: results) }
    }

    /// A prediction for each element that the model could work on, in order; failures are dropped. Failures of the source end
    /// the sequence.
    public func predictions(
        droppingFailures model: Model, options: PredictionOptions = PredictionOptions(), concurrency: Int = 2
    ) -> AsyncStream<Prediction> {
        let flow = PredictionFlow(concurrency: concurrency)
        let results = flow.start(self, model: model, options: options)
        return AsyncStream {
            while let result = await PredictionFlow.next(of: results) {
                if case .success(let prediction) = result { return prediction }
            }
            return nil
        }
    }

    /// A prediction for each element, in order; the first failure, of the model or of the source, ends the sequence and is
    /// thrown.
    public func predictions(
        model: Model, options: PredictionOptions = PredictionOptions(), concurrency: Int = 2
    ) -> AsyncThrowingStream<Prediction, any Error> {
        let flow = PredictionFlow(concurrency: concurrency, endsAtFailure: true)
        let results = flow.start(self, model: model, options: options)
        return AsyncThrowingStream {
            for try await item in results { return try item.take().get() }
            return nil
        }
    }
}

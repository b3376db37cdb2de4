/// Predictions over a sequence of inputs, in three variants, like Core ML's Combine operators.
///
/// Each result is returned as soon as it and all earlier ones are complete, without waiting for the next element of the
/// source. The source is read at most `concurrency` elements ahead of the code that iterates over the results. A stream
/// that is dropped, or whose iterating task is cancelled, stops the work.
extension AsyncSequence where Self: Sendable, Element: FeatureProvider {
    /// A result for each element, in order; failures are elements too. A failure of the source ends the sequence
    /// without another element.
    /// - Parameter concurrency: the number of elements that are processed, or wait to be read, at the same time; at
    ///   least 1.
    public func predictionResults(
        model: Model, options: PredictionOptions = PredictionOptions(), concurrency: Int = 2
    ) -> AsyncStream<Result<Prediction, InferenceError>> {
        let flow = PredictionFlow(concurrency: concurrency)
        let results = flow.start(self, model: model, options: options)
        return AsyncStream { await PredictionFlow.next(of: results) }
    }

    /// A prediction for each element, in order, without those that failed. A failure of the source ends
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

    /// A prediction for each element, in order. The first failure, of the model or of the source, ends the sequence and
    /// is thrown.
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

internal import FlowControl
internal import Synchronization

/// Predictions of a sequence's elements: made in parallel, delivered in order.
final class PredictionFlow: Sendable {
    /// A result, and the place that it takes until it is read.
    struct Item: Sendable {
        fileprivate let result: Result<Prediction, InferenceError>
        fileprivate let place: Slot

        /// The result: its place is another's now.
        func take() -> Result<Prediction, InferenceError> {
            place.release()
            return result
        }
    }

    typealias Results = AsyncThrowingStream<Item, any Error>

    private struct State {
        /// Results that wait for those before them.
        var waiting: [Int: Item] = [:]
        /// The element whose result is handed on next.
        var next = 0
        /// True if the last result has been handed on.
        var isEnded = false
    }

    private let state = Mutex(State())
    private let places: InFlightLimiter
    private let endsAtFailure: Bool

    /// - Parameters:
    ///   - concurrency: elements that are worked on, or wait to be taken; at least 1.
    ///   - endsAtFailure: whether the first failure is the last result.
    init(concurrency: Int, endsAtFailure: Bool = false) {
        // The reader of the results may be as slow as it likes.
        places = InFlightLimiter(
            configuration: LimiterConfiguration(
                limit: concurrency, queueCapacity: 1, maxWait: .seconds(3_153_600_000), policy: .defer))
        self.endsAtFailure = endsAtFailure
    }

    /// Begins. Once. The work ends when the results are neither held nor iterated over any more.
    func start<Source: AsyncSequence & Sendable>(
        _ source: Source, model: Model, options: PredictionOptions
    ) -> Results where Source.Element: FeatureProvider {
        let (results, continuation) = Results.makeStream()
        let task = Task { await run(source, model: model, options: options, into: continuation) }
        continuation.onTermination = { _ in task.cancel() }
        return results
    }

    /// The next result of a flow that is not ended by failures; nil at the end, also where the source has failed.
    static func next(of results: Results) async -> Result<Prediction, InferenceError>? {
        do {
            for try await item in results { return item.take() }
        } catch {
            // As is documented: those who want to know of the source's failures take the throwing kind.
        }
        return nil
    }

    private func run<Source: AsyncSequence & Sendable>(
        _ source: Source, model: Model, options: PredictionOptions, into continuation: Results.Continuation
    ) async where Source.Element: FeatureProvider {
        var failure: (any Error)?
        await withDiscardingTaskGroup { group in
            var index = 0
            do {
                var elements = source.makeAsyncIterator()
                while true {
                    // First a place, then an element: what has been read is worked on at once.
                    let place = try await places.acquire()
                    guard let element = try await elements.next() else { break }
                    let number = index
                    index += 1
                    group.addTask {
                        let outcome = await model.outcome(of: element, at: number, options: options)
                        self.put(Item(result: outcome.result, place: place), number, into: continuation)
                    }
                }
            } catch {
                // What was read before is still answered.
                failure = error
            }
        }
        continuation.finish(throwing: failure)
    }

    /// Hands on what is next, and whatever has waited for it. Under the lock, so that the order holds: it wakes the
    /// task that waits, and runs nothing of theirs.
    private func put(_ item: Item, _ index: Int, into continuation: Results.Continuation) {
        let isEnd = state.withLock { state in
            state.waiting[index] = item
            while !state.isEnded, let item = state.waiting.removeValue(forKey: state.next) {
                state.next += 1
                continuation.yield(item)
                if endsAtFailure, case .failure = item.result { state.isEnded = true }
            }
            return state.isEnded
        }
        // Ends what is under way, too.
        if isEnd { continuation.finish() }
    }
}

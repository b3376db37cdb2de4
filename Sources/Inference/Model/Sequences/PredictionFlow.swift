internal import FlowControl
internal import Synchronization

/// Predicts a sequence's elements in parallel, and delivers the results in order.
final class PredictionFlow: Sendable {
    /// A result, and the place that it occupies until it is read.
    struct Item: Sendable {
        fileprivate let result: Result<Prediction, InferenceError>
        fileprivate let place: Slot

        /// Returns the result, and releases its place.
        func take() -> Result<Prediction, InferenceError> {
            place.release()
            return result
        }
    }

    typealias Results = AsyncThrowingStream<Item, any Error>

    private struct State {
        /// Results that wait for earlier ones.
        var waiting: [Int: Item] = [:]
        /// The index of the element whose result is delivered next.
        var next = 0
        /// True if the last result has been delivered.
        var isEnded = false
    }

    private let state = Mutex(State())
    private let places: InFlightLimiter
    private let endsAtFailure: Bool

    /// - Parameters:
    ///   - concurrency: the number of elements that are being predicted or wait to be read; at least 1.
    ///   - endsAtFailure: whether the first failure is the last result.
    init(concurrency: Int, endsAtFailure: Bool = false) {
        // No limit on the wait, because the reader of the results may be slow.
        places = InFlightLimiter(
            configuration: LimiterConfiguration(
                limit: concurrency, queueCapacity: 1, maxWait: .seconds(3_153_600_000), policy: .defer))
        self.endsAtFailure = endsAtFailure
    }

    /// Starts the work. Must be called once. The work is cancelled when the results are neither held nor iterated over.
    func start<Source: AsyncSequence & Sendable>(
        _ source: Source, model: Model, options: PredictionOptions
    ) -> Results where Source.Element: FeatureProvider {
        let (results, continuation) = Results.makeStream()
        let task = Task { await run(source, model: model, options: options, into: continuation) }
        continuation.onTermination = { _ in task.cancel() }
        return results
    }

    /// The next result of a flow that failures do not end; nil at the end, also if the source has failed.
    static func next(of results: Results) async -> Result<Prediction, InferenceError>? {
        do {
            for try await item in results { return item.take() }
        } catch {
            // Ignored, as documented: callers that need the source's failures use the throwing variant.
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
                    // Takes a place before reading an element, so that each element is processed as soon as it is read.
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
                // Elements that were read before the failure are still answered.
                failure = error
            }
        }
        continuation.finish(throwing: failure)
    }

    /// Delivers the next result, and those that waited for it. Done under the lock to keep the order: delivering only
    /// wakes the waiting task, and runs none of its code.
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
        // Also cancels the predictions under way.
        if isEnd { continuation.finish() }
    }
}

internal import FlowControl
internal import Inference
internal import SystemSupport

/// A slot of a model, taken for one prediction. Counts the outcomes of waiting for a slot, for every route.
struct RequestSlot: Sendable {
    private let slot: Slot
    /// Nanoseconds that were waited for it.
    let waited: UInt64

    /// Waits for a slot. It is to be released when the answer is written: what it bounds is memory.
    /// - Parameter work: nanoseconds that decoding its pictures will take, as their headers say.
    init(
        of model: Model, options: PredictionOptions, work: UInt64 = 0, metrics: ServiceMetrics
    ) async throws(ServiceError) {
        let arrived = MonotonicInstant.now
        do throws(AdmissionError) {
            slot = try await model.limiter.acquire(
                deadline: options.deadline, claim: options.claim.working(work))
        } catch {
            if case .cancelled = error { metrics.cancelled(.queue) }
            throw ServiceError(error)
        }
        waited = MonotonicInstant.now.nanoseconds(since: arrived)
    }

    /// The slot that was taken to read the request, if it was, or another one: what was read may promise more work than such a slot is
    /// given for.
    init(
        of model: Model, options: PredictionOptions, taken: RequestSlot?, work: UInt64, metrics: ServiceMetrics
    ) async throws(ServiceError) {
        if let taken, work < Claim.long {
            self = taken
        } else {
            taken?.release()
            try await self.init(of: model, options: options, work: work, metrics: metrics)
        }
    }

    func release() { slot.release() }

    /// Runs a prediction in the slot; counts it where it is cancelled. The slot stays the caller's to release.
    func run<R>(
        metrics: ServiceMetrics, _ predict: (Slot) async throws(InferenceError) -> R
    ) async throws(InferenceError) -> R {
        do throws(InferenceError) {
            return try await predict(slot)
        } catch {
            if case .cancelled(let stage) = error { metrics.cancelled(stage) }
            throw error
        }
    }

    /// The same for several predictions in one inference.
    func runTogether<R>(
        metrics: ServiceMetrics, _ predict: (Slot) async -> [Result<R, InferenceError>]
    ) async -> [Result<R, InferenceError>] {
        let results = await predict(slot)
        for case .failure(.cancelled(let stage)) in results { metrics.cancelled(stage) }
        return results
    }
}

package import FlowControl
internal import FoundationEssentials
internal import Inference
package import SystemSupport
package import WireFormats

/// A fair queue for work that needs a processor but no model: metrics, lists and descriptions, large forms, digests.
/// Thread-safe.
///
/// Swift's pool has one thread for each processor, and does not preempt work: work on it delays the requests of all
/// clients and models, in the order of arrival. Therefore work that may take longer than about 0.2 ms waits here for
/// its turn: a bounded number of jobs runs at once, shared among clients by time like slots (``ClientShares``), and a
/// wait ends at the request's deadline or when its client disconnects. The work runs on its own threads, with a lower
/// priority than others (``LongDecoding``).
///
/// A request that holds a slot of a model has already waited for its turn, so its work runs on such a thread at once
/// (``onThread(lowPriority:_:)``, ``writing(_:_:)``). Short work runs in place, and costs a comparison.
package final class WorkQueue: Sendable {
    private let limiter: InFlightLimiter

    /// The number of jobs that run at once. Long work takes at most two thirds of the places.
    package static let usual = max(3, ProcessInfo.processInfo.activeProcessorCount)

    /// - Parameters:
    ///   - atOnce: the number of jobs that run at once.
    ///   - capacity: the maximum number of waiting requests.
    ///   - maxWait: the longest wait.
    package init(
        atOnce: Int = WorkQueue.usual, capacity: Int = 4096, maxWait: Duration = .seconds(30),
        clock: MonotonicClock = .system
    ) {
        limiter = InFlightLimiter(
            configuration: LimiterConfiguration(limit: atOnce, queueCapacity: capacity, maxWait: maxWait), clock: clock)
    }

    /// Changes the maximum number of waiting requests, and the longest wait.
    package func resize(capacity: Int, maxWait: Duration) { limiter.resize(queueCapacity: capacity, maxWait: maxWait) }

    /// The work that runs and waits now, and the counts of all results.
    package var snapshot: LimiterSnapshot { limiter.snapshot }

    // MARK: Without a slot

    /// Does work in its turn and returns its result.
    /// - Parameters:
    ///   - claim: the client, and the expected time of the work.
    ///   - deadline: the end of the wait.
    ///   - lowPriority: whether to run at low priority; false for work that a prediction waits for.
    ///   - body: the work; its argument returns true once the client has disconnected.
    /// - Throws: the error of the work; 503 or 504 if its turn does not come.
    package func run<Value: Sendable>(
        for claim: Claim, until deadline: MonotonicInstant?, lowPriority: Bool = true,
        _ body: @escaping @Sendable (_ isCancelled: @Sendable () -> Bool) throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        let place: Slot
        do throws(AdmissionError) {
            place = try await limiter.acquire(deadline: deadline, claim: claim)
        } catch {
            throw ServiceError(error)
        }
        defer { place.release() }
        return try await Self.onThread(lowPriority: lowPriority, body)
    }

    /// Reads a body of some length in its turn; a short one is read at once.
    package func read<Value: Sendable>(
        _ bytes: Int, for claim: Claim, until deadline: MonotonicInstant?,
        _ body: @escaping @Sendable (_ isCancelled: @Sendable () -> Bool) throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        guard bytes > Self.shortText else { return try body { Task.isCancelled } }
        return try await run(for: claim.working(Self.readingTime(bytes)), until: deadline, body)
    }

    // MARK: In a slot

    /// Writes an answer from outputs of some length for a request that holds a slot, and returns the result.
    package static func writing<Value: Sendable>(
        _ bytes: Int, _ body: @escaping @Sendable () throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        guard bytes > shortText else { return try body() }
        return try await onThread(lowPriority: false) { (_) throws(ServiceError) in try body() }
    }

    /// Does long work for a request that holds a slot for long requests, and returns the result.
    package static func onThread<Value: Sendable>(
        lowPriority: Bool = true,
        _ body: @escaping @Sendable (_ isCancelled: @Sendable () -> Bool) throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        let result: Result<Value, ServiceError> = await LongDecoding.run(lowPriority: lowPriority) { isCancelled in
            Result { () throws(ServiceError) in try body(isCancelled) }
        }
        return try result.get()
    }

    // MARK: Limits of short work

    /// The maximum length of text that is read at once, in bytes: the worst text of this length (small objects in a
    /// skipped member) takes 0.3 ms.
    package static let shortText = 16 << 10
    /// The maximum length of a form that is parsed at once, in bytes. Pictures are skipped at more than a gigabyte a
    /// second.
    package static let shortForm = 256 << 10
    /// The maximum time of writing that is done at once, in nanoseconds.
    package static let shortWriting: UInt64 = 200_000

    /// Estimated nanoseconds of reading text of some length: JSON, mostly numbers.
    package static func readingTime(_ bytes: Int) -> UInt64 { UInt64(max(0, bytes)) &* 8 }
    /// Estimated nanoseconds of writing numbers.
    package static func writingTime(numbers: Int) -> UInt64 { UInt64(max(0, numbers)) &* 60 }
    /// Estimated nanoseconds of writing labels with their numbers.
    package static func writingTime(labels: Int) -> UInt64 { UInt64(max(0, labels)) &* 150 }
}

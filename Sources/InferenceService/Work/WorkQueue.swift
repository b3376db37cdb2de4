package import FlowControl
internal import FoundationEssentials
internal import Inference
package import SystemSupport

/// A fair queue for work that needs a processor but no model: metrics, lists and descriptions, large forms, digests.
///
/// Swift's pool has one thread for each processor, and nothing takes a thread back: work on it delays the requests of
/// all clients and models, in the order in which it came. So what may take longer than about 0.2 ms waits here for its
/// turn: a bounded number at once, shared among clients by time as slots are (``ClientShares``), until the request's
/// deadline or until its client leaves. It runs on threads of its own, which give way to all others
/// (``LongDecoding``).
///
/// A request that holds a slot of a model has waited for its turn already: its work runs on such a thread at once
/// (``reading(_:_:)``, ``writing(_:_:)``). Short work runs where it is, and costs a comparison.
package final class WorkQueue: Sendable {
    private let limiter: InFlightLimiter

    /// Work at once. Work that is expected to be long takes two thirds of the places at most.
    package static let usual = max(3, ProcessInfo.processInfo.activeProcessorCount)

    /// - Parameters:
    ///   - atOnce: the work that runs at the same time.
    ///   - capacity: the requests that may wait.
    ///   - maxWait: the longest wait.
    package init(
        atOnce: Int = WorkQueue.usual, capacity: Int = 4096, maxWait: Duration = .seconds(30),
        clock: MonotonicClock = .system
    ) {
        limiter = InFlightLimiter(
            configuration: LimiterConfiguration(limit: atOnce, queueCapacity: capacity, maxWait: maxWait), clock: clock)
    }

    /// From now on as many requests may wait, for so long.
    package func resize(capacity: Int, maxWait: Duration) { limiter.resize(queueCapacity: capacity, maxWait: maxWait) }

    /// The work that runs and waits now, and the counts of all results.
    package var snapshot: LimiterSnapshot { limiter.snapshot }

    // MARK: Without a slot

    /// Does work in its turn and returns its result.
    /// - Parameters:
    ///   - claim: the client, and the expected time of the work.
    ///   - deadline: the wait ends at this time.
    ///   - givingWay: false for what a prediction waits for.
    ///   - body: the work; its argument returns true once the client has left.
    /// - Throws: what the work throws; 503 or 504 if its turn does not come.
    package func run<Value: Sendable>(
        for claim: Claim, until deadline: MonotonicInstant?, givingWay: Bool = true,
        _ body: @escaping @Sendable (_ isCancelled: @Sendable () -> Bool) throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        let place: Slot
        do throws(AdmissionError) {
            place = try await limiter.acquire(deadline: deadline, claim: claim)
        } catch {
            throw ServiceError(error)
        }
        defer { place.release() }
        return try await Self.onThread(givingWay: givingWay, body)
    }

    /// Reads a body in its turn; a short one is read at once.
    package func read<Value: Sendable>(
        _ bytes: Int, for claim: Claim, until deadline: MonotonicInstant?,
        _ body: @escaping @Sendable (_ isCancelled: @Sendable () -> Bool) throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        guard bytes > Self.shortText else { return try body { Task.isCancelled } }
        return try await run(for: claim.working(Self.readingTime(bytes)), until: deadline, body)
    }

    // MARK: In a slot

    /// Reads a body of some length for a request that holds a slot, and returns the result. As with pictures, reading
    /// that takes long gives way, and its slot is one of those for long requests.
    static func reading<Value: Sendable>(
        _ bytes: Int, _ body: @escaping @Sendable (_ isCancelled: @Sendable () -> Bool) throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        guard bytes > shortText else { return try body { Task.isCancelled } }
        return try await onThread(givingWay: readingTime(bytes) >= Claim.long, body)
    }

    /// Writes an answer from outputs of some length for a request that holds a slot, and returns the result.
    static func writing<Value: Sendable>(
        _ bytes: Int, _ body: @escaping @Sendable () throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        guard bytes > shortText else { return try body() }
        return try await onThread(givingWay: false) { (_) throws(ServiceError) in try body() }
    }

    /// Does long work for a request that holds a slot for long requests, and returns the result.
    static func onThread<Value: Sendable>(
        givingWay: Bool = true,
        _ body: @escaping @Sendable (_ isCancelled: @Sendable () -> Bool) throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        let result: Result<Value, ServiceError> = await LongDecoding.run(givingWay: givingWay) { isCancelled in
            do throws(ServiceError) { return .success(try body(isCancelled)) } catch { return .failure(error) }
        }
        return try result.get()
    }

    // MARK: Limits of short work

    /// The longest text that is read at once: the worst of this length (small objects in a member that is passed over)
    /// takes 0.3 ms.
    package static let shortText = 16 << 10
    /// The longest form that is taken apart at once. Pictures are passed over at more than a gigabyte a second.
    package static let shortForm = 256 << 10
    /// The longest writing that is done at once, in nanoseconds.
    static let shortWriting: UInt64 = 200_000

    /// Nanoseconds for reading text of a length, roughly: of JSON, mostly numbers.
    static func readingTime(_ bytes: Int) -> UInt64 { UInt64(max(0, bytes)) &* 8 }
    /// Nanoseconds for writing numbers, roughly.
    static func writingTime(numbers: Int) -> UInt64 { UInt64(max(0, numbers)) &* 60 }
    /// Nanoseconds for writing labels with their numbers, roughly.
    static func writingTime(labels: Int) -> UInt64 { UInt64(max(0, labels)) &* 150 }
}

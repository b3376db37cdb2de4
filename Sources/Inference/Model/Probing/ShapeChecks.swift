internal import FlowControl
internal import Synchronization
internal import SystemSupport

/// Checks the shapes that callers give to inputs with open axes before the engine runs with them. One set is checked at
/// a time, on a thread that ends afterwards. A check takes milliseconds and must not block the thread of a request; a
/// request whose shapes have been checked before does not wait.
final class ShapeChecks: Sendable {
    /// Sets of shapes that the model accepts, by the index of the input.
    private let known = Mutex<Set<[Int: Shape]>>([])
    /// The number of known sets at which all are discarded: a client may send other shapes each time.
    private static let maximum = 256
    /// Admits one check at a time.
    private let turns: InFlightLimiter
    private let attempt: @Sendable ([Int: Shape]) -> Result<Void, EngineError>

    /// - Parameters:
    ///   - waiters: the maximum number of waiting requests: the number of slots of the model, so that none is refused.
    ///   - attempt: checks shapes, by the index of the input, with every axis fixed. Blocks; only one thread calls it
    ///     at a time.
    init(waiters: Int, attempt: @escaping @Sendable ([Int: Shape]) -> Result<Void, EngineError>) {
        turns = InFlightLimiter(
            configuration: LimiterConfiguration(
                limit: 1, queueCapacity: max(waiters, 1), maxWait: .seconds(86_400), policy: .defer))
        self.attempt = attempt
    }

    /// The reason a set of shapes cannot be used.
    enum Failure: Error {
        /// The model does not accept the shapes.
        case refused(EngineError)
        /// The task was cancelled, or the deadline passed, before the check.
        case wait(AdmissionError)
    }

    /// Returns after the shapes have been accepted. Stops waiting for its turn if the task is cancelled or the deadline
    /// passes.
    func check(_ shapes: [Int: Shape], deadline: MonotonicInstant?) async throws(Failure) {
        guard !isKnown(shapes) else { return }
        let slot: Slot
        do throws(AdmissionError) {
            slot = try await turns.acquire(deadline: deadline)
        } catch {
            throw .wait(error)
        }
        defer { slot.release() }
        // An earlier request may have checked the same shapes.
        guard !isKnown(shapes) else { return }
        do throws(EngineError) {
            try await LoaderThread.run { [attempt] in attempt(shapes) }.get()
        } catch {
            throw .refused(error)
        }
        known.withLock { known in
            if known.count >= Self.maximum { known.removeAll() }
            known.insert(shapes)
        }
    }

    private func isKnown(_ shapes: [Int: Shape]) -> Bool { known.withLock { $0.contains(shapes) } }
}

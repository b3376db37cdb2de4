internal import FlowControl
internal import Synchronization
internal import SystemSupport

/// The shapes that callers bring to inputs of open axes, tried before the engine meets them: one set at a time, each on
/// a thread that ends with it. A try takes milliseconds, and a request's thread is for requests; a request with shapes
/// that were tried before does not wait for it.
final class ShapeChecks: Sendable {
    /// Shapes that the model takes, by the index of the input.
    private let known = Mutex<Set<[Int: Shape]>>([])
    /// Then they are forgotten: a client may bring other shapes each time.
    private static let most = 256
    /// The turns of those that try a shape: one at a time.
    private let turns: InFlightLimiter
    private let attempt: @Sendable ([Int: Shape]) -> Result<Void, EngineError>

    /// - Parameters:
    ///   - waiters: how many may wait for their turn: as many as hold a slot of the model, so that none is refused.
    ///   - attempt: tries shapes, by the index of the input, every axis fixed. Blocks; is called by one thread at a
    ///     time.
    init(waiters: Int, attempt: @escaping @Sendable ([Int: Shape]) -> Result<Void, EngineError>) {
        turns = InFlightLimiter(
            configuration: LimiterConfiguration(
                limit: 1, queueCapacity: max(waiters, 1), maxWait: .seconds(86_400), policy: .defer))
        self.attempt = attempt
    }

    /// The reason why a set of shapes cannot be used.
    enum Failure: Error {
        /// The model does not accept the shapes.
        case refused(EngineError)
        /// The task was cancelled, or the deadline passed, before the attempt.
        case wait(AdmissionError)
    }

    /// Returns when the shapes are known to be right. A caller that is cancelled, or whose deadline passes, stops
    /// waiting for its turn.
    func check(_ shapes: [Int: Shape], deadline: MonotonicInstant?) async throws(Failure) {
        guard !isKnown(shapes) else { return }
        let slot: Slot
        do throws(AdmissionError) {
            slot = try await turns.acquire(deadline: deadline)
        } catch {
            throw .wait(error)
        }
        defer { slot.release() }
        // An earlier request may have had the same.
        guard !isKnown(shapes) else { return }
        do throws(EngineError) {
            try await LoaderThread.run { [attempt] in attempt(shapes) }.get()
        } catch {
            throw .refused(error)
        }
        known.withLock { known in
            if known.count >= Self.most { known.removeAll() }
            known.insert(shapes)
        }
    }

    private func isKnown(_ shapes: [Int: Shape]) -> Bool { known.withLock { $0.contains(shapes) } }
}

internal import FlowControl
internal import HTTPServer
internal import Inference
internal import ServiceCore
internal import WireFormats

/// Runs the items of one request in slots of its model, and counts cancelled waits and predictions.
///
/// Every prediction goes the same way, whatever its format: its body is read, at once or in a slot; one item runs in
/// the slot in which it was read, several run in a slot each; the format writes the answer.
struct SlotRunner: Sendable {
    let model: Model
    let options: PredictionOptions
    let metrics: ServiceMetrics

    // MARK: The way of a request

    /// Reads a body and answers it. A short body is read at once. A long one is read in a slot, because that takes as
    /// long as a prediction, and as much memory.
    /// - Parameters:
    ///   - length: the number of bytes to read.
    ///   - read: reads the body; its argument returns true once the client has disconnected.
    ///   - answer: answers what was read; it gets the slot of a long body.
    func answer<Read: Sendable>(
        length: Int,
        read: @escaping @Sendable (Model, _ isCancelled: @Sendable () -> Bool) throws(ServiceError) -> Read,
        _ answer: (Read, _ taken: Slot?) async throws(ServiceError) -> HTTPResponse
    ) async throws(ServiceError) -> HTTPResponse {
        guard length > WorkQueue.shortText else { return try await answer(try read(model) { Task.isCancelled }, nil) }
        let taken = try await slot(work: WorkQueue.readingTime(length))
        defer { taken.release() }
        // Like the decoding of large pictures, a long read runs at low priority.
        let isLong = WorkQueue.readingTime(length) >= Claim.long
        let found = try await WorkQueue.onThread(lowPriority: isLong) { [model] (isCancelled) throws(ServiceError) in
            try read(model, isCancelled)
        }
        return try await answer(found, taken)
    }

    /// The answer for one item, or for several.
    /// - Parameters:
    ///   - isList: whether the answer for one item is a list.
    ///   - taken: the slot in which the items were read.
    func answer<Format: AnswerFormat>(
        _ items: [Format.Item], isList: Bool = false, taken: Slot?, as format: Format
    ) async throws(ServiceError) -> HTTPResponse {
        guard !isList, items.count == 1, let item = items.first else {
            taken?.release()
            let outcomes = await outcomes(
                of: items, stopsAtFailure: format.failsAsAWhole, work: { format.pictureTime(of: $0) }
            ) { items, slot in await format.parts(for: items, in: slot, isList: true) }
            return try await format.answer(outcomes)
        }
        let slot = try await slot(work: format.pictureTime(of: item), taken: taken)
        defer { slot.release() }
        return try await format.answer(try await format.parts(for: [item], in: slot, isList: false)[0].get())
    }

    // MARK: Slots

    /// Waits for a slot. The caller releases it after the answer is written, because slots limit memory.
    /// - Parameters:
    ///   - work: estimated nanoseconds of decoding the pictures, from their headers.
    ///   - taken: the slot in which the request was read. It is released and another one is taken if the work turns out
    ///     to need a long slot.
    func slot(work: UInt64 = 0, taken: Slot? = nil) async throws(ServiceError) -> Slot {
        if let taken, work < Claim.long { return taken }
        taken?.release()
        do throws(AdmissionError) {
            return try await model.limiter.acquire(deadline: options.deadline, claim: options.claim.working(work))
        } catch {
            if case .cancelled = error { metrics.cancelled(.queue) }
            throw ServiceError(error)
        }
    }

    /// The request's error for a failed prediction; counts cancellations.
    func failure(_ error: InferenceError, of kind: ItemKind) -> ServiceError {
        if case .cancelled(let stage) = error { metrics.cancelled(stage) }
        return kind == .inputs ? ServiceError(ofInput: error) : ServiceError(error)
    }

    /// The outcome of each item, in order. Items run in chunks of the bundle's batch size, each in its own slot.
    /// - Parameters:
    ///   - stopsAtFailure: whether the first failure ends the run; items that did not run are then missing from the
    ///     result.
    ///   - work: estimated nanoseconds of decoding an item's pictures.
    ///   - run: runs some of the items in a slot, which is released when it returns. Returns as many results.
    func outcomes<Item: Sendable, Value>(
        of items: [Item], stopsAtFailure: Bool, work: @escaping @Sendable (Item) -> UInt64,
        run: @escaping @Sendable ([Item], Slot) async -> [Result<Value, ServiceError>]
    ) async -> [ItemOutcome<Value>] {
        let chunks = model.chunks(of: items.count)
        // Run only enough chunks at a time to keep the engine busy, so that other requests get slots too.
        let width = min(chunks.count, model.instances + 1)
        return await withTaskGroup(of: [ItemOutcome<Value>].self) { group in
            var outcomes: [ItemOutcome<Value>] = []
            for chunk in chunks[..<width] {
                group.addTask { await self.outcomes(of: items[chunk], work: work, run: run) }
            }
            var next = width
            while let ended = await group.next() {
                outcomes += ended
                if stopsAtFailure, ended.contains(where: \.isFailure) { break }
                guard next < chunks.count else { continue }
                let chunk = chunks[next]
                next += 1
                group.addTask { await self.outcomes(of: items[chunk], work: work, run: run) }
            }
            group.cancelAll()
            return outcomes.sorted { $0.index < $1.index }
        }
    }

    private func outcomes<Item: Sendable, Value>(
        of chunk: ArraySlice<Item>, work: @Sendable (Item) -> UInt64,
        run: @Sendable ([Item], Slot) async -> [Result<Value, ServiceError>]
    ) async -> [ItemOutcome<Value>] {
        do throws(ServiceError) {
            let slot = try await slot(work: chunk.reduce(0) { $0 &+ work($1) })
            defer { slot.release() }
            let results = await run(Array(chunk), slot)
            return zip(chunk.indices, results).map { ItemOutcome(index: $0, result: $1) }
        } catch {
            return chunk.indices.map { ItemOutcome(index: $0, result: .failure(error)) }
        }
    }
}

/// The answers of one format.
protocol AnswerFormat: Sendable {
    associatedtype Item: Sendable
    /// The answer of one item, as far as it is made in the item's slot.
    associatedtype Part: Sendable

    /// True if the failure of one item fails the request.
    var failsAsAWhole: Bool { get }
    /// Estimated nanoseconds of decoding an item's pictures.
    func pictureTime(of item: Item) -> UInt64
    /// Predicts for some items, several of them in one inference. Returns as many results, in the same order.
    func parts(for items: [Item], in slot: Slot, isList: Bool) async -> [Result<Part, ServiceError>]
    /// The answer of a single item, while its slot is held.
    func answer(_ part: Part) async throws(ServiceError) -> HTTPResponse
    /// The answer of several items, in order. If one that fails the request has failed, others may be missing.
    func answer(_ parts: [ItemOutcome<Part>]) async throws(ServiceError) -> HTTPResponse
}

/// The outcome of one item of a request. A structure made by a method: see `IndexedOutcome` in Inference.
struct ItemOutcome<Value: Sendable>: Sendable {
    /// The number of the item, from 0.
    let index: Int
    let result: Result<Value, ServiceError>

    var isFailure: Bool {
        if case .failure = result { true } else { false }
    }
}

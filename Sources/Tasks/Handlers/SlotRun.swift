package import FlowControl
package import Inference
package import ServiceCore
package import WireFormats

/// Runs the items of one request in slots of its model, and counts cancelled waits and predictions.
package struct SlotRun: Sendable {
    package let model: Model
    package let options: PredictionOptions
    package let metrics: ServiceMetrics

    package init(model: Model, options: PredictionOptions, metrics: ServiceMetrics) {
        self.model = model
        self.options = options
        self.metrics = metrics
    }

    /// Waits for a slot. The caller releases it after the answer is written, because slots limit memory.
    /// - Parameters:
    ///   - work: estimated nanoseconds of decoding the pictures, from their headers.
    ///   - taken: the slot in which the request was read. It is released and another one is taken if the work turns out
    ///     to need a long slot.
    package func slot(work: UInt64 = 0, taken: Slot? = nil) async throws(ServiceError) -> Slot {
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
    package func failure(_ error: InferenceError, of kind: ItemKind) -> ServiceError {
        if case .cancelled(let stage) = error { metrics.cancelled(stage) }
        return kind == .inputs ? ServiceError(ofInput: error) : ServiceError(error)
    }

    /// The outcome of each item, in order. Items run in chunks of the bundle's batch size, each in its own slot.
    /// - Parameters:
    ///   - stopsAtFailure: whether the first failure ends the run; items that did not run are then missing from the
    ///     result.
    ///   - work: estimated nanoseconds of decoding an item's pictures.
    ///   - run: runs some of the items in a slot, which is released when it returns. Returns as many results.
    package func outcomes<Item: Sendable, Value>(
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

/// The kind of a request's items, with their name in answers and errors.
package enum ItemKind: String {
    /// Pictures: the answer of an item is complete, with the model's name.
    case picture = "part"
    /// Inputs by name: an error names the input.
    case inputs = "item"
}

/// The outcome of one item of a request. A structure made by a method: see `IndexedOutcome` in Inference.
package struct ItemOutcome<Value: Sendable>: Sendable {
    /// The number of the item, from 0.
    package let index: Int
    package let result: Result<Value, ServiceError>

    var isFailure: Bool {
        if case .failure = result { true } else { false }
    }
}

internal import FlowControl
internal import Inference

/// Runs the items of one request in slots of its model, and counts the waits and predictions that were cancelled.
struct SlotRun: Sendable {
    let model: Model
    let options: PredictionOptions
    let metrics: ServiceMetrics

    /// Waits for a slot. It is to be released when the answer is written: what it bounds is memory.
    /// - Parameters:
    ///   - work: nanoseconds that decoding its pictures will take, as their headers say.
    ///   - taken: the slot that was taken to read the request. What was read may promise more work than such a slot is
    ///     given for: then it is released, and another one is taken.
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

    /// A prediction's failure as the request's; counted where it was cancelled.
    func failure(_ error: InferenceError, of kind: ItemKind) -> ServiceError {
        if case .cancelled(let stage) = error { metrics.cancelled(stage) }
        return kind == .inputs ? ServiceError(ofInput: error) : ServiceError(error)
    }

    /// The outcome of each item, in their order: in chunks as large as the bundle lets the engine take, each in a slot
    /// of its own.
    /// - Parameters:
    ///   - stopsAtFailure: whether the first failure ends it: items that it kept from running are not in the answer.
    ///   - work: nanoseconds that decoding an item's pictures will take.
    ///   - run: runs some of the items in a slot, which is released when it returns. Gives as many results.
    func outcomes<Item: Sendable, Value>(
        of items: [Item], stopsAtFailure: Bool, work: @escaping @Sendable (Item) -> UInt64,
        run: @escaping @Sendable ([Item], Slot) async -> [Result<Value, ServiceError>]
    ) async -> [ItemOutcome<Value>] {
        let chunks = model.chunks(of: items.count)
        // Not more at a time than keep the engine busy: the others' requests have a right to the slots too.
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

/// The items of a request, as answers and errors call them.
enum ItemKind: String {
    /// Pictures: an item's answer is whole, with the model's name.
    case picture = "part"
    /// Values by name: an error names the input.
    case inputs = "item"
}

/// The outcome of one item of a request. A structure made by a method: see Inference's `IndexedOutcome`.
struct ItemOutcome<Value: Sendable>: Sendable {
    /// The number of the item, from 0.
    let index: Int
    let result: Result<Value, ServiceError>

    var isFailure: Bool {
        if case .failure = result { true } else { false }
    }
}

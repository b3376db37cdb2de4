internal import Inference

/// The items of one request on their way through a model, in chunks as large as the bundle lets the engine take.
struct BatchRun: Sendable {
    let model: Model
    let options: PredictionOptions
    let metrics: ServiceMetrics

    /// The outcome of each item, in their order.
    /// - Parameters:
    ///   - stopsAtFailure: whether the first failure ends it: items that it kept from running are not in the answer.
    ///   - work: nanoseconds that decoding an item's pictures will take.
    ///   - alone: runs one item in a slot, which is released when it returns.
    ///   - together: runs several items in a slot, in one inference. Gives as many results.
    func outcomes<Item: Sendable, Value>(
        of items: [Item], stopsAtFailure: Bool = false, work: @escaping @Sendable (Item) -> UInt64,
        alone: @escaping @Sendable (Item, RequestSlot) async throws(ServiceError) -> Value,
        together: @escaping @Sendable ([Item], RequestSlot) async -> [Result<Value, ServiceError>]
    ) async -> [ItemOutcome<Value>] {
        let run: @Sendable (Range<Int>, RequestSlot) async -> [Result<Value, ServiceError>] = { chunk, slot in
            guard chunk.count == 1 else { return await together(Array(items[chunk]), slot) }
            do throws(ServiceError) {
                return [.success(try await alone(items[chunk.lowerBound], slot))]
            } catch {
                return [.failure(error)]
            }
        }
        let works: @Sendable (Range<Int>) -> UInt64 = { chunk in items[chunk].reduce(0) { $0 &+ work($1) } }
        let chunks = model.chunks(of: items.count)
        // Not more at a time than keep the engine busy: the others' requests have a right to the slots too.
        let width = min(chunks.count, model.instances + 1)
        return await withTaskGroup(of: [ItemOutcome<Value>].self) { group in
            var outcomes: [ItemOutcome<Value>] = []
            for chunk in chunks[..<width] { group.addTask { await self.outcomes(of: chunk, work: works(chunk), run) } }
            var next = width
            while let ended = await group.next() {
                outcomes += ended
                if stopsAtFailure, ended.contains(where: \.isFailure) { break }
                guard next < chunks.count else { continue }
                let chunk = chunks[next]
                next += 1
                group.addTask { await self.outcomes(of: chunk, work: works(chunk), run) }
            }
            group.cancelAll()
            return outcomes.sorted { $0.index < $1.index }
        }
    }

    private func outcomes<Value>(
        of chunk: Range<Int>, work: UInt64,
        _ run: @Sendable (Range<Int>, RequestSlot) async -> [Result<Value, ServiceError>]
    ) async -> [ItemOutcome<Value>] {
        let slot: RequestSlot
        do throws(ServiceError) {
            slot = try await RequestSlot(of: model, options: options, work: work, metrics: metrics)
        } catch {
            return chunk.map { ItemOutcome(index: $0, result: .failure(error)) }
        }
        defer { slot.release() }
        let results = await run(chunk, slot)
        return zip(chunk, results).map { ItemOutcome(index: $0, result: $1) }
    }
}

/// The outcome of one item of a request. A structure made by a method: see Inference's `IndexedOutcome`.
struct ItemOutcome<Value: Sendable>: Sendable {
    /// Which item, from 0.
    let index: Int
    let result: Result<Value, ServiceError>

    var isFailure: Bool {
        if case .failure = result { true } else { false }
    }
}

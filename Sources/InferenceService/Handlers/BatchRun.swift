internal import Inference

/// The items of one request on their way through a model, in chunks as large as the bundle lets the engine take.
struct BatchRun: Sendable {
    let model: Model
    let options: PredictionOptions
    let metrics: ServiceMetrics

    /// What became of each item, in their order.
    /// - Parameters:
    ///   - count: how many items there are.
    ///   - stopsAtFailure: whether the first failure ends it: items that it kept from running are not in the answer.
    ///   - run: runs the items of a range in a slot, which is released when it returns. Gives as many results.
    func outcomes<Value>(
        count: Int, stopsAtFailure: Bool = false,
        run: @escaping @Sendable (Range<Int>, Slot) async -> [Result<Value, ServiceError>]
    ) async -> [ItemOutcome<Value>] {
        let chunks = model.chunks(of: count)
        // Not more at a time than keep the engine busy: the others' requests have a right to the slots too.
        let width = min(chunks.count, model.instances + 1)
        return await withTaskGroup(of: [ItemOutcome<Value>].self) { group in
            var outcomes: [ItemOutcome<Value>] = []
            for chunk in chunks[..<width] { group.addTask { await self.outcomes(of: chunk, run) } }
            var next = width
            while let ended = await group.next() {
                outcomes += ended
                if stopsAtFailure, ended.contains(where: \.isFailure) { break }
                guard next < chunks.count else { continue }
                let chunk = chunks[next]
                next += 1
                group.addTask { await self.outcomes(of: chunk, run) }
            }
            group.cancelAll()
            return outcomes.sorted { $0.index < $1.index }
        }
    }

    private func outcomes<Value>(
        of chunk: Range<Int>, _ run: @Sendable (Range<Int>, Slot) async -> [Result<Value, ServiceError>]
    ) async -> [ItemOutcome<Value>] {
        let slot: Slot
        do throws(ServiceError) {
            slot = try await Slot(of: model, options: options, metrics: metrics)
        } catch {
            return chunk.map { ItemOutcome(index: $0, result: .failure(error)) }
        }
        defer { slot.release() }
        let results = await run(chunk, slot)
        return zip(chunk, results).map { ItemOutcome(index: $0, result: $1) }
    }
}

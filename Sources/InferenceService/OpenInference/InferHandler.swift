internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference

/// Answers `POST /v2/models/{name}/infer`: the engine's own tensors in and out, and encoded pictures where the bundle says
/// how they become tensors.
struct InferHandler: Sendable {
    let repository: ModelRepository
    let settings: Settings
    let metrics: ServiceMetrics

    /// What every prediction of one request shares.
    private struct Job: Sendable {
        let model: Model
        let name: String
        let answer: InferAnswer
        let options: PredictionOptions
        /// Nanoseconds from the request's first byte to its last.
        let receiving: UInt64
    }

    func respond(
        to request: HTTPRequest, model name: String, version: String?
    ) async throws(ServiceError) -> HTTPResponse {
        // What the body says of a timeout is read when the model is there that it is for.
        let received = MonotonicInstant(nanoseconds: request.bodyReceivedNanoseconds)
        let model: Model
        do throws(InferenceError) {
            model = try await repository.model(
                named: name, version: version, deadline: received + .seconds(settings.deadline))
        } catch {
            throw ServiceError(error)
        }
        var reader = InferRequestReader(
            model: model.description, body: request.body, headerLength: try Self.headerLength(request),
            mostPictures: settings.maxBatch)
        let infer = try reader.read()
        let batch = try InferBatch(infer, model: model.description, most: settings.maxBatch)
        var options = PredictionOptions()
        let time = min(infer.timeout.map { Double($0) / 1e6 } ?? settings.deadline, settings.maxDeadline)
        options.deadline = received + .nanoseconds(Int64(time * 1e9))
        let job = Job(
            model: model, name: name,
            answer: try InferAnswer(
                request: infer, model: model.description, name: name, version: model.description.version),
            options: options,
            receiving: request.receiving)
        if batch.items.count == 1, let item = batch.items.first { return try await single(item, job) }
        return try await several(batch.items, job)
    }

    /// How much of the body is JSON; nil where all of it is.
    private static func headerLength(_ request: HTTPRequest) throws(ServiceError) -> Int? {
        try request.head.refuseContentCodings()
        let values = request.head.values(of: "inference-header-content-length")
        guard let text = values.first else { return nil }
        guard values.count == 1, !text.isEmpty, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }), let length = Int(text),
            length <= request.body.count
        else {
            throw .badRequest(
                "Inference-Header-Content-Length: expected the bytes of JSON, 0 to \(request.body.count) (the whole body), "
                    + "found \"\(values.joined(separator: ", ").prefix(40))\"")
        }
        return length
    }

    // MARK: One prediction

    private func single(_ item: DictionaryFeatureProvider, _ job: Job) async throws(ServiceError) -> HTTPResponse {
        let slot = try await Slot(of: job.model, options: job.options, metrics: metrics)
        defer { slot.release() }
        let answer = job.answer
        if answer.isPlainBinary {
            return try await run(item, job, slot) { views in answer.response(views) }
        }
        let copied = try await run(item, job, slot) { views in CopiedOutputs(views) }
        return copied.withViews { answer.response($0) }
    }

    private func run<R: Sendable>(
        _ item: DictionaryFeatureProvider, _ job: Job, _ slot: Slot, read: ([TensorView]) -> R
    ) async throws(ServiceError) -> R {
        do throws(InferenceError) {
            var (result, times) = try await slot.run(metrics: metrics) { (permit) throws(InferenceError) in
                try await job.model.tensors(from: item, options: job.options, permit: permit) {
                    (views, times) throws(InferenceError) in (read(views), times)
                }
            }
            times.queue &+= slot.waited
            metrics.record(times, recv: job.receiving, encode: 0, model: job.name)
            return result
        } catch {
            throw ServiceError(ofInput: error)
        }
    }

    // MARK: A batch

    /// What became of one item. A structure made by a method: see Inference's `IndexedOutcome`.
    private struct ItemOutcome: Sendable {
        let index: Int
        let result: Result<CopiedOutputs, ServiceError>
    }

    private func outcomes(
        of items: [DictionaryFeatureProvider], in chunk: Range<Int>, _ job: Job
    ) async -> [ItemOutcome] {
        let slot: Slot
        do throws(ServiceError) {
            slot = try await Slot(of: job.model, options: job.options, metrics: metrics)
        } catch {
            return chunk.map { ItemOutcome(index: $0, result: .failure(error)) }
        }
        defer { slot.release() }
        if chunk.count > 1 { return await together(items, chunk, job, slot) }
        let index = chunk.lowerBound
        do throws(ServiceError) {
            let outputs = try await run(items[index], job, slot) { views in CopiedOutputs(views) }
            return [ItemOutcome(index: index, result: .success(outputs))]
        } catch {
            return [ItemOutcome(index: index, result: .failure(error))]
        }
    }

    /// Several items in one inference, which hold one slot: where the bundle asks for it (`runtime.batch`).
    private func together(
        _ items: [DictionaryFeatureProvider], _ chunk: Range<Int>, _ job: Job, _ slot: Slot
    ) async -> [ItemOutcome] {
        let results = await slot.runTogether(metrics: metrics) { permit in
            await job.model.tensors(together: Array(items[chunk]), options: job.options, permit: permit) {
                (views, times) throws(InferenceError) in
                var times = times
                times.queue &+= slot.waited
                metrics.record(times, recv: job.receiving, encode: 0, model: job.name)
                return CopiedOutputs(views)
            }
        }
        return zip(chunk, results).map { index, result in
            ItemOutcome(index: index, result: result.mapError { ServiceError(ofInput: $0) })
        }
    }

    /// One answer for all: one item's failure is the request's.
    private func several(_ items: [DictionaryFeatureProvider], _ job: Job) async throws(ServiceError) -> HTTPResponse {
        let chunks = job.model.chunks(of: items.count)
        let width = max(1, min(chunks.count, job.model.instances + 1))
        let outcomes = await withTaskGroup(of: [ItemOutcome].self) { group in
            var outcomes: [ItemOutcome] = []
            for chunk in chunks[..<width] { group.addTask { await self.outcomes(of: items, in: chunk, job) } }
            var next = width
            while let ended = await group.next() {
                outcomes += ended
                if ended.contains(where: { if case .failure = $0.result { true } else { false } }) { break }
                guard next < chunks.count else { continue }
                let chunk = chunks[next]
                next += 1
                group.addTask { await self.outcomes(of: items, in: chunk, job) }
            }
            group.cancelAll()
            return outcomes.sorted { $0.index < $1.index }
        }
        var outputs: [CopiedOutputs] = []
        for outcome in outcomes {
            switch outcome.result {
            case .success(let one): outputs.append(one)
            case .failure(let error): throw error.prefixed("item \(outcome.index + 1) of the batch: ")
            }
        }
        return CopiedOutputs(joining: outputs).withViews { job.answer.response($0) }
    }
}

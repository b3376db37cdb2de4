internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Settings
internal import SystemSupport

/// Answers `POST /v1/models/{name}/predict`: any model, by what its `model.json` says.
struct PredictHandler: Sendable {
    let repository: ModelRepository
    let settings: Settings
    let metrics: ServiceMetrics

    func respond(
        to request: HTTPRequest, model name: String, version: String?
    ) async throws(ServiceError) -> HTTPResponse {
        let query = try ClassifyQuery(request.head.target, settings: settings)
        let options = PredictJob.options(query, of: request, settings: settings)
        let model: Model
        do throws(InferenceError) {
            model = try await repository.model(named: name, version: version, deadline: options.deadline)
        } catch {
            throw ServiceError(error)
        }
        let job = try PredictJob(request: request, model: model, name: name, query: query, options: options)
        let (items, isBatch) = try items(of: request, model: model)
        if !isBatch, let item = items.first { return try await single(job, item: item) }
        return await batch(job, items: items)
    }

    // MARK: The body

    private func items(
        of request: HTTPRequest, model: Model
    ) throws(ServiceError) -> (items: [DictionaryFeatureProvider], isBatch: Bool) {
        try request.head.refuseContentCodings()
        let inputs = model.description.inputs
        let type = request.head.value(of: "content-type") ?? ""
        let boundary: [UInt8]?
        do throws(WireError) {
            boundary = try MultipartDecoder.boundary(contentType: type)
        } catch {
            throw ServiceError(error)
        }
        if let boundary {
            let name = try imageInput(of: model, found: "multipart/form-data")
            let parts = try ImageParts(request.body, boundary: boundary, most: settings.maxBatch).ranges
            return (parts.map { [name: .image(EncodedImage(request.body, $0))] }, parts.count > 1)
        }
        guard Self.isJSON(request.body, type: type) else {
            let name = try imageInput(of: model, found: "a body that is not JSON")
            return ([[name: .image(EncodedImage(request.body, 0..<request.body.count))]], false)
        }
        do throws(JSONError) {
            let body = try request.body.withUnsafeBytes { (bytes) throws(JSONError) in
                try PredictBody(bytes, inputs: inputs, settings: settings)
            }
            return (body.items, body.isBatch)
        } catch {
            throw ServiceError(error)
        }
    }

    /// What the client calls it counts where it names JSON or a picture; else the first byte tells (curl calls everything
    /// a form).
    private static func isJSON(_ body: HTTPBody, type: String) -> Bool {
        let type = type.lowercased()
        if type.hasPrefix("application/json") { return true }
        if type.hasPrefix("image/") { return false }
        return body.withUnsafeBytes { bytes in
            guard let first = bytes.first(where: { !" \t\r\n".utf8.contains($0) }) else { return false }
            // No picture format begins with one of these.
            return "{[\"-0123456789tfnN".utf8.contains(first) || bytes.starts(with: [0xEF, 0xBB, 0xBF])
        }
    }

    private func imageInput(of model: Model, found: String) throws(ServiceError) -> String {
        if let input = model.description.imageInput { return input.name }
        let names = model.description.inputs.map { "\"\($0.name)\"" }.joined(separator: ", ")
        throw ServiceError.invalidInput(
            "expected JSON, {\"inputs\": {\"NAME\": VALUE}} with \(names): the model does not take one picture; found \(found)"
        )
    }

    // MARK: One prediction

    private struct Done: Sendable {
        let prediction: Prediction
        /// Nanoseconds that it waited for its slot.
        let waited: UInt64
    }

    private func predict(
        _ item: DictionaryFeatureProvider, _ job: PredictJob, in slot: Slot
    ) async throws(ServiceError) -> Done {
        do throws(InferenceError) {
            let prediction = try await slot.run(metrics: metrics) { (permit) throws(InferenceError) in
                try await job.model.prediction(from: item, options: job.options, permit: permit)
            }
            return Done(prediction: prediction, waited: slot.waited)
        } catch {
            throw ServiceError(ofInput: error)
        }
    }

    private func single(_ job: PredictJob, item: DictionaryFeatureProvider) async throws(ServiceError) -> HTTPResponse {
        let slot = try await Slot(of: job.model, options: job.options, metrics: metrics)
        defer { slot.release() }
        let done = try await predict(item, job, in: slot)
        let encoding = MonotonicInstant.now
        var times = done.prediction.times
        times.queue &+= done.waited
        let body: [UInt8], type: String
        if job.wantsPNG, let png = Self.picture(done.prediction) {
            body = png
            type = "image/png"
        } else {
            var writer = JSONWriter(capacity: 4096)
            writer.object { writer in
                job.writeHeader(to: &writer)
                job.write(
                    done.prediction, queue: done.waited, total: encoding.nanoseconds(since: job.received), to: &writer)
            }
            body = writer.bytes
            type = "application/json"
        }
        let encode = MonotonicInstant.now.nanoseconds(since: encoding)
        metrics.record(times, recv: job.receiving, encode: encode, model: job.name)
        return job.response(body, type: type, times: times, encode: encode)
    }

    /// The bytes of the one picture that a prediction gave.
    private static func picture(_ prediction: Prediction) -> [UInt8]? {
        for name in prediction.featureNames {
            if case .image(let image)? = prediction.featureValue(for: name) {
                return image.withUnsafeBytes { [UInt8]($0) }
            }
        }
        return nil
    }

    // MARK: Several

    /// Predicts some of the items in a slot, in one inference.
    private func results(
        of items: [DictionaryFeatureProvider], _ chunk: Range<Int>, _ job: PredictJob, _ slot: Slot
    ) async -> [Result<Done, ServiceError>] {
        guard chunk.count > 1 else {
            do throws(ServiceError) {
                return [.success(try await predict(items[chunk.lowerBound], job, in: slot))]
            } catch {
                return [.failure(error)]
            }
        }
        let results = await slot.runTogether(metrics: metrics) { permit in
            await job.model.predictions(together: Array(items[chunk]), options: job.options, permit: permit)
        }
        return results.map { result in
            result.map { Done(prediction: $0, waited: slot.waited) }.mapError { ServiceError(ofInput: $0) }
        }
    }

    private func batch(_ job: PredictJob, items: [DictionaryFeatureProvider]) async -> HTTPResponse {
        let run = BatchRun(model: job.model, options: job.options, metrics: metrics)
        let outcomes = await run.outcomes(count: items.count) { chunk, slot in
            await results(of: items, chunk, job, slot)
        }
        let encoding = MonotonicInstant.now
        var sum = StageTimes()
        var writer = JSONWriter(capacity: 1024 * items.count)
        writer.object { writer in
            job.writeHeader(to: &writer)
            writer.key("results")
            writer.array { writer in
                for outcome in outcomes { write(outcome, job, sum: &sum, encoding: encoding, to: &writer) }
            }
            writer.key("timing_ms")
            AnswerWriter.write(sum, total: encoding.nanoseconds(since: job.received), to: &writer)
        }
        let encode = MonotonicInstant.now.nanoseconds(since: encoding)
        return job.response(writer.bytes, type: "application/json", times: sum, encode: encode)
    }

    private func write(
        _ outcome: ItemOutcome<Done>, _ job: PredictJob, sum: inout StageTimes, encoding: MonotonicInstant,
        to writer: inout JSONWriter
    ) {
        writer.object { writer in
            switch outcome.result {
            case .success(let done):
                var times = done.prediction.times
                times.queue &+= done.waited
                sum.queue = max(sum.queue, times.queue)
                sum.decode &+= times.decode
                sum.inference &+= times.inference
                metrics.record(times, recv: job.receiving, encode: 0, model: job.name)
                job.write(
                    done.prediction, queue: done.waited, total: encoding.nanoseconds(since: job.received), to: &writer)
            case .failure(let error):
                writer.key("error")
                writer.string("item \(outcome.index + 1): \(error.message)")
                writer.key("code")
                writer.string(error.code)
                writer.key("item")
                writer.integer(outcome.index + 1)
            }
        }
    }
}

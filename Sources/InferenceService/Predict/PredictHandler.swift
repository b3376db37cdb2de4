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
        to request: HTTPRequest, _ query: ClassifyQuery, _ choice: ModelChoice
    ) async throws(ServiceError) -> HTTPResponse {
        try request.head.refuseContentCodings()
        let parts = try ImageParts.of(request, most: settings.maxBatch, parameters: ClassifyQuery.names)
        let query = try query.adding(parts?.parameters, of: request, settings: settings)
        var options = PredictJob.options(query, of: request, settings: settings)
        options.claim = choice.claim
        let model = try await choice.model(in: repository, deadline: options.deadline)
        let job = try PredictJob(request: request, model: model, name: choice.name, query: query, options: options)
        if let parts {
            let input = try imageInput(of: model, found: "multipart/form-data")
            let items = parts.ranges.map { range -> DictionaryFeatureProvider in
                [input: .image(model.reading(EncodedImage(request.body, range)))]
            }
            if items.count == 1, let item = items.first { return try await single(job, item: item) }
            return await batch(job, items: items)
        }
        guard Self.isJSON(request.body, type: request.head.value(of: "content-type") ?? "") else {
            let input = try imageInput(of: model, found: "a body that is not JSON")
            let image = model.reading(EncodedImage(request.body, 0..<request.body.count))
            do throws(ServiceError) {
                return try await single(job, item: [input: .image(image)])
            } catch {
                throw BodyAdvice.adding(to: error, of: request, model: model, name: choice.name)
            }
        }
        switch try await json(job, body: request.body) {
        case .one(let response): return response
        case .several(let items): return await batch(job, items: items)
        }
    }

    // MARK: The body

    /// The outcome of a JSON body: the answer of one prediction, or the inputs of several.
    private enum Outcome {
        case one(HTTPResponse)
        case several([DictionaryFeatureProvider])
    }

    /// Reads the values, and runs a single prediction. In a slot: reading millions of numbers takes as long as a prediction does,
    /// and as much memory.
    private func json(_ job: PredictJob, body: HTTPBody) async throws(ServiceError) -> Outcome {
        let slot = try await RequestSlot(of: job.model, options: job.options, metrics: metrics)
        defer { slot.release() }
        let read: PredictBody
        do throws(JSONError) {
            read = try body.withUnsafeBytes { (bytes) throws(JSONError) in
                try PredictBody(bytes, inputs: job.model.description.inputs, settings: settings)
            }
        } catch {
            throw ServiceError(error)
        }
        guard !read.isBatch, let item = read.items.first else { return .several(read.items) }
        let graded = try await RequestSlot(
            of: job.model, options: job.options, taken: slot, work: job.model.decodingTime(of: item), metrics: metrics)
        defer { graded.release() }
        return .one(try await single(job, item: item, in: graded))
    }

    /// True if a body is JSON. The client's type counts where it names JSON or a picture; else the first byte tells (curl calls
    /// everything a form).
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
        _ item: DictionaryFeatureProvider, _ job: PredictJob, in slot: RequestSlot
    ) async throws(ServiceError) -> Done {
        do throws(InferenceError) {
            let prediction = try await slot.run(metrics: metrics) { (held) throws(InferenceError) in
                try await job.model.prediction(from: item, options: job.options, slot: held)
            }
            return Done(prediction: prediction, waited: slot.waited)
        } catch {
            throw ServiceError(ofInput: error)
        }
    }

    private func single(_ job: PredictJob, item: DictionaryFeatureProvider) async throws(ServiceError) -> HTTPResponse {
        let slot = try await RequestSlot(
            of: job.model, options: job.options, work: job.model.decodingTime(of: item), metrics: metrics)
        defer { slot.release() }
        return try await single(job, item: item, in: slot)
    }

    private func single(
        _ job: PredictJob, item: DictionaryFeatureProvider, in slot: RequestSlot
    ) async throws(ServiceError) -> HTTPResponse {
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
    private func predict(
        together items: [DictionaryFeatureProvider], _ job: PredictJob, in slot: RequestSlot
    ) async -> [Result<Done, ServiceError>] {
        let results = await slot.runTogether(metrics: metrics) { held in
            await job.model.predictions(together: items, options: job.options, slot: held)
        }
        return results.map { result in
            result.map { Done(prediction: $0, waited: slot.waited) }.mapError { ServiceError(ofInput: $0) }
        }
    }

    private func batch(_ job: PredictJob, items: [DictionaryFeatureProvider]) async -> HTTPResponse {
        let run = BatchRun(model: job.model, options: job.options, metrics: metrics)
        let outcomes = await run.outcomes(of: items, work: { job.model.decodingTime(of: $0) }) {
            (item, slot) throws(ServiceError) in
            try await predict(item, job, in: slot)
        } together: { items, slot in
            await predict(together: items, job, in: slot)
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
            ClassificationWriter.write(sum, total: encoding.nanoseconds(since: job.received), to: &writer)
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
                metrics.failed(error)
                writer.key("error")
                writer.string("item \(outcome.index + 1): \(error.message)")
                writer.key("code")
                writer.string(error.code.rawValue)
                writer.key("item")
                writer.integer(outcome.index + 1)
            }
        }
    }
}

internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Settings
internal import SystemSupport

/// Answers `POST .../classify`: one picture, or several as multipart.
struct ClassifyHandler: Sendable {
    let repository: ModelRepository
    let settings: Settings
    let metrics: ServiceMetrics

    func respond(
        to request: HTTPRequest, _ query: ClassifyQuery, _ choice: ModelChoice
    ) async throws(ServiceError) -> HTTPResponse {
        try request.head.refuseContentCodings()
        let parts = try ImageParts.of(request, most: settings.maxBatch, parameters: ClassifyQuery.names)
        let query = try query.adding(parts?.parameters, of: request, settings: settings)
        var options = ClassifyJob.options(query, of: request, settings: settings)
        options.claim = choice.claim
        let (model, name) = try await choice.model(
            in: repository, deadline: options.deadline, fits: \.isImageClassifier
        ) { () throws(ServiceError) in try repository.defaultName(settings) }
        let job = try ClassifyJob(
            request: request, model: model, name: name, query: query, options: options, settings: settings)
        guard let parts = parts?.ranges else {
            let image = EncodedImage(request.body, 0..<request.body.count)
            do throws(ServiceError) {
                if let form = query.explain { return try await explain(job, image: image, form: form) }
                return try await single(job, image: image)
            } catch {
                throw BodyAdvice.adding(to: error, of: request, model: model, name: name)
            }
        }
        if let form = query.explain {
            guard parts.count == 1 else {
                throw ServiceError.badRequest(
                    "query parameter \"explain\" shows one picture at a time: the multipart body has \(parts.count)")
            }
            return try await explain(job, image: EncodedImage(request.body, parts[0]), form: form)
        }
        guard parts.count > 1 else {
            return try await single(job, image: EncodedImage(request.body, parts[0]))
        }
        return await batch(job, images: parts.map { EncodedImage(request.body, $0) })
    }

    // MARK: One picture

    private func single(_ job: ClassifyJob, image: EncodedImage) async throws(ServiceError) -> HTTPResponse {
        let image = job.model.reading(image)
        let slot = try await RequestSlot(
            of: job.model, options: job.options, work: image.decodingTime, metrics: metrics)
        defer { slot.release() }
        let result = try await classify(image, job: job, in: slot)
        let encoding = MonotonicInstant.now
        var writer = JSONWriter(capacity: 256 + result.classifications.count * 96)
        writer.object { writer in
            job.writeHeader(to: &writer)
            ClassificationWriter.write(result, total: encoding.nanoseconds(since: job.received), to: &writer)
        }
        let end = MonotonicInstant.now
        let encode = end.nanoseconds(since: encoding)
        metrics.record(
            result.times, recv: job.receiving, encode: encode, model: job.name,
            total: end.nanoseconds(since: job.received))
        return job.response(
            writer.bytes, times: result.times, encode: encode,
            topLabel: settings.logTopLabel ? result.classifications.first?.label : nil)
    }

    private func classify(
        _ image: EncodedImage, job: ClassifyJob, in slot: RequestSlot
    ) async throws(ServiceError) -> ClassificationResult {
        do throws(InferenceError) {
            let result = try await slot.run(metrics: metrics) { (held) throws(InferenceError) in
                try await job.model.classification(
                    of: image, top: job.top, threshold: job.threshold, options: job.options, slot: held)
            }
            return result.adding(queue: slot.waited)
        } catch {
            throw ServiceError(error)
        }
    }

    // MARK: What the model sees

    private func explain(
        _ job: ClassifyJob, image: EncodedImage, form: ClassifyQuery.Explanation
    ) async throws(ServiceError) -> HTTPResponse {
        let image = job.model.reading(image)
        let slot = try await RequestSlot(
            of: job.model, options: job.options, work: image.decodingTime, metrics: metrics)
        defer { slot.release() }
        let result: PreprocessedImage
        do throws(InferenceError) {
            let room = try await job.model.decodeRoom(for: image, options: job.options)
            defer { room?.release() }
            result = try await job.model.preprocess(givingWay: image, options: job.options)
        } catch {
            throw ServiceError(error)
        }
        do {
            let (type, body) =
                switch form {
                case .preprocess:
                    ("application/json", try PreprocessingAnswer.json(result) { job.writeHeader(to: &$0) })
                case .png: ("image/png", try result.png())
                case .npy: ("application/x-npy", try result.npy())
                }
            return HTTPResponse(status: .ok, fields: [("Content-Type", type)], body: body)
        } catch {
            throw ServiceError(.internal, "cannot encode the tensor: \(error)")
        }
    }

    // MARK: Several

    /// Classifies some of the pictures in a slot, in one inference.
    private func classify(
        together images: [EncodedImage], job: ClassifyJob, in slot: RequestSlot
    ) async -> [Result<ClassificationResult, ServiceError>] {
        let results = await slot.runTogether(metrics: metrics) { held in
            await job.model.classifications(
                together: images, top: job.top, threshold: job.threshold, options: job.options,
                slot: held)
        }
        return results.map { $0.map { $0.adding(queue: slot.waited) }.mapError { ServiceError($0) } }
    }

    private func batch(_ job: ClassifyJob, images: [EncodedImage]) async -> HTTPResponse {
        let run = BatchRun(model: job.model, options: job.options, metrics: metrics)
        let outcomes = await run.outcomes(of: images.map(job.model.reading), work: \.decodingTime) {
            (image, slot) throws(ServiceError) in
            try await classify(image, job: job, in: slot)
        } together: { images, slot in
            await classify(together: images, job: job, in: slot)
        }
        let encoding = MonotonicInstant.now
        var sum = StageTimes()
        var writer = JSONWriter(capacity: 512 * images.count)
        writer.object { writer in
            job.writeHeader(to: &writer)
            writer.key("results")
            writer.array { writer in
                for outcome in outcomes {
                    writer.object { writer in
                        switch outcome.result {
                        case .success(let result):
                            sum.queue = max(sum.queue, result.times.queue)
                            sum.decode &+= result.times.decode
                            sum.inference &+= result.times.inference
                            metrics.record(result.times, recv: job.receiving, encode: 0, model: job.name)
                            job.writeHeader(to: &writer)
                            ClassificationWriter.write(
                                result, total: encoding.nanoseconds(since: job.received), to: &writer)
                        case .failure(let error):
                            metrics.failed(error)
                            ClassifyJob.write(error, part: outcome.index, to: &writer)
                        }
                    }
                }
            }
            writer.key("timing_ms")
            ClassificationWriter.write(sum, total: encoding.nanoseconds(since: job.received), to: &writer)
        }
        return job.response(writer.bytes, times: sum, encode: MonotonicInstant.now.nanoseconds(since: encoding))
    }
}

extension EncodedImage {
    /// A picture that lies in a request's body.
    init(_ body: HTTPBody, _ range: Range<Int>) {
        self.init(byteCount: range.count) { use in
            body.withUnsafeBytes { use(UnsafeRawBufferPointer(rebasing: $0[range])) }
        }
    }
}

extension ClassificationResult {
    /// The same with more time spent in the queue.
    func adding(queue: UInt64) -> ClassificationResult {
        var times = times
        times.queue &+= queue
        return ClassificationResult(
            classifications: classifications, image: image, times: times, areConfidences: areConfidences)
    }
}

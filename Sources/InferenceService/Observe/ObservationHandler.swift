internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import ImagePipeline
internal import Inference
internal import JSON
internal import Settings
internal import SystemSupport

/// Answers `POST .../detect`, `/segment`, `/keypoints` and `/embed`: one picture, or several as multipart.
struct ObservationHandler: Sendable {
    let repository: ModelRepository
    let settings: Settings
    let metrics: ServiceMetrics

    func respond(
        to request: HTTPRequest, _ query: ObservationQuery, _ choice: ModelChoice
    ) async throws(ServiceError) -> HTTPResponse {
        try request.head.refuseContentCodings()
        let parts = try ImageParts.of(
            request, most: settings.maxBatch, parameters: ObservationQuery.names(query.request.task))
        let query = try query.adding(parts?.parameters, of: request, settings: settings)
        var options = PredictionOptions()
        options.cropAndScale = query.crop
        options.claim = choice.claim
        options.ignoresOrientation = query.ignoresOrientation
        options.deadline = request.deadline(query.timeoutMilliseconds, settings: settings)
        let task = query.request.task
        let (model, name) = try await choice.model(
            in: repository, deadline: options.deadline, fits: { $0.tasks.contains(task) }
        ) { () throws(ServiceError) in try repository.defaultName(for: task, settings) }
        let job = try ObservationJob(request: request, model: model, name: name, query: query, options: options)
        guard let parts = parts?.ranges else {
            do throws(ServiceError) {
                return try await single(job, image: EncodedImage(request.body, 0..<request.body.count))
            } catch {
                throw BodyAdvice.adding(to: error, of: request, model: model, name: name)
            }
        }
        guard parts.count > 1 else { return try await single(job, image: EncodedImage(request.body, parts[0])) }
        return try await batch(job, images: parts.map { EncodedImage(request.body, $0) })
    }

    // MARK: One picture

    private func single(_ job: ObservationJob, image: EncodedImage) async throws(ServiceError) -> HTTPResponse {
        let image = job.model.reading(image)
        let slot = try await RequestSlot(
            of: job.model, options: job.options, work: image.decodingTime, metrics: metrics)
        // Held until the answer is encoded: a mask is a picture again.
        defer { slot.release() }
        let result = try await observe(image, job: job, in: slot)
        let encoding = MonotonicInstant.now
        let (type, body) = try answer(to: job) { () throws(ImageError) in
            switch (job.form, result.content) {
            case (.png?, .mask(let mask, _)):
                return ("image/png", try MaskPicture.png(mask, palette: true, isCancelled: { job.isCancelled }))
            case (.floats?, .embedding(let values)): return ("application/octet-stream", Self.bytes(values))
            default:
                var writer = JSONWriter(capacity: 512 + result.count * 160)
                var failure: ImageError?
                writer.object { writer in
                    job.writeHeader(to: &writer)
                    do throws(ImageError) {
                        try self.writer(job).write(
                            result, total: encoding.nanoseconds(since: job.received), to: &writer)
                    } catch {
                        failure = error
                    }
                }
                if let failure { throw failure }
                return ("application/json", writer.bytes)
            }
        }
        let end = MonotonicInstant.now
        let encode = end.nanoseconds(since: encoding)
        metrics.record(
            result.times, recv: job.receiving, encode: encode, model: job.name,
            total: end.nanoseconds(since: job.received))
        metrics.found(result.count, task: job.query.request.task, model: job.name)
        return job.response(body, type: type, times: result.times, encode: encode)
    }

    private func writer(_ job: ObservationJob) -> ObservationWriter {
        ObservationWriter(
            mask: job.query.mask, encoding: job.query.encoding, classes: job.query.request.classes,
            most: job.query.request.top, isCancelled: { job.isCancelled })
    }

    /// Writes an answer, with its failures as the client's or the daemon's.
    private func answer<R>(to job: ObservationJob, _ write: () throws(ImageError) -> R) throws(ServiceError) -> R {
        do throws(ImageError) {
            return try write()
        } catch {
            guard case .cancelled = error else { throw ServiceError(error) }
            metrics.cancelled(.postprocess)
            throw ServiceError(InferenceError.stopped(at: .postprocess))
        }
    }

    /// 32-bit floats, the low byte first.
    private static func bytes(_ values: [Float]) -> [UInt8] {
        values.flatMap { value in withUnsafeBytes(of: value.bitPattern.littleEndian) { Array($0) } }
    }

    private func observe(
        _ image: EncodedImage, job: ObservationJob, in slot: RequestSlot
    ) async throws(ServiceError) -> ObservationResult {
        do throws(InferenceError) {
            var result = try await slot.run(metrics: metrics) { (held) throws(InferenceError) in
                try await job.model.observations(
                    of: image, request: job.query.request, options: job.options, slot: held)
            }
            result.times.queue &+= slot.waited
            return result
        } catch {
            throw ServiceError(error)
        }
    }

    // MARK: Several

    /// One picture's answer, written while its slot is held.
    private struct Written: Sendable {
        let json: [UInt8]
        let floats: [UInt8]
        let times: StageTimes
        let count: Int
    }

    private func observe(
        together images: [EncodedImage], job: ObservationJob, in slot: RequestSlot
    ) async -> [Result<Written, ServiceError>] {
        let found = await slot.runTogether(metrics: metrics) { held in
            await job.model.observations(
                together: images, request: job.query.request, options: job.options, slot: held)
        }
        return found.map { result in
            switch result {
            case .failure(let error): return .failure(ServiceError(error))
            case .success(var result):
                result.times.queue &+= slot.waited
                do throws(ServiceError) {
                    return .success(try written(result, job))
                } catch {
                    return .failure(error)
                }
            }
        }
    }

    private func written(_ result: ObservationResult, _ job: ObservationJob) throws(ServiceError) -> Written {
        if case .floats? = job.form, case .embedding(let values) = result.content {
            return Written(json: [], floats: Self.bytes(values), times: result.times, count: result.count)
        }
        return try answer(to: job) { () throws(ImageError) in
            var writer = JSONWriter(capacity: 512 + result.count * 160)
            var failure: ImageError?
            writer.object { writer in
                job.writeHeader(to: &writer)
                do throws(ImageError) {
                    try self.writer(job).write(
                        result, total: MonotonicInstant.now.nanoseconds(since: job.received), to: &writer)
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            return Written(json: writer.bytes, floats: [], times: result.times, count: result.count)
        }
    }

    private func batch(_ job: ObservationJob, images: [EncodedImage]) async throws(ServiceError) -> HTTPResponse {
        let run = BatchRun(model: job.model, options: job.options, metrics: metrics)
        let outcomes = await run.outcomes(of: images.map(job.model.reading), work: \.decodingTime) {
            (image, slot) throws(ServiceError) in
            try written(try await observe(image, job: job, in: slot), job)
        } together: { images, slot in
            await observe(together: images, job: job, in: slot)
        }
        let encoding = MonotonicInstant.now
        var sum = StageTimes()
        for outcome in outcomes {
            guard case .success(let written) = outcome.result else { continue }
            sum.queue = max(sum.queue, written.times.queue)
            sum.decode &+= written.times.decode
            sum.inference &+= written.times.inference
            sum.postprocess &+= written.times.postprocess
            metrics.record(written.times, recv: job.receiving, encode: 0, model: job.name)
            metrics.found(written.count, task: job.query.request.task, model: job.name)
        }
        if case .floats? = job.form {
            // Rows without a header: one that is missing would shift the others.
            var body: [UInt8] = []
            for outcome in outcomes {
                switch outcome.result {
                case .success(let written): body += written.floats
                case .failure(let error): throw error.prefixed("part \(outcome.index + 1): ")
                }
            }
            return job.response(
                body, type: "application/octet-stream", times: sum,
                encode: MonotonicInstant.now.nanoseconds(since: encoding))
        }
        var writer = JSONWriter(capacity: 512 * images.count)
        writer.object { writer in
            job.writeHeader(to: &writer)
            writer.key("results")
            writer.array { writer in
                for outcome in outcomes {
                    switch outcome.result {
                    case .success(let written): writer.raw(written.json)
                    case .failure(let error):
                        metrics.failed(error)
                        writer.object { ClassifyJob.write(error, part: outcome.index, to: &$0) }
                    }
                }
            }
            writer.key("timing_ms")
            ClassificationWriter.write(sum, total: encoding.nanoseconds(since: job.received), to: &writer)
        }
        return job.response(
            writer.bytes, times: sum, encode: MonotonicInstant.now.nanoseconds(since: encoding))
    }
}

package import FlowControl
internal import ImagePipeline
internal import Synchronization
internal import SystemSupport

extension Model {
    /// The tasks of a model other than classification.
    package var tasks: [ObservationTask] { observations.map(\.output.task) }

    /// The routes that it answers, and what is missing for others, for those who asked for something else.
    package var abilities: String {
        if pipeline != nil { return "it is a pipeline, and answers /detect" }
        let routes = tasks.map { "/\($0.rawValue)" } + (isImageClassifier ? ["/classify"] : []) + ["/predict"]
        return "it answers " + routes.joined(separator: ", ") + (provenance?.explanation.map { "; \($0)" } ?? "")
    }

    /// The description of what it finds for a task; nil if it does not do it.
    package func observationOutput(for task: ObservationTask) -> ObservationOutput? {
        observations.first { $0.output.task == task }?.output
    }

    /// The length of its embeddings; nil if it gives none.
    package var embeddingDimension: Int? { observations.first { $0.output.task == .embed }?.dimension }

    /// Finds in one picture what a request asks for.
    /// - Throws: `unsupported` where the model does not do that; ``InferenceError`` as for predictions.
    package func observations(
        of image: EncodedImage, request: ObservationRequest, options: PredictionOptions = PredictionOptions()
    ) async throws(InferenceError) -> ObservationResult {
        let slot = try await admit(nil, options)
        defer { slot.release() }
        return try await observations(of: [image], request: request, options: options, slot: slot)[0].get()
    }

    /// The same in a slot that is held, of the model alone, for one picture.
    func observation(
        of image: EncodedImage, request: ObservationRequest, options: PredictionOptions, slot: Slot
    ) async throws(InferenceError) -> ObservationResult {
        let reader = try reader(of: request, options)
        return try await run(options: options.choosing(request), slot: slot, shapes: [:]) {
            (_, input) throws(InferenceError) in
            input.isPicture ? .image(image) : nil
        } read: { (outputs, info, times) throws(InferenceError) -> ObservationResult in
            try reader.result(in: outputs, image: info, times: times)
        }
    }

    /// The same for several pictures in one inference; see ``classifications(of:top:threshold:options:slot:)``.
    package func observations(
        of images: [EncodedImage], request: ObservationRequest, options: PredictionOptions, slot: Slot
    ) async -> [Result<ObservationResult, InferenceError>] {
        if pipeline != nil || request.keepsPicture {
            return await outcomes(of: images, by: pipelineRun(request, options, slot))
        }
        return await results(of: images) { (image) throws(InferenceError) in
            try await observation(of: image, request: request, options: options, slot: slot)
        } together: { () throws(InferenceError) in
            let reader = try reader(of: request, options)
            return try await runTogether(images.count, options: options.choosing(request), slot: slot) {
                (item, input) throws(InferenceError) in
                input.isPicture ? .image(images[item]) : nil
            } read: { (outputs, info, times) throws(InferenceError) in
                try reader.result(in: outputs, image: info, times: times)
            }
        }
    }

    /// The picture that a stage of a pipeline sees of a find, in a slot that is held; see
    /// ``PipelineRun/explanation(of:_:finds:)``.
    package func explanation(
        of image: EncodedImage, _ way: [Pipeline.Stage], finds: [Int], request: ObservationRequest,
        options: PredictionOptions, slot: Slot
    ) async throws(InferenceError) -> PreprocessedImage {
        try await pipelineRun(request, options, slot).explanation(of: image, way, finds: finds)
    }

    private func pipelineRun(_ request: ObservationRequest, _ options: PredictionOptions, _ slot: Slot) -> PipelineRun {
        var options = options
        // Of one tensor: a pipeline fills many.
        (options.keeps, options.decoded) = (nil, nil)
        return PipelineRun(
            detector: pipeline?.detector ?? self, pipeline: pipeline, request: request, options: options, slot: slot)
    }

    private func outcomes(
        of images: [EncodedImage], by run: PipelineRun
    ) async -> [Result<ObservationResult, InferenceError>] {
        var outcomes: [Result<ObservationResult, InferenceError>] = []
        for image in images {
            do throws(InferenceError) {
                outcomes.append(.success(try await run.result(image)))
            } catch {
                outcomes.append(.failure(error))
            }
        }
        if pipeline != nil { ends(outcomes.map { (try? $0.get())?.times }, in: run.slot) }
        return outcomes
    }

    /// Counts requests of a pipeline; its models count what they run themselves.
    private func ends(_ times: [StageTimes?], in slot: Slot) {
        let now = MonotonicInstant.now
        lastUse.store(now.nanoseconds, ordering: .relaxed)
        counted.withLock { statistics in
            for times in times {
                if let times {
                    statistics.succeeded(times, output: times.postprocess, total: times.sum, at: now.nanoseconds)
                } else {
                    statistics.failed(total: now.nanoseconds(since: slot.acquiredAt), at: now.nanoseconds)
                }
            }
        }
    }

    /// - Throws: where the model does not do what is asked, or has no class of a name.
    private func reader(
        of request: ObservationRequest, _ options: PredictionOptions
    ) throws(InferenceError) -> ObservationReader {
        guard let plan = observations.first(where: { $0.output.task == request.task }) else {
            throw .unsupported(
                model: description.name, reason: "does not give \(request.task.gives): \(abilities)")
        }
        return try ObservationReader(plan, model: description.name, request: request, options: options)
    }

    /// The reason why a model does not answer a request for a task, for those that can say so before a body is read;
    /// nil if it does.
    package func refusal(of request: ObservationRequest) -> InferenceError? {
        do throws(InferenceError) {
            _ = try reader(of: request, PredictionOptions())
            return nil
        } catch {
            return error
        }
    }
}

extension PredictionOptions {
    /// The same with the thresholds of a request, for models that suppress boxes themselves.
    fileprivate func choosing(_ request: ObservationRequest) -> PredictionOptions {
        var options = self
        options.detectionThresholds.confidence = request.threshold
        options.detectionThresholds.iou = request.iou
        return options
    }
}

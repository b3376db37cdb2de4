package import FlowControl

extension Model {
    /// The tasks of a model other than classification.
    package var tasks: [ObservationTask] { reader == nil ? observations.map(\.output.task) : [.read] }

    /// The routes that it answers, and the reason it lacks others, for error messages.
    package var abilities: String {
        if pipeline != nil { return "it is a pipeline, and answers /detect" }
        if reader != nil { return "it is a reader of text, and answers /read" }
        let texts =
            words == nil
            ? [] : [words?.description.takesPictures == true ? "/embed for texts, too" : "/embed for texts"]
        let labels = takesLabels && !isImageClassifier ? ["/classify with labels of the request"] : []
        let routes =
            tasks.map { "/\($0.rawValue)" } + texts + (isImageClassifier ? ["/classify"] : labels)
            + (hasTensors ? ["/predict"] : [])
        return "it answers " + routes.joined(separator: ", ") + (provenance?.explanation.map { "; \($0)" } ?? "")
    }

    /// True if `predict` and `/v2` answer: it is one network, or a classifier by labels of its own.
    package var hasTensors: Bool {
        pipeline == nil && reader == nil && (words?.description.takesPictures != true || isImageClassifier)
    }

    /// The description of its output for a task; nil if it does not perform the task.
    package func observationOutput(for task: ObservationTask) -> ObservationOutput? {
        observations.first { $0.output.task == task }?.output
    }

    /// The length of its embeddings; nil if it computes none or the length is not fixed.
    package var embeddingDimension: Int? { observations.first { $0.output.task == .embed }?.dimension }

    /// Runs the model on one picture, and reads the results that a request asks for.
    /// - Throws: `unsupported` if the model does not perform the task; ``InferenceError`` as for predictions.
    package func observations(
        of image: EncodedImage, request: ObservationRequest, options: PredictionOptions = PredictionOptions()
    ) async throws(InferenceError) -> ObservationResult {
        let slot = try await admit(nil, options)
        defer { slot.release() }
        return try await observations(of: [image], request: request, options: options, slot: slot)[0].get()
    }

    /// The results for one picture, with a slot that the caller holds; without the stages of a pipeline.
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

    /// The results for several pictures in one inference; see ``classifications(of:top:threshold:options:slot:)``.
    /// - Parameter taught: the taught models that answer stages of a pipeline.
    package func observations(
        of images: [EncodedImage], request: ObservationRequest, options: PredictionOptions,
        taught: TaughtStages = TaughtStages(), slot: Slot
    ) async -> [Result<ObservationResult, InferenceError>] {
        if let reader {
            let request = ReaderRequest(reader, request, options, slot)
            return await outcomes(of: images, in: slot) { (image) throws(InferenceError) in
                try await request.result(image)
            }
        }
        if pipeline != nil || request.keepsPicture {
            let request = pipelineRequest(request, options, taught, slot)
            return await outcomes(of: images, in: slot) { (image) throws(InferenceError) in
                try await request.result(image)
            }
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

    /// - Throws: if the model does not perform the task, or has no class of a requested name.
    private func reader(
        of request: ObservationRequest, _ options: PredictionOptions
    ) throws(InferenceError) -> ObservationReader {
        guard let plan = observations.first(where: { $0.output.task == request.task }) else {
            throw .unsupported(
                model: description.name, reason: "does not give \(request.task.gives): \(abilities)")
        }
        return try ObservationReader(plan, model: description.name, request: request, options: options)
    }

    /// The error for a request with a task that the model does not perform, known before a body is read; nil if it
    /// performs the task.
    package func refusal(of request: ObservationRequest) -> InferenceError? {
        if reader != nil, request.task == .read { return nil }
        do throws(InferenceError) {
            _ = try reader(of: request, PredictionOptions())
            return nil
        } catch {
            return error
        }
    }
}

extension PredictionOptions {
    /// The options with the thresholds of a request, for models that suppress boxes themselves.
    fileprivate func choosing(_ request: ObservationRequest) -> PredictionOptions {
        var options = self
        options.detectionThresholds.confidence = request.threshold
        options.detectionThresholds.iou = request.iou
        return options
    }
}

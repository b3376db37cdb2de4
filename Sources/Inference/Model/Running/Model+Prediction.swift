public import FlowControl
internal import ImagePipeline

extension Model {
    /// Runs the model once.
    ///
    /// Waits for a slot, prepares the inputs, and runs the engine. Cancelling the task stops any of these steps.
    /// - Parameters:
    ///   - features: a value for each input, by name.
    ///   - slot: a slot that the caller already holds; nil takes a slot for the call.
    /// - Throws: ``InferenceError`` for invalid inputs, refusals, cancellation and engine failures.
    public func prediction(
        from features: some FeatureProvider, options: PredictionOptions = PredictionOptions(), slot: Slot? = nil
    ) async throws(InferenceError) -> Prediction {
        try checkNames(features)
        let shapes = try dynamicShapes(features)
        let held = try await admit(slot, options)
        defer { leave(held, given: slot) }
        return try await run(options: options, slot: held, shapes: shapes) { (_, input) throws(InferenceError) in
            try Self.value(of: input, in: features)
        } read: { (outputs, image, times) throws(InferenceError) in
            try self.unfinished(in: outputs, image: image, times: times, options)
        }.finished(options)
    }

    /// Reads all outputs, as the bundle describes them.
    func prediction(
        in engineOutputs: any EngineOutputs, image: ImageInfo?, times: StageTimes, _ options: PredictionOptions
    ) throws(InferenceError) -> Prediction {
        var values: [(name: String, value: FeatureValue)] = []
        for output in plan.outputs {
            values.append((output.description.name, try value(of: output, in: engineOutputs, image, options)))
        }
        return Prediction(outputs: DictionaryFeatureProvider(values), image: image, times: times)
    }

    /// Reads all outputs; pictures that must be scaled back to the size of the picture sent are not encoded yet.
    private func unfinished(
        in engineOutputs: any EngineOutputs, image: ImageInfo?, times: StageTimes, _ options: PredictionOptions
    ) throws(InferenceError) -> UnfinishedPrediction {
        let open = plan.inputs.first { $0.openPicture != nil }
        // The answer has the size of the picture that was sent, but not where the request or the file sets the size.
        let sent = open?.openPicture.flatMap { pipeline in
            pipeline.spec.openSize?.usual == nil
                ? image.map { PictureReturn($0, pipeline, ImageDecodeOptions(options)) } : nil
        }
        var parts: [(name: String, part: UnfinishedPrediction.Part)] = []
        for output in plan.outputs {
            var picture: OutputPicture?
            if let open, image != nil, case .image = output.kind {
                picture = try engineOutputs.reading(output.index) { (shape, raw) throws(InferenceError) in
                    try OutputReader.openForm(of: output, shape: shape, count: raw.count).map {
                        OutputPicture(input: open.description.name, form: $0, raw: [UInt8](raw), sent: sent)
                    }
                }
            }
            let part: UnfinishedPrediction.Part =
                if let picture {
                    .picture(picture)
                } else {
                    .value(try value(of: output, in: engineOutputs, image, options))
                }
            parts.append((output.description.name, part))
        }
        return UnfinishedPrediction(parts: parts, image: image, times: times)
    }

    /// - Parameter image: the header of the picture, which a depth map is brought to.
    private func value(
        of output: OutputPlan, in outputs: any EngineOutputs, _ image: ImageInfo?, _ options: PredictionOptions
    ) throws(InferenceError) -> FeatureValue {
        if case .feature = output.kind, let value = outputs.feature(output.index) { return value }
        if case .depth = output.kind, let image, case .image(let pipeline)? = plan.inputs.first?.kind {
            let sent = PictureReturn(image, pipeline, ImageDecodeOptions(options))
            try options.checkAnswer(of: sent.displayed, bytesOfPixel: MemoryLayout<Float>.size)
            let reader = DepthReader(output: output, sent: sent)
            return try outputs.reading(output.index) { (shape, raw) throws(InferenceError) in
                .depth(try reader.map(shape, raw))
            }
        }
        return try outputs.reading(output.index) { (shape, raw) throws(InferenceError) in
            try OutputReader.value(of: output, shape: shape, raw: raw)
        }
    }

    /// Runs the model once and passes the outputs in the engine's memory to `read`, in the bundle's order. Arrays are
    /// the engine's own tensors, without the bundle's transforms.
    /// - Parameter read: called while the infer request is held: it should only copy.
    package func tensors<R: Sendable>(
        from features: some FeatureProvider, options: PredictionOptions, slot: Slot,
        read: ([TensorView], StageTimes) throws(InferenceError) -> R
    ) async throws(InferenceError) -> R {
        let plan = plan
        var options = options
        options.usesTensors = true
        try checkNames(features)
        return try await run(options: options, slot: slot, shapes: dynamicShapes(features)) {
            (_, input) throws(InferenceError) in
            try Self.value(of: input, in: features)
        } read: { (request, _, times) throws(InferenceError) -> R in
            try Self.views(plan.outputs[...], of: request, []) { (views) throws(InferenceError) -> R in
                try read(views, times)
            }
        }
    }

    /// Reads the first output, and calls itself for the others while that output's memory is valid.
    static func views<R>(
        _ rest: ArraySlice<OutputPlan>, of request: any EngineOutputs, _ views: [TensorView],
        _ body: ([TensorView]) throws(InferenceError) -> R
    ) throws(InferenceError) -> R {
        guard let next = rest.first else { return try body(views) }
        if let encoded = try FeatureBytes.encoded(next, of: request) {
            return try encoded.bytes.lent { (raw) throws(InferenceError) -> R in
                let view = TensorView(index: rest.startIndex, shape: encoded.shape, bytes: raw)
                return try Self.views(rest.dropFirst(), of: request, views + [view], body)
            }
        }
        return try request.reading(next.index) { (shape, raw) throws(InferenceError) -> R in
            let view = TensorView(index: rest.startIndex, shape: shape, bytes: raw)
            return try Self.views(rest.dropFirst(), of: request, views + [view], body)
        }
    }

    /// Classifies one picture.
    /// - Parameters:
    ///   - image: the encoded picture.
    ///   - top: the number of classes to return, at least 1.
    ///   - threshold: the minimum confidence of a class in the result.
    ///   - slot: a slot that the caller already holds; nil takes a slot for the call.
    public func classification(
        of image: EncodedImage, top: Int, threshold: Float = 0, options: PredictionOptions = PredictionOptions(),
        slot: Slot? = nil
    ) async throws(InferenceError) -> ClassificationResult {
        if let head = patchHead(nil) {
            return try await classification(
                of: image, top: top, threshold: threshold, options: options, slot: slot, head: head)
        }
        let reader = try classificationReader(top: top, threshold: threshold, options: options)
        return try await classification(of: image, by: reader, options: options, slot: slot)
    }

    func classification(
        of image: EncodedImage, by reader: ClassificationReader, options: PredictionOptions, slot: Slot?
    ) async throws(InferenceError) -> ClassificationResult {
        let held = try await admit(slot, options)
        defer { leave(held, given: slot) }
        return try await run(options: options, slot: held, shapes: [:]) { (_, input) throws(InferenceError) in
            input.isPicture ? .image(image) : nil
        } read: { (outputs, info, times) throws(InferenceError) -> ClassificationResult in
            try reader.result(in: outputs, image: info, times: times)
        }
    }

    /// Runs the model once and blocks the calling thread until the prediction has ended. For command-line programs and
    /// scripts; never call it in a task, because other tasks need its thread.
    public func prediction(
        from features: some FeatureProvider, options: PredictionOptions = PredictionOptions()
    ) throws(InferenceError) -> Prediction {
        let box = BlockingResult<Prediction>()
        Task.detached {
            do throws(InferenceError) {
                box.set(.success(try await self.prediction(from: features, options: options, slot: nil)))
            } catch {
                box.set(.failure(error))
            }
        }
        return try box.wait().get()
    }

    /// Runs the model once for each element, several in parallel. The failure of one element does not affect the
    /// others. Results are in the order of the elements.
    public func predictions(
        from batch: [any FeatureProvider], options: PredictionOptions = PredictionOptions()
    ) async -> [Result<Prediction, InferenceError>] {
        if self.batch != nil, batch.count > 1 { return await predictions(inChunks: batch, options: options) }
        // At most as many at a time as slots exist: a long batch must not fill the queue in which other requests wait.
        let width = Swift.min(batch.count, Swift.max(1, limiter.snapshot.limit))
        return await withTaskGroup(of: IndexedOutcome.self) { group in
            var outcomes: [IndexedOutcome] = []
            outcomes.reserveCapacity(batch.count)
            for index in 0..<width {
                group.addTask { await self.outcome(of: batch[index], at: index, options: options) }
            }
            var next = width
            while let outcome = await group.next() {
                outcomes.append(outcome)
                guard next < batch.count else { continue }
                let index = next
                next += 1
                group.addTask { await self.outcome(of: batch[index], at: index, options: options) }
            }
            return outcomes.sorted { $0.index < $1.index }.map(\.result)
        }
    }
}

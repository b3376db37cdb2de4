internal import FlowControl
internal import ImagePipeline
internal import Observations
internal import SystemSupport

/// A detector's request that needs all pixels of a picture: that of a pipeline, or one for an answer that contains a
/// picture. The picture is decoded once; all inferences use the request's slot.
struct PipelineRequest: Sendable {
    let detector: Model
    /// Nil for a single model.
    let pipeline: Pipeline?
    let request: ObservationRequest
    let options: PredictionOptions
    /// The taught models that answer stages.
    let taught: TaughtStages
    let slot: Slot
    /// The only stage that runs, for the embeddings of its crops; nil for the pipeline's own stages.
    var embedding: EmbeddingStage?

    /// The request to the detector: options that it does not set are the pipeline's.
    private var asked: ObservationRequest {
        var asked = request
        guard let description = pipeline?.description else { return asked }
        asked.threshold = asked.threshold ?? description.threshold
        asked.iou = asked.iou ?? description.iou
        // If all detections must be covered, none may be filtered out.
        if !asked.needsAll { asked.classes = asked.classes ?? description.classes }
        return asked
    }

    /// Detects, and runs the stages for the detections.
    func result(_ image: EncodedImage) async throws(InferenceError) -> ObservationResult {
        if let pipeline, pipeline.stages.isEmpty, pipeline.description.tiles == nil, !request.keepsPicture {
            // No crops are needed, so the detector may decode the picture at a reduced size. With stages this is not
            // possible: the sizes of the detections, and so the resolution that their crops need, are known only
            // afterwards.
            var result = try await detector.observation(of: image, request: asked, options: options, slot: slot)
            result.pipeline = PipelineNote()
            return result
        }
        let (picture, times) = try await hold(image)
        var result = try await detections(in: picture)
        result.times.queue &+= times.queue
        result.times.decode &+= times.decode
        result.image = picture.info
        if request.needsAll, result.seen != nil {
            throw .invalidInput(
                name: "crop",
                reason:
                    "the model sees only a part of the picture: ask for all of it (crop=fit or crop=fill), so that nothing is missed"
            )
        }
        if request.keepsPicture { result.picture = picture }
        guard let pipeline, case .detections(var found) = result.content else { return result }
        if let embedding { found = embedding.detections(among: found) }
        var crops = CropStages(self, picture: picture)
        result.content = .detections(
            try await crops.runStages(
                of: found, embedding.map { [$0.stage] } ?? pipeline.stages, maximum: pipeline.description.maximum))
        result.times.add(crops.times)
        result.pipeline = crops.note
        return result
    }

    func hold(_ image: EncodedImage) async throws(InferenceError) -> (picture: HeldPicture, times: StageTimes) {
        try await detector.hold(
            image, isWhole: request.keepsPicture, drawing: request.keepsPicture, options: options)
    }

    var maxPixels: Int { detector.pictureInput()?.pipeline.limits.maxPixels ?? .max }

    /// The options for parts of the decoded picture: framing applies to the detector only.
    var stageOptions: PredictionOptions {
        var options = options
        options.cropAndScale = nil
        options.measures = false
        return options
    }

    // MARK: Explaining a stage's picture

    /// The picture that the model of a stage gets for a detection; without a stage, the picture that the detector gets.
    /// - Parameters:
    ///   - way: the stages down to that one.
    ///   - finds: the index of a detection at each of these levels, from 0.
    func explanation(
        of image: EncodedImage, _ way: [Pipeline.Stage], finds: [Int]
    ) async throws(InferenceError) -> PreprocessedImage {
        let (picture, _) = try await hold(image)
        if way.isEmpty {
            return try await detector.preprocess(lowPriority: EncodedImage(picture.pixels, time: 0), options: options)
        }
        guard case .detections(var found) = try await detections(in: picture).content else {
            throw .unsupported(model: detector.description.name, reason: "does not give boxes")
        }
        for (level, stage) in way.enumerated() {
            let number = level < finds.count ? finds[level] : 0
            guard found.indices.contains(number) else {
                throw .invalidInput(
                    name: "find",
                    reason: "expected a number below \(found.count), as many as there are finds, found \(number)")
            }
            let answering: StageModel
            do throws(TaughtAbsence) { answering = try stage.answering(taught) } catch {
                throw .modelNotReady(name: stage.description.model, reason: error.message)
            }
            if level == way.count - 1 {
                let crop = try FindCrop(
                    stage.description, for: answering.model, of: found[number], in: picture, maxPixels: maxPixels)
                return try await answering.model.preprocess(lowPriority: crop.image, options: stageOptions)
            }
            let inner = StageRequest(
                stage: stage, answering: answering, picture: picture, maxPixels: maxPixels, options: stageOptions,
                slot: slot)
            switch try await inner.answers(for: [found[number]]).first {
            case .observed(let result, _)?:
                guard case .detections(let next) = result.content else { break }
                found = next
                continue
            case .failed(let error)?: throw error
            case .classes?, .absent?, nil: break
            }
            found = []
        }
        throw .invalidInput(name: "stage", reason: "is not a stage of the pipeline")
    }

    // MARK: The detector

    /// The detections in a picture, of all tiles together.
    func detections(in picture: HeldPicture) async throws(InferenceError) -> ObservationResult {
        let size = picture.size
        guard let tiles = pipeline?.description.tiles else {
            let time = UInt64(clamping: size.width &* size.height)
            return try await detector.observation(
                of: EncodedImage(picture.pixels, time: time), request: asked, options: options, slot: slot)
        }
        let windows = try TileGrid(tiles, over: size).windows
        var ofTile = asked
        // The limit applies to all tiles together.
        ofTile.top = nil
        let request = ofTile
        let results = try await Parallel.results(windows.count, width: detector.instances) {
            (index) throws(InferenceError) in
            var options = options
            options.place = PicturePlace(window: windows[index], size: size)
            let time = UInt64(clamping: windows[index].width &* windows[index].height)
            return try await detector.observation(
                of: EncodedImage(picture.pixels, window: windows[index], time: time), request: request,
                options: options, slot: slot)
        }
        return try merged(results, size: size)
    }

    /// The detections of all tiles, without those that another one suppresses.
    private func merged(_ results: [ObservationResult], size: ImageSize) throws(InferenceError) -> ObservationResult {
        let start = MonotonicInstant.now
        guard var result = results.first, case .boxes(let boxes)? = detector.observationOutput(for: .detect)?.kind
        else { throw .unsupported(model: detector.description.name, reason: "does not give boxes") }
        var times = StageTimes()
        var all: [ObservationResult.Found] = []
        for one in results {
            times.add(one.times)
            if case .detections(let found) = one.content { all += found }
        }
        let order = all.indices.sorted { (all[$1].confidence, $0) < (all[$0].confidence, $1) }.map { all[$0] }
        let maximum =
            request.needsAll ? BoxDecoder.maximumCandidates : min(request.top ?? .max, boxes.decoding.maxDetections)
        let kept: [Int]
        do throws(ObservationError) {
            let labels =
                boxes.decoding.suppression == .all ? nil : order.map { Int32(truncatingIfNeeded: $0.index) }
            let iou = asked.iou ?? boxes.decoding.iou
            let most = maximum == .max ? .max : maximum + (request.needsAll ? 1 : 0)
            let turned = order.compactMap { $0.turned?.box }
            kept =
                boxes.decoding.hasAngles && turned.count == order.count
                ? try TurnedSuppression.survivors(
                    of: turned, labels: labels, iou: iou, maximum: most, isCancelled: { isStopped })
                : try Suppression.survivors(
                    of: order.map { Box($0.box) }, labels: labels, iou: iou, maximum: most,
                    isCancelled: { isStopped })
        } catch {
            throw .stopped(at: .postprocess)
        }
        guard !request.needsAll || kept.count <= maximum else {
            throw .invalidInput(
                name: "threshold",
                reason: "there are more than \(maximum) detections, and none may be missing: ask for a higher one")
        }
        result.content = .detections(kept.map { order[$0] })
        (times.load, times.queue) = (result.times.load, result.times.queue)
        times.postprocess &+= MonotonicInstant.now.nanoseconds(since: start)
        result.times = times
        return result.seenWhole(of: size)
    }

    private var isStopped: Bool {
        Task.isCancelled || options.deadline.hasPassed
    }
}

extension Box {
    fileprivate init(_ box: PictureMap.Rectangle) {
        self.init(
            left: Float(box.x), top: Float(box.y), right: Float(box.x + box.width), bottom: Float(box.y + box.height))
    }
}

extension ObservationResult {
    /// The result, marked as seen by the model in full.
    fileprivate func seenWhole(of size: ImageSize) -> ObservationResult {
        ObservationResult(content: content, image: image, displayed: size, seen: nil, times: times)
    }
}

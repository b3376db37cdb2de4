package import FlowControl
internal import Synchronization
internal import SystemSupport

/// A pipeline as a model that is served under a name of its own.
extension Model {
    /// Creates a pipeline: its detector with stages, without batches, because each picture has its own slot.
    package convenience init(
        _ pipeline: Pipeline, bundle: ModelBundle, version: String?, configuration: ModelConfiguration,
        loadReport: LoadReport
    ) {
        let detector = pipeline.detector
        self.init(
            ModelDescription(
                bundle, bundle.manifest, version: version, backend: "pipeline",
                features: (detector.description.inputs, detector.description.outputs)),
            bundle: bundle, options: bundle.manifest?.options, resources: detector.resources,
            observations: detector.observations.filter { $0.output.task == .detect }, pipeline: pipeline,
            configuration: configuration, loadReport: loadReport)
    }

    /// Compares the answers of a pipeline, which has no model file, with the goldens of its bundle, if it has any.
    /// - Parameter agreement: the value in model.json; nil if it does not set one.
    package func checkGoldens(_ agreement: Double?) async throws(InferenceError) {
        let (goldens, mistakes) = await LoaderThread.run { [path] in
            let problems = ProblemList()
            return (GoldenSet(bundle: path, agreement: agreement, problems: problems), problems.problems)
        }
        guard mistakes.isEmpty else { throw .invalidBundle(name: description.name, problems: mistakes) }
        if let goldens { try await check(goldens) }
    }

    /// The picture that a stage of a pipeline gets for a detection, with a slot that the caller holds; see
    /// ``PipelineRequest/explanation(of:_:finds:)``.
    package func explanation(
        of image: EncodedImage, _ way: [Pipeline.Stage], finds: [Int], request: ObservationRequest,
        options: PredictionOptions, taught: TaughtStages, slot: Slot
    ) async throws(InferenceError) -> PreprocessedImage {
        try await pipelineRequest(request, options, taught, slot).explanation(of: image, way, finds: finds)
    }

    func pipelineRequest(
        _ request: ObservationRequest, _ options: PredictionOptions, _ taught: TaughtStages, _ slot: Slot
    ) -> PipelineRequest {
        var options = options
        // These options apply to one tensor; a pipeline fills many.
        (options.keeps, options.decoded) = (nil, nil)
        return PipelineRequest(
            detector: pipeline?.detector ?? self, pipeline: pipeline, request: request, options: options,
            taught: taught,
            slot: slot)
    }

    /// The results of a request that holds a picture's pixels, for one picture after the other.
    func outcomes(
        of images: [EncodedImage], in slot: Slot,
        by result: (EncodedImage) async throws(InferenceError) -> ObservationResult
    ) async -> [Result<ObservationResult, InferenceError>] {
        var outcomes: [Result<ObservationResult, InferenceError>] = []
        for image in images {
            do throws(InferenceError) {
                outcomes.append(.success(try await result(image)))
            } catch {
                outcomes.append(.failure(error))
            }
        }
        if pipeline != nil || reader != nil { ends(outcomes.map { (try? $0.get())?.times }, in: slot) }
        return outcomes
    }

    /// Counts requests of a pipeline or a reader; its models count their own inferences.
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
}

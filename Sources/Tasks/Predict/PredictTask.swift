package import FlowControl
package import HTTPServer
package import ImagePipeline
package import Inference
package import JSON
internal import Rollout
package import ServiceCore
internal import Settings
package import WireFormats

/// `POST /v1/models/{name}/predict`: runs any model, as described by its `model.json`.
package struct PredictTask: PredictionTask {
    private let run: ModelRequest
    private let writer: OutputWriter
    package let inputs: NamedInputs
    /// The model's only output picture can be the answer, as a file.
    package let forms: AnswerForms

    package static var answersTaughtModels: Bool { false }
    package static func unnamed(_ query: ClassifyQuery) -> UnnamedModel { .refused }

    /// A request for a model's outputs.
    package static func prediction(_ call: Call) throws(ServiceError) -> PredictionCall {
        try PredictionRunner<Self>(call, ClassifyQuery()).prediction
    }

    package init(
        _ run: ModelRequest, _ query: ClassifyQuery, of request: HTTPRequest, live: LiveSettings
    ) throws(ServiceError) {
        try run.model.refusePipeline(run.name)
        try query.checkSize(run.model)
        guard !query.map else {
            throw .badRequest("query parameter \"map\" is for classify, of a taught model that compares patches")
        }
        let description = run.model.description
        let classes = description.outputs.compactMap { $0.labels?.count }.max()
        if query.top != nil || query.threshold != nil, classes == nil {
            throw .badRequest("\"top\" and \"threshold\" are for labelled outputs: model \"\(run.name)\" has none")
        }
        if let top = query.top, let classes, top > classes {
            throw .badRequest(
                "query parameter \"top\": expected a whole number from 1 to \(classes) (the labels of \"\(run.name)\"), "
                    + "found \"\(top)\"")
        }
        self.run = run
        inputs = NamedInputs(
            model: run.model, isWhole: query.picture.explain == nil, maximumItems: live.settings.maxBatch)
        writer = OutputWriter(
            outputs: description.outputs, top: query.top, threshold: query.threshold, scoreWatch: run.model.scoreWatch)
        let drawn = description.outputs.filter { $0.kind == .image || $0.kind == .depth }
        var forms = AnswerForms()
        forms.isNegotiated = drawn.count == 1
        let types = drawn.first?.kind == .depth ? ["image/png", Self.numbers] : ["image/png"]
        if forms.isNegotiated { forms.type = types.first(where: request.accepts) }
        self.forms = forms
    }

    /// The media type of a depth map as 32-bit floats.
    private static let numbers = "application/octet-stream"

    package func predict(
        _ items: [DictionaryFeatureProvider], in slot: Slot
    ) async -> [Result<Prediction, InferenceError>] {
        await run.model.predictions(of: items, options: run.options, slot: slot).map { $0.flatMap(writer.checked) }
    }

    package func shadow(of item: DictionaryFeatureProvider, _ prediction: Prediction) -> ShadowWork? {
        ShadowWork(
            times: prediction.times, image: inputs.pictures(of: item).first?.image,
            answer: { ComparableAnswer(prediction) }
        ) { [options = run.options] (model, sample, deadline, slot) in
            let options = options.forOtherVersion(sample, deadline: deadline)
            return Result(await model.predictions(of: [item], options: options, slot: slot).first)
        }
    }

    package func note(_ prediction: Prediction, in metrics: ServiceMetrics) -> OutputNote { OutputNote() }

    package func writingTime(of prediction: Prediction) -> UInt64 {
        prediction.featureNames.reduce(0) { $0 &+ Self.writingTime(of: prediction.featureValue(for: $1)) }
    }

    private static func writingTime(of value: FeatureValue?) -> UInt64 {
        switch value {
        case .dictionary(let entries): WorkQueue.writingTime(labels: entries.count)
        case .multiArray(let array): WorkQueue.writingTime(numbers: array.count)
        case .strings(let array): WorkQueue.writingTime(labels: array.elements.count)
        case .sequence(let elements): elements.reduce(0) { $0 &+ writingTime(of: $1) }
        case .image(let image): image.withUnsafeBytes { UInt64($0.count) }
        case .depth(let map): WorkQueue.writingTime(numbers: map.width * map.height)
        case .borrowedArray, .int64, .double, .string, nil: 0
        }
    }

    /// Writes the members `outputs`, `image` and `timing_ms`.
    package func write(
        _ prediction: Prediction, total: UInt64, isCancelled: @escaping () -> Bool, to writer: inout JSONWriter
    ) throws(ImageError) {
        writer.key("outputs")
        try self.writer.write(prediction, to: &writer) { isCancelled() || run.isLate }
        if let image = prediction.image {
            writer.key("image")
            writer.object { ClassificationWriter.write(image, to: &$0) }
        }
        writer.key("timing_ms")
        ClassificationWriter.write(prediction.times, total: total, to: &writer)
    }

    /// The bytes of a prediction's only picture, or of its only depth map.
    package func bytes(
        of prediction: Prediction, isCancelled: @escaping () -> Bool
    ) throws(ImageError) -> [UInt8]? {
        for name in prediction.featureNames {
            switch prediction.featureValue(for: name) {
            case .image(let image)?: return image.withUnsafeBytes { [UInt8]($0) }
            case .depth(let map)?:
                let isStopped = { isCancelled() || run.isLate }
                return forms.type == Self.numbers
                    ? try DepthWriter.floats(map, isCancelled: isStopped)
                    : try DepthWriter.png(map, isCancelled: isStopped)
            default: continue
            }
        }
        return nil
    }
}

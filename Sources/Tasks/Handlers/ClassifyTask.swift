package import FlowControl
package import HTTPServer
internal import ImagePipeline
package import Inference
package import JSON
internal import Repository
internal import Rollout
package import ServiceCore
internal import Settings
package import WireFormats

/// The query of a `classify` or `predict` request.
package struct ClassifyQuery: TaskQuery {
    package var picture = PictureQuery()
    /// The number of classes in the answer; nil if not given.
    package var top: Int?
    /// The minimum confidence of a class in the answer; nil if not given.
    package var threshold: Float?
    package var ownNames: [String] { ["top", "threshold", "size"] }

    /// A query without parameters.
    package init() {}

    package mutating func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool {
        switch parameter.name {
        case "top": top = try parameter.count()
        case "threshold": threshold = try parameter.share()
        case "size": picture.size = try Self.size(parameter)
        default: return false
        }
        return true
    }
}

extension ClassifyQuery {
    /// The longest side of a size.
    private static let longest = 8_192

    /// Reads `WIDTHxHEIGHT`.
    private static func size(_ parameter: RequestParameter) throws(ServiceError) -> ImageSize {
        let sides = parameter.value.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
        guard sides.count == 2, sides.allSatisfy({ (1...longest).contains($0) }) else {
            throw parameter.mistake("WIDTHxHEIGHT, each from 1 to \(longest)")
        }
        return ImageSize(width: sides[0], height: sides[1])
    }

    /// Refuses a size that the model's file does not allow.
    func checkSize(_ model: Model) throws(ServiceError) {
        guard let size = picture.size, let reason = model.refusal(of: size) else { return }
        throw .badRequest("query parameter \"size\": \(reason)")
    }
}

/// `POST .../classify`: answers the classes of a picture.
package struct ClassifyTask: PredictionTask {
    private let run: ModelRequest
    private let top: Int
    private let threshold: Float
    private let logsTopLabel: Bool

    package static var answersTaughtModels: Bool { true }

    package static func unnamed(_ query: ClassifyQuery) -> UnnamedModel { .usual(.classification) }
    package let inputs = PictureInputs()
    package var forms: AnswerForms { AnswerForms() }

    /// A request for classes.
    package static func prediction(_ call: Call) throws(ServiceError) -> PredictionCall {
        try PredictionRunner<Self>(call, ClassifyQuery()).prediction
    }

    package init(
        _ run: ModelRequest, _ query: ClassifyQuery, of request: HTTPRequest, live: LiveSettings
    ) throws(ServiceError) {
        try query.checkSize(run.model)
        let labels = run.classLabels
        // `explain` works without labels.
        guard run.model.takesOnePicture, labels != nil || query.picture.explain != nil else {
            throw .invalidInput(
                "model \"\(run.name)\" is not an image classifier (one image input, one output with labels): "
                    + run.model.abilities)
        }
        if let labels, let top = query.top, top > labels.count {
            throw .badRequest(
                "query parameter \"top\": expected a whole number from 1 to \(labels.count) (the classes of "
                    + "\"\(run.name)\"), found \"\(top)\"")
        }
        self.run = run
        top = query.top ?? min(live.settings.top, labels?.count ?? 1)
        threshold = query.threshold ?? 0
        logsTopLabel = live.settings.logTopLabel
    }

    package func predict(_ images: [EncodedImage], in slot: Slot) async -> [Result<
        ClassificationResult, InferenceError
    >] {
        await run.model.classifications(
            of: images, top: top, threshold: threshold, options: run.options, slot: slot, head: run.taught?.head)
    }

    /// Returns nil if the threshold left no class to compare.
    package func shadow(of image: EncodedImage, _ result: ClassificationResult) -> ShadowWork? {
        guard !result.classifications.isEmpty else { return nil }
        return ShadowWork(times: result.times, image: image, answer: { ComparableAnswer(result) }) {
            [options = run.options, top] (model, sample, deadline, slot) in
            let maximum = min(top, model.description.classLabels?.count ?? 1)
            let options = options.forOtherVersion(sample, deadline: deadline)
            let results = await model.classifications(
                of: [image], top: maximum, threshold: 0, options: options, slot: slot)
            return Result(results.first)
        }
    }

    package func writingTime(of result: ClassificationResult) -> UInt64 {
        WorkQueue.writingTime(labels: result.classifications.count)
    }

    package func write(
        _ result: ClassificationResult, total: UInt64, isCancelled: @escaping () -> Bool, to writer: inout JSONWriter
    ) {
        ClassificationWriter.write(result, total: total, to: &writer)
    }

    package func note(_ result: ClassificationResult, in metrics: ServiceMetrics) -> OutputNote {
        var note = OutputNote()
        if logsTopLabel { note.topLabel = result.classifications.first?.label }
        return note
    }
}

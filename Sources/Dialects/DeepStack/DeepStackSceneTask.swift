internal import FlowControl
internal import HTTPServer
internal import Inference
internal import JSON
internal import ServiceCore
internal import Tasks
internal import WireFormats

/// `POST /v1/vision/scene`: answers the best class of a picture, like DeepStack and CodeProject.AI.
struct DeepStackSceneTask: PredictionTask {
    private let run: ModelRequest

    static var answersTaughtModels: Bool { true }
    static func unnamed(_ query: DeepStackQuery) -> UnnamedModel { query.unnamed }
    let inputs = PictureInputs()
    var forms: AnswerForms { DeepStackQuery.forms }

    init(_ run: ModelRequest, _ query: DeepStackQuery, of request: HTTPRequest, live: LiveSettings) throws(ServiceError)
    {
        guard run.taught != nil || run.model.isImageClassifier else {
            throw .invalidInput(
                "model \"\(run.name)\" is not an image classifier (one image input, one output with labels): "
                    + run.model.abilities)
        }
        self.run = run
    }

    func predict(_ images: [EncodedImage], in slot: Slot) async -> [Result<ClassificationResult, InferenceError>] {
        await run.model.classifications(
            of: images, top: 1, threshold: 0, options: run.options, slot: slot, head: run.taught?.head)
    }

    func shadow(of image: EncodedImage, _ result: ClassificationResult) -> ShadowWork? { nil }
    func writingTime(of result: ClassificationResult) -> UInt64 { 0 }
    func note(_ result: ClassificationResult, in metrics: ServiceMetrics) -> OutputNote { OutputNote() }

    func write(
        _ result: ClassificationResult, total: UInt64, isCancelled: @escaping () -> Bool, to writer: inout JSONWriter
    ) {
        guard let best = result.classifications.first else { return }
        writer.member("success", true)
        writer.member("label", best.label)
        writer.key("confidence")
        writer.number(best.confidence)
        DeepStackTimes.write(result.times, total: total, to: &writer)
    }
}

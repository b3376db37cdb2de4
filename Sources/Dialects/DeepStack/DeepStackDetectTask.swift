internal import FlowControl
internal import HTTPServer
internal import ImagePipeline
internal import Inference
internal import JSON
internal import Observations
internal import ServiceCore
internal import Tasks
internal import WireFormats

/// `POST /v1/vision/detection`, `/face` and `/custom/{name}`: answers boxes in whole pixels, like DeepStack and
/// CodeProject.AI.
struct DeepStackDetectTask: PredictionTask {
    private let run: ModelRequest
    private let request: ObservationRequest

    static var answersTaughtModels: Bool { false }
    static var runsStages: Bool { false }
    static func unnamed(_ query: DeepStackQuery) -> UnnamedModel { query.unnamed }
    let inputs = PictureInputs()
    var forms: AnswerForms { DeepStackQuery.forms }

    init(_ run: ModelRequest, _ query: DeepStackQuery, of request: HTTPRequest, live: LiveSettings) throws(ServiceError)
    {
        guard run.model.tasks.contains(.detect) else {
            throw .invalidInput(
                "model \"\(run.name)\" does not give \(ObservationTask.detect.gives): \(run.model.abilities)")
        }
        self.run = run
        var requestedClasses = ObservationRequest(task: .detect)
        requestedClasses.threshold = query.minimum
        self.request = requestedClasses
    }

    func predict(_ images: [EncodedImage], in slot: Slot) async -> [Result<ObservationResult, InferenceError>] {
        // Run no later stages of a pipeline: the answer has no member for their results.
        var options = run.options
        options.maxCrops = 0
        return await run.model.observations(of: images, request: request, options: options, slot: slot)
    }

    func shadow(of image: EncodedImage, _ result: ObservationResult) -> ShadowWork? { nil }
    func writingTime(of result: ObservationResult) -> UInt64 { 0 }

    func write(
        _ result: ObservationResult, total: UInt64, isCancelled: @escaping () -> Bool, to writer: inout JSONWriter
    ) {
        guard case .detections(let found) = result.content else { return }
        writer.member("success", true)
        writer.key("predictions")
        writer.array { writer in
            for one in found {
                writer.object { writer in
                    writer.member("label", one.label)
                    writer.key("confidence")
                    writer.number(one.confidence)
                    DeepStackAnswer.write(one.box, of: result, to: &writer)
                }
            }
        }
        writer.member("count", found.count)
        let labels = Set(found.map(\.label)).sorted().joined(separator: ", ")
        writer.member("message", found.isEmpty ? "No objects found" : "Found \(labels)")
        DeepStackTimes.write(result.times, total: total, to: &writer)
    }

    func note(_ result: ObservationResult, in metrics: ServiceMetrics) -> OutputNote {
        metrics.found(result.count, task: .detect, model: run.name)
        return OutputNote()
    }
}

/// The times of an answer, for clients of DeepStack and of CodeProject.AI.
enum DeepStackTimes {
    /// Writes members of the open object: CodeProject.AI's in whole milliseconds, DeepStack's `duration` in seconds.
    static func write(_ times: StageTimes, total: UInt64, to writer: inout JSONWriter) {
        writer.member("inferenceMs", milliseconds(times.inference))
        writer.member("processMs", milliseconds(times.decode &+ times.inference &+ times.postprocess))
        for (key, value) in [("analysisRoundTripMs", PerRequestField.wholeMilliseconds), ("duration", .seconds)] {
            writer.key(key)
            writer.placeholder(value.rawValue) { value.write(total: total, to: &$0) }
        }
        writer.member("code", 200)
    }

    private static func milliseconds(_ nanoseconds: UInt64) -> Int { PerRequestField.wholeMilliseconds(nanoseconds) }
}

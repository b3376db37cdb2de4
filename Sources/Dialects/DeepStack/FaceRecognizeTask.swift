internal import FlowControl
internal import HTTPServer
internal import Inference
internal import JSON
internal import Repository
internal import ServiceCore
internal import SystemSupport
package import Tasks
internal import Teaching
package import WireFormats

/// `POST /v1/vision/face/recognize`: answers the name of each face by the nearest example of the taught model that the
/// pipeline `face` names, like DeepStack and CodeProject.AI.
struct FaceRecognizeTask: PredictionTask {
    private let run: ModelRequest
    private let pipeline: FacePipeline
    private let minimum: Double
    /// The embedder and the examples; nil if nothing is taught yet.
    private let known: (embedder: Model, state: TaughtState)?

    static var answersTaughtModels: Bool { false }
    static func unnamed(_ query: FaceQuery) -> UnnamedModel {
        .first([FacePipeline.name], .task(.detect), absence: FacePipeline.absence)
    }
    let inputs = PictureInputs()
    var forms: AnswerForms { DeepStackQuery.forms }

    init(_ run: ModelRequest, _ query: FaceQuery, of request: HTTPRequest, live: LiveSettings) throws(ServiceError) {
        let pipeline = try FacePipeline(run.model)
        let name = pipeline.stage.description.model
        switch run.stages[name] {
        case .ready(let embedder, _, let state): known = (embedder, state)
        case .absent(let absence):
            switch absence.kind {
            case .notFound: throw FacePipeline.missing(name)
            case .notReady: throw ServiceError(absence)
            case .empty: known = nil
            }
        }
        self.run = run
        self.pipeline = pipeline
        minimum = Double(query.minimum)
    }

    /// A face of the answer.
    struct Face: Sendable {
        let found: ObservationResult.Found
        /// The name, with the confidence; nil for an unknown face.
        let person: (name: String, confidence: Double)?
    }

    /// The faces of a picture.
    struct Output: TimedOutput {
        let result: ObservationResult
        let faces: [Face]
        var times: StageTimes { result.times }
    }

    func predict(_ images: [EncodedImage], in slot: Slot) async -> [Result<Output, InferenceError>] {
        var outputs: [Result<Output, InferenceError>] = []
        for image in images {
            do throws(InferenceError) {
                let result = try await found(in: image, slot)
                outputs.append(.success(Output(result: result, faces: try await faces(of: result))))
            } catch {
                outputs.append(.failure(error))
            }
        }
        return outputs
    }

    private func found(in image: EncodedImage, _ slot: Slot) async throws(InferenceError) -> ObservationResult {
        var options = run.options
        // Without examples no face is known, so only the places are needed; they come from the same detections.
        let embedder = known?.embedder ?? run.model
        if known == nil { options.maxCrops = 0 }
        return try await run.model.embeddings(
            of: image, at: pipeline.stage, by: embedder, options: options, slot: slot
        ).get()
    }

    /// The work of a search that is too short for a thread, as a number of elements to read.
    private static let shortSearch = 100_000

    private func faces(of result: ObservationResult) async throws(InferenceError) -> [Face] {
        guard case .detections(let found) = result.content else { return [] }
        guard let state = known?.state, state.examples.count > 0 else {
            return found.map { Face(found: $0, person: nil) }
        }
        let minimum = minimum, deadline = run.options.deadline
        let isShort =
            Double(state.examples.count) * Double(state.dimension) * Double(found.count) <= Double(Self.shortSearch)
        let faces: [Face]?
        if isShort {
            faces = Self.faces(found, state, minimum) { Task.isCancelled }
        } else {
            faces = await LongDecoding.run(lowPriority: false) { isCancelled in
                Self.faces(found, state, minimum) {
                    isCancelled() || (deadline.map { MonotonicInstant.now >= $0 } ?? false)
                }
            }
        }
        guard let faces else { throw .stopped(at: .postprocess) }
        return faces
    }

    /// The faces with their names; nil if cancelled. Takes long.
    private static func faces(
        _ found: [ObservationResult.Found], _ state: TaughtState, _ minimum: Double, isCancelled: () -> Bool
    ) -> [Face]? {
        var faces: [Face] = []
        for one in found {
            var person: (name: String, confidence: Double)?
            // A crop that failed, or was left out because of a limit, has no embedding.
            if let search = one.embedding.flatMap({ ExampleSearch($0, in: state, top: 1) }) {
                guard let nearest = search.nearest(isCancelled: isCancelled) else { return nil }
                let confidence = (1 + (nearest.first?.similarity ?? -1)) / 2
                if let nearest = nearest.first, confidence >= minimum { person = (nearest.label, confidence) }
            }
            faces.append(Face(found: one, person: person))
        }
        return faces
    }

    // MARK: The answer

    func shadow(of image: EncodedImage, _ output: Output) -> ShadowWork? { nil }
    func writingTime(of output: Output) -> UInt64 { 0 }

    func write(_ output: Output, total: UInt64, isCancelled: @escaping () -> Bool, to writer: inout JSONWriter) {
        writer.member("success", true)
        writer.key("predictions")
        writer.array { writer in
            for face in output.faces {
                writer.object { writer in
                    writer.member("userid", face.person?.name ?? "unknown")
                    writer.member("confidence", face.person?.confidence ?? 0)
                    DeepStackAnswer.write(face.found.box, of: output.result, to: &writer)
                }
            }
        }
        DeepStackTimes.write(output.times, total: total, to: &writer)
    }

    func note(_ output: Output, in metrics: ServiceMetrics) -> OutputNote {
        metrics.found(output.faces.count, task: .detect, model: run.name)
        if known != nil, let note = output.result.pipeline { metrics.record(note, model: run.name) }
        var note = OutputNote()
        note.isWhole = output.faces.allSatisfy { face in
            face.found.stages.allSatisfy { stage in
                if case .failed(let error) = stage.outcome { ServiceError(error).isFaultOfRequest } else { true }
            }
        }
        return note
    }
}

/// The route of recognition.
package enum FaceRecognition {
    /// A request for the names of faces. Throws 404 if teaching is turned off.
    package static func prediction(_ call: Call) throws(ServiceError) -> PredictionCall {
        _ = try call.taughtModels()
        return try PredictionRunner<FaceRecognizeTask>(call, FaceQuery()).prediction
    }
}

package import FlowControl
package import HTTPServer
package import ImagePipeline
package import Inference
package import JSON
internal import Repository
internal import Rollout
package import ServiceCore
internal import SystemSupport
package import WireFormats

/// The query of a request to `detect`, `segment`, `keypoints`, `embed` or `read`.
package struct ObserveQuery: TaskQuery {
    package var picture = PictureQuery()
    /// The request to the model.
    var request: ObservationRequest
    /// The form of masks; nil for the route's default.
    var mask: ObservationWriter.MaskForm?
    /// The encoding of an embedding.
    var encoding = ObservationWriter.Encoding.float
    /// The finds to blur or fill, in an answer that is a picture.
    var covers: [PictureForm.Covered] = []
    /// The stage of a pipeline for `explain`, and the find's index at each level down to it.
    var stage: String?
    var finds: [Int] = []
    /// True if lines of text list their characters.
    var characters = false
    /// The part of a reader for `explain`, and the line in the order of the answer.
    var part: ReaderPart?
    var line: Int?

    package init(task: ObservationTask) { request = ObservationRequest(task: task) }

    package var ownNames: [String] {
        let known = ["threshold", "iou", "top", "classes"]
        return switch request.task {
        case .detect: known + ["mask", "blur", "fill", "stage", "find"]
        case .segment: known + ["mask"]
        case .embed: known + ["encoding"]
        case .keypoints: known
        case .read: ["threshold", "find_threshold", "top", "characters", "stage", "line"]
        }
    }

    package mutating func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool {
        switch parameter.name {
        case "threshold": request.threshold = try parameter.share()
        case "top": request.top = try parameter.count()
        case "find_threshold" where request.task == .read: request.findThreshold = try parameter.share()
        case "characters" where request.task == .read: characters = try parameter.flag()
        case "stage" where request.task == .read: part = try parameter.choice()
        case "line" where request.task == .read:
            guard let number = Int(parameter.value), number >= 0 else {
                throw parameter.mistake("the number of a line, from 0, in the order of the answer")
            }
            line = number
        case "crop" where request.task == .read:
            throw .badRequest(
                "\(parameter.place) \"crop\" is not for read: all of the picture is read; leave it out, or send the part of the "
                    + "picture to be read")
        case "iou" where request.task != .read: request.iou = try parameter.share()
        case "classes" where request.task != .read: request.classes = try labels(parameter)
        case "mask" where request.task == .segment: mask = try parameter.choice()
        case "mask" where request.task == .detect:
            mask = try parameter.choice()
            // A detection's mask is run lengths: a picture of class numbers cannot hold overlapping masks.
            guard mask != .png else { throw parameter.mistake("one of \"rle\", \"none\"") }
        case "blur" where request.task == .detect: covers.append(.init(try labels(parameter), .blur))
        case "fill" where request.task == .detect: covers.append(.init(try labels(parameter), .fill))
        case "stage" where request.task == .detect: stage = parameter.value
        case "find" where request.task == .detect:
            let parts = parameter.value.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) ?? -1 }
            guard parts.count <= 3, parts.allSatisfy({ $0 >= 0 }) else {
                throw parameter.mistake("the number of a find, from 0, or of one in each level: 3, 3.0")
            }
            finds = parts
        case "encoding" where request.task == .embed: encoding = try parameter.choice()
        default: return false
        }
        return true
    }

    private func labels(_ parameter: RequestParameter) throws(ServiceError) -> [String] {
        let classes = ObservationRequest.classes(in: parameter.value)
        guard (1...1_000).contains(classes.count) else {
            throw parameter.mistake("labels or numbers of 1 to 1000 classes, separated by commas")
        }
        return classes
    }
}

/// `POST .../detect`, `/segment`, `/keypoints`, `/embed` and `/read`: answers boxes, a mask, points, an embedding or
/// the text of a picture.
package struct ObserveTask: PredictionTask {
    private let run: ModelRequest
    private let query: ObserveQuery
    /// Answers that `Accept` selects: a picture with its finds drawn, a mask as a picture with a palette, or embeddings
    /// as 32-bit floats, little-endian, concatenated.
    package let forms: AnswerForms
    /// The picture to answer instead of the finds; nil for the finds.
    private let picture: PictureForm?
    /// The stages from the first one to the stage for `explain`.
    private let way: [Pipeline.Stage]
    /// The part of a reader for `explain`; nil for other models, and for a recognizer without a detector.
    private let part: ReaderPart?

    package static var answersTaughtModels: Bool { false }
    package static func unnamed(_ query: ObserveQuery) -> UnnamedModel { .usual(.task(query.request.task)) }
    package let inputs = PictureInputs()

    /// A request for the finds of a model.
    package static func prediction(_ call: Call, _ task: ObservationTask) throws(ServiceError) -> PredictionCall {
        try PredictionRunner<Self>(call, ObserveQuery(task: task)).prediction
    }

    package init(
        _ run: ModelRequest, _ query: ObserveQuery, of request: HTTPRequest, live: LiveSettings
    ) throws(ServiceError) {
        let task = query.request.task
        guard run.model.tasks.contains(task) else {
            throw .invalidInput("model \"\(run.name)\" does not give \(task.gives): \(run.model.abilities)")
        }
        if let refusal = run.model.refusal(of: query.request) { throw ServiceError(refusal) }
        self.run = run
        self.query = query
        picture = try Self.picture(query, of: request, run)
        way = try Self.way(query, run)
        part = try Self.part(query, run)
        var forms = AnswerForms()
        forms.isNegotiated = task != .keypoints && task != .read
        switch task {
        case .detect:
            guard let picture else { break }
            forms.type = picture.isJPEG ? "image/jpeg" : "image/png"
            forms.onlyOne = "an answer that is a picture is for one (Accept)"
        case .segment where request.accepts("image/png"): forms.type = "image/png"
        case .embed where request.accepts("application/octet-stream"):
            (forms.type, forms.joins) = ("application/octet-stream", true)
        case .segment, .embed, .keypoints, .read: break
        }
        self.forms = forms
    }

    /// The form of an answer that is a picture; nil for JSON.
    private static func picture(
        _ query: ObserveQuery, of request: HTTPRequest, _ run: ModelRequest
    ) throws(ServiceError) -> PictureForm? {
        guard query.request.task == .detect, let type = request.preferred(["image/jpeg", "image/png"]) else {
            guard query.covers.isEmpty else {
                throw .badRequest(
                    "query parameters \"blur\" and \"fill\" are for an answer that is a picture: ask for one with the field "
                        + "Accept: image/jpeg, or image/png")
            }
            return nil
        }
        var form = PictureForm(isJPEG: type == "image/jpeg")
        form.covers = query.covers
        if let refusal = form.refusal(of: run.model) {
            throw .invalidInput("query parameter \"\(refusal.name)\": \(refusal.reason)")
        }
        return form
    }

    private static func way(_ query: ObserveQuery, _ run: ModelRequest) throws(ServiceError) -> [Pipeline.Stage] {
        guard query.picture.explain != nil else {
            guard query.stage == nil, query.finds.isEmpty else {
                throw .badRequest("query parameters \"stage\" and \"find\" go with \"explain\": explain=png")
            }
            return []
        }
        guard let name = query.stage else {
            guard query.finds.isEmpty, run.model.pipeline?.description.tiles == nil else {
                throw .badRequest(
                    "query parameter \"explain\": name a stage of the pipeline (stage=NAME&find=0); the detector sees the picture in tiles"
                )
            }
            return []
        }
        guard let way = run.model.pipeline?.way(to: name) else {
            let names = run.model.pipeline?.allStages.map { "\"\($0.description.name)\"" } ?? []
            throw .badRequest(
                "query parameter \"stage\": model \"\(run.name)\" has no stage \"\(name.prefix(64))\"; it has "
                    + (names.isEmpty ? "none" : names.joined(separator: ", ")))
        }
        if let last = way.last, last.model == nil, case .absent(let absence) = run.stages[last.description.model] {
            throw ServiceError(absence)
        }
        guard query.finds.count <= way.count else {
            throw .badRequest(
                "query parameter \"find\": stage \"\(name.prefix(64))\" is at level \(way.count), which takes as many numbers"
            )
        }
        return way
    }

    /// The part of a reader for `explain`: its input is shown.
    private static func part(_ query: ObserveQuery, _ run: ModelRequest) throws(ServiceError) -> ReaderPart? {
        guard query.request.task == .read else { return nil }
        let reader = run.model.reader
        if reader == nil, query.request.findThreshold != nil {
            throw .badRequest(
                "query parameter \"find_threshold\": model \"\(run.name)\" is a recognizer without a detector, which reads the whole "
                    + "picture as one line; leave it out, or use a reader")
        }
        guard query.picture.explain != nil else {
            guard query.part == nil, query.line == nil else {
                throw .badRequest("query parameters \"stage\" and \"line\" go with \"explain\": explain=png")
            }
            return nil
        }
        let parts = reader?.models.map(\.part) ?? [.read]
        let part = query.part ?? parts.first ?? .read
        guard parts.contains(part) else {
            throw .badRequest(
                "query parameter \"stage\": model \"\(run.name)\" has no part \"\(part.rawValue)\"; it has "
                    + parts.map { "\"\($0.rawValue)\"" }.joined(separator: ", "))
        }
        guard query.line == nil || part != .find else {
            throw .badRequest(
                "query parameter \"line\" goes with stage=turn or stage=read: the detector sees the whole picture")
        }
        guard reader != nil || query.line ?? 0 == 0 else {
            throw .badRequest(
                "query parameter \"line\": model \"\(run.name)\" is a recognizer without a detector, which reads one line, 0"
            )
        }
        return reader == nil ? nil : part
    }

    /// The finds, and the encoded picture if the answer is a picture.
    package struct Output: TimedOutput {
        var result: ObservationResult
        var picture: [UInt8]?
        package var times: StageTimes { result.times }
    }

    package func predict(_ images: [EncodedImage], in slot: Slot) async -> [Result<Output, InferenceError>] {
        let request = picture?.request(query.request) ?? query.request
        var options = run.options
        // Run no later stages of a pipeline: the picture has no place for their results.
        if picture != nil { options.maxCrops = 0 }
        let results = await run.model.observations(
            of: images, request: request, options: options, taught: run.stages, slot: slot)
        var outputs: [Result<Output, InferenceError>] = []
        for result in results {
            do throws(InferenceError) {
                outputs.append(.success(try await output(try result.get())))
            } catch {
                outputs.append(.failure(error))
            }
        }
        return outputs
    }

    private func output(_ result: ObservationResult) async throws(InferenceError) -> Output {
        guard let picture else { return Output(result: result) }
        let edges = run.model.observationOutput(for: .detect)?.edges ?? [], deadline = run.options.deadline
        // On its own thread: encoding a large picture takes as long as decoding it.
        let drawn: Result<[UInt8], ImageError> = await LongDecoding.run { isStopped in
            Result { () throws(ImageError) in
                try picture.bytes(of: result, edges: edges) {
                    isStopped() || (deadline.map { MonotonicInstant.now >= $0 } ?? false)
                }
            }
        }
        do throws(ImageError) {
            return Output(result: result, picture: try drawn.get())
        } catch {
            if case .cancelled = error { throw .stopped(at: .postprocess) }
            throw .image(error, input: nil)
        }
    }

    package func explanation(of image: EncodedImage, in slot: Slot) async throws(InferenceError) -> PreprocessedImage? {
        if let part {
            return try await run.model.explanation(
                of: image, part: part, line: query.line ?? 0, request: query.request, options: run.options, slot: slot)
        }
        // A pipeline with stages decodes all pixels, so its detector's input differs from the one of the detector as a
        // model.
        guard !way.isEmpty || run.model.pipeline?.stages.isEmpty == false else { return nil }
        return try await run.model.explanation(
            of: image, way, finds: query.finds, request: query.request, options: run.options, taught: run.stages,
            slot: slot)
    }

    package func shadow(of image: EncodedImage, _ output: Output) -> ShadowWork? {
        // The finds for a picture are more than the request of a comparison would return.
        if picture != nil { return nil }
        return ShadowWork(times: output.result.times, image: image, answer: { ComparableAnswer(output.result) }) {
            [options = run.options, request = query.request, stages = run.stages] (model, sample, deadline, slot) in
            let options = options.forOtherVersion(sample, deadline: deadline)
            let results = await model.observations(
                of: [image], request: request, options: options, taught: stages, slot: slot)
            return Result(results.first)
        }
    }

    package func report(of image: EncodedImage, _ output: Output) -> AnswerReport? {
        run.report(image, .observations(output.result))
    }

    package func writingTime(of output: Output) -> UInt64 {
        switch output.result.content {
        case .mask: WorkQueue.writingTime(numbers: output.result.displayed.width * output.result.displayed.height)
        case .embedding(let values): WorkQueue.writingTime(numbers: values.count)
        case .detections(let found):
            found.reduce(0) { $0 &+ ($1.mask == nil ? 1_000 : WorkQueue.shortWriting) }
        case .keypoints(let points): WorkQueue.writingTime(labels: points.count)
        case .text:
            // A line has eight numbers for its corners, and so has each of its characters.
            WorkQueue.writingTime(numbers: 12 * output.result.textEntries(characters: query.characters))
        }
    }

    package func write(
        _ output: Output, total: UInt64, isCancelled: @escaping () -> Bool, to writer: inout JSONWriter
    ) throws(ImageError) {
        try ObservationWriter(
            mask: query.mask, encoding: query.encoding, classes: query.request.classes, maximum: query.request.top,
            characters: query.characters, isCancelled: { isCancelled() || run.isLate }
        ).write(output.result, total: total, to: &writer)
    }

    package func bytes(of output: Output, isCancelled: @escaping () -> Bool) throws(ImageError) -> [UInt8]? {
        if let picture = output.picture { return picture }
        return switch output.result.content {
        case .mask(let mask, _): try MaskPicture.png(mask, palette: true, isCancelled: { isCancelled() || run.isLate })
        case .embedding(let values):
            values.flatMap { value in withUnsafeBytes(of: value.bitPattern.littleEndian) { Array($0) } }
        case .detections, .keypoints, .text: nil
        }
    }

    package func note(_ output: Output, in metrics: ServiceMetrics) -> OutputNote {
        let result = output.result
        metrics.found(result.count, task: query.request.task, model: run.name)
        if let note = result.pipeline { metrics.record(note, model: run.name) }
        if let skipped = result.skippedRegions {
            metrics.record(result.times.stages, skipped: skipped, ofReader: run.name)
        }
        let failures = result.pipeline?.stages.contains { $0.failures > 0 } ?? false
        var note = OutputNote()
        note.isWhole = !failures || Self.isWhole(result)
        return note
    }

    private static func isWhole(_ result: ObservationResult) -> Bool {
        guard case .detections(let found) = result.content else { return true }
        return found.allSatisfy { one in
            one.stages.allSatisfy { stage in
                switch stage.outcome {
                case .classes: true
                case .absent(let absence): absence.kind == .notFound
                case .observed(let result, _): isWhole(result)
                case .failed(let error): ServiceError(error).isFaultOfRequest
                }
            }
        }
    }
}

internal import FlowControl
internal import HTTPServer
internal import ImagePipeline
internal import Inference
internal import JSON
internal import Rollout
internal import Settings

/// The query of a request to `detect`, `segment`, `keypoints` or `embed`.
struct ObserveQuery: TaskQuery {
    var picture = PictureQuery()
    /// The request to the model.
    var request: ObservationRequest
    /// The form of masks; nil is the route's own form.
    var mask: ObservationWriter.MaskForm?
    /// The encoding of an embedding.
    var encoding = ObservationWriter.Encoding.float

    init(task: ObservationTask) { request = ObservationRequest(task: task) }

    var ownNames: [String] {
        let known = ["threshold", "iou", "top", "classes"]
        return switch request.task {
        case .detect, .segment: known + ["mask"]
        case .embed: known + ["encoding"]
        case .keypoints: known
        }
    }

    mutating func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool {
        switch parameter.name {
        case "threshold": request.threshold = try parameter.share()
        case "iou": request.iou = try parameter.share()
        case "top": request.top = try parameter.count()
        case "classes":
            let classes = ObservationRequest.classes(in: parameter.value)
            guard (1...1_000).contains(classes.count) else {
                throw parameter.mistake("labels or numbers of 1 to 1000 classes, separated by commas")
            }
            request.classes = classes
        case "mask" where request.task == .segment: mask = try parameter.choice()
        case "mask" where request.task == .detect:
            mask = try parameter.choice()
            // A detection's mask is run lengths; one picture of classes cannot have those that overlap.
            guard mask != .png else { throw parameter.mistake("one of \"rle\", \"none\"") }
        case "encoding" where request.task == .embed: encoding = try parameter.choice()
        default: return false
        }
        return true
    }
}

/// `POST .../detect`, `/segment`, `/keypoints` and `/embed`: boxes, a mask, points or an embedding of a picture.
struct ObserveTask: PredictionTask {
    private let run: RunRequest
    private let query: ObserveQuery
    /// The mask as a picture with a palette, or embeddings as 32-bit floats, the low byte first, one after the other.
    let form: BinaryForm?
    var isNegotiated: Bool { query.request.task == .segment || query.request.task == .embed }

    static func fits(_ model: Model, _ query: ObserveQuery) -> Bool { model.tasks.contains(query.request.task) }

    static func defaultName(
        _ query: ObserveQuery, in repository: ModelRepository, _ settings: Settings
    ) throws(ServiceError) -> String { try repository.defaultName(for: .task(query.request.task), settings) }

    init(
        _ run: RunRequest, _ query: ObserveQuery, of request: HTTPRequest, settings: Settings
    ) throws(ServiceError) {
        let task = query.request.task
        guard run.model.tasks.contains(task) else {
            throw .invalidInput("model \"\(run.name)\" does not give \(task.gives): \(run.model.abilities)")
        }
        if let refusal = run.model.refusal(of: query.request) { throw ServiceError(refusal) }
        self.run = run
        self.query = query
        switch task {
        case .segment where request.accepts("image/png"): form = BinaryForm(type: "image/png", joins: false)
        case .embed where request.accepts("application/octet-stream"):
            form = BinaryForm(type: "application/octet-stream", joins: true)
        default: form = nil
        }
    }

    func predict(_ images: [EncodedImage], in slot: Slot) async -> [Result<ObservationResult, InferenceError>] {
        await run.model.observations(of: images, request: query.request, options: run.options, slot: slot)
    }

    func shadow(of image: EncodedImage, _ result: ObservationResult) -> ShadowWork? {
        ShadowWork(times: result.times, image: image, answer: { ComparableAnswer(result) }) {
            [run, request = query.request] (model, sample, deadline, slot) in
            let options = run.options(for: sample, deadline: deadline)
            let results = await model.observations(of: [image], request: request, options: options, slot: slot)
            return Result(results.first)
        }
    }

    func write(_ result: ObservationResult, total: UInt64, to writer: inout JSONWriter) throws(ImageError) {
        try ObservationWriter(
            mask: query.mask, encoding: query.encoding, classes: query.request.classes, most: query.request.top,
            isCancelled: { run.isCancelled }
        ).write(result, total: total, to: &writer)
    }

    func bytes(of result: ObservationResult) throws(ImageError) -> [UInt8]? {
        switch result.content {
        case .mask(let mask, _): try MaskPicture.png(mask, palette: true, isCancelled: { run.isCancelled })
        case .embedding(let values):
            values.flatMap { value in withUnsafeBytes(of: value.bitPattern.littleEndian) { Array($0) } }
        case .detections, .keypoints: nil
        }
    }

    func count(_ result: ObservationResult, in metrics: ServiceMetrics) {
        metrics.found(result.count, task: query.request.task, model: run.name)
    }
}

internal import FlowControl
internal import HTTPServer
internal import ImagePipeline
internal import Inference
internal import JSON
internal import Observations
internal import Repository
internal import ServiceCore
internal import SystemSupport
internal import Tasks
internal import Teaching
internal import WireFormats

/// The question of a control tag.
struct LabelQuery: TaskQuery {
    let control: LabelConfig.Control
    var picture = PictureQuery()
    var ownNames: [String] { [] }

    mutating func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool { false }
}

/// The pictures of tasks.
struct LabelInputs: TaskInputs {
    let model: Model

    static var itemKind: ItemKind { .picture }

    func item(_ image: EncodedImage, found: String) throws(ServiceError) -> LabelPicture {
        throw .invalidInput("expected tasks, found \(found)")
    }

    func pictures(of item: LabelPicture) -> [(input: String?, image: EncodedImage)] { [] }
    func pictureTime(of item: LabelPicture) -> UInt64 { item.time(for: model) }
    func reads(_ request: HTTPRequest, _ form: FormParts?) -> Bool { false }
    func read(_ request: HTTPRequest, _ form: FormParts?) -> (items: [LabelPicture], isList: Bool) { ([], false) }
}

/// Answers a control tag of a label config for the pictures of tasks, in percent of the displayed picture.
struct LabelTask: PredictionTask {
    private let run: ModelRequest
    private let control: LabelConfig.Control
    private let names: LabelNames
    /// The model's task; nil for classes.
    private let task: ObservationTask?

    static var answersTaughtModels: Bool { true }
    static var runsStages: Bool { false }
    static func unnamed(_ query: LabelQuery) -> UnnamedModel { query.control.kind.unnamed }
    var inputs: LabelInputs { LabelInputs(model: run.model) }
    var forms: AnswerForms { .parts }

    init(_ run: ModelRequest, _ query: LabelQuery, of request: HTTPRequest, live: LiveSettings) throws(ServiceError) {
        let kind = query.control.kind
        if kind.tasks.isEmpty {
            guard run.taught != nil || run.model.isImageClassifier else {
                throw .invalidInput(
                    "model \"\(run.name)\" is not an image classifier (one image input, one output with labels): "
                        + run.model.abilities)
            }
            task = nil
        } else {
            guard run.taught == nil, let task = kind.tasks.first(where: run.model.tasks.contains) else {
                throw .invalidInput(
                    "model \"\(run.name)\" does not give \(kind.tasks[0].gives), which \(query.control.name.prefix(60)) asks for: "
                        + (run.taught == nil ? run.model.abilities : "it is taught, and answers Choices"))
            }
            self.task = task
        }
        self.run = run
        control = query.control
        names = LabelNames(query.control.labels)
    }

    /// The model's result for a picture.
    enum Output: TimedOutput {
        case classes(ClassificationResult)
        case observed(ObservationResult)

        var times: StageTimes {
            switch self {
            case .classes(let result): result.times
            case .observed(let result): result.times
            }
        }
    }

    func predict(_ items: [LabelPicture], in slot: Slot) async -> [Result<Output, InferenceError>] {
        var outputs: [Result<Output, InferenceError>?] = [], images: [EncodedImage] = []
        for item in items {
            do throws(InferenceError) {
                images.append(run.model.reading(try await item.image()))
                outputs.append(nil)
            } catch {
                outputs.append(.failure(error))
            }
        }
        var found = await answers(to: images, in: slot).makeIterator()
        return outputs.map { output in
            output ?? found.next() ?? .failure(.stopped(at: .inference))
        }
    }

    private func answers(to images: [EncodedImage], in slot: Slot) async -> [Result<Output, InferenceError>] {
        guard !images.isEmpty else { return [] }
        // Later stages of a pipeline have no place in the answer.
        var options = run.options
        options.maxCrops = 0
        if let task {
            return await run.model.observations(
                of: images, request: ObservationRequest(task: task), options: options, slot: slot
            ).map { $0.map { .observed($0) } }
        }
        let count = run.taught?.head.labels.count ?? run.model.classLabels?.count ?? 1
        return await run.model.classifications(
            of: images, top: count, threshold: 0, options: options, slot: slot, head: run.taught?.head
        ).map { $0.map { .classes($0) } }
    }

    // MARK: The answer

    func shadow(of item: LabelPicture, _ output: Output) -> ShadowWork? { nil }

    func writingTime(of output: Output) -> UInt64 {
        switch output {
        case .classes(let result): WorkQueue.writingTime(labels: result.classifications.count)
        case .observed(let result):
            control.kind == .brushes
                ? WorkQueue.writingTime(numbers: result.displayed.width * result.displayed.height)
                : WorkQueue.writingTime(numbers: 12 * result.count)
        }
    }

    func write(_ output: Output, total: UInt64, isCancelled: @escaping () -> Bool, to writer: inout JSONWriter) {}

    func bytes(of output: Output, isCancelled: @escaping () -> Bool) throws(ImageError) -> [UInt8]? {
        let writer = LabelWriter(control: control, names: names)
        switch output {
        case .classes(let result): return writer.results(of: result).bytes
        case .observed(let result):
            let deadline = run.options.deadline
            return try writer.results(of: result) {
                isCancelled() || (deadline.map { MonotonicInstant.now >= $0 } ?? false)
            }.bytes
        }
    }

    func note(_ output: Output, in metrics: ServiceMetrics) -> OutputNote {
        if let task, case .observed(let result) = output { metrics.found(result.count, task: task, model: run.name) }
        return OutputNote()
    }
}

extension LabelConfig.Kind {
    /// The tasks that fill it in, the usual one first; empty for classes.
    var tasks: [ObservationTask] {
        switch self {
        case .choices: []
        case .rectangles: [.detect]
        case .keyPoints: [.keypoints, .detect]
        case .brushes: [.segment, .detect]
        case .texts: [.read]
        }
    }

    /// The model for a tag that names none.
    var unnamed: UnnamedModel { .usual(tasks.first.map { .task($0) } ?? .classification) }
}

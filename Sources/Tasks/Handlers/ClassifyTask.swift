package import Calibration
package import FlowControl
package import HTTPServer
package import ImagePipeline
package import Inference
package import JSON
internal import Repository
internal import Rollout
package import ServiceCore
internal import Settings
internal import SystemSupport
package import WireFormats

/// The query of a `classify` or `predict` request.
package struct ClassifyQuery: TaskQuery {
    package var picture = PictureQuery()
    /// The number of classes in the answer; nil if not given.
    package var top: Int?
    /// The minimum confidence of a class in the answer; nil if not given.
    package var threshold: Float?
    /// The coverage of the set of labels in the answer; nil for no set.
    package var coverage: Coverage?
    /// True if the answer has the distances of a picture's patches.
    package var map = false
    /// The labels of the request; nil on a route that takes none.
    package var labels: LabelQuery?
    package var ownNames: [String] {
        ["top", "threshold", "size", "map"] + (labels == nil ? [] : ["coverage"] + LabelQuery.names)
    }
    package var listName: String? { labels == nil ? nil : LabelQuery.part }

    /// A query without parameters.
    package init() {}

    package mutating func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool {
        switch parameter.name {
        case "top": top = try parameter.count()
        case "threshold": threshold = try parameter.share()
        case "map": map = try parameter.flag()
        case "size": picture.size = try Self.size(parameter)
        case "coverage" where labels != nil:
            guard let coverage = Coverage(parameter.value) else { throw parameter.mistake(Coverage.expected) }
            self.coverage = coverage
        default: return try labels?.take(parameter) ?? false
        }
        return true
    }

    package mutating func take(list: [String]) throws(ServiceError) { try labels?.take(parts: list) }
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

    /// Refuses a coverage for classes that are not calibrated.
    func checkCoverage(_ run: ModelRequest) throws(ServiceError) {
        guard coverage != nil else { return }
        func refusal(_ reason: String) -> ServiceError { .badRequest("\"coverage\": \(reason)") }
        guard labels?.isEmpty ?? true else {
            throw refusal(
                "sets are made of the model's own labels, which are calibrated: leave out \"labels\" and \"prompt\"")
        }
        guard run.taught == nil else {
            throw refusal(
                "model \"\(run.name)\" is a taught model, which has no calibration: \"known\" and \"distance\" tell how sure it is"
            )
        }
        if let obstacle = run.model.obstacleToCalibration { throw refusal("model \"\(run.name)\" \(obstacle)") }
        guard run.model.calibration != nil else {
            throw refusal(
                "model \"\(run.name)\" is not calibrated: `ocelli calibrate BUNDLE FOLDER`, with a folder of pictures for each "
                    + "label, writes \(ClassifierCalibration.fileName) beside its model.json")
        }
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
    /// The options of the prediction, with the coverage of the request.
    private let options: PredictionOptions
    private let top: Int
    private let threshold: Float
    private let logsTopLabel: Bool
    private let showsMap: Bool
    /// The labels of the request.
    private let labels: LabelQuery
    private let isExplained: Bool
    /// The labels as classes of the model; nil without labels, and until ``prepared()``.
    private var classes: LabelClasses?

    package static var answersTaughtModels: Bool { true }

    package static func unnamed(_ query: ClassifyQuery) -> UnnamedModel {
        .usual(query.labels?.labels.isEmpty ?? true ? .classification : .labels)
    }
    package let inputs = PictureInputs()
    /// A picture with the map of distances over it, if `Accept` selects it and the model compares patches.
    package let forms: AnswerForms

    /// A request for classes.
    package static func prediction(_ call: Call) throws(ServiceError) -> PredictionCall {
        var query = ClassifyQuery()
        query.labels = LabelQuery()
        return try PredictionRunner<Self>(call, query).prediction
    }

    package init(
        _ run: ModelRequest, _ query: ClassifyQuery, of request: HTTPRequest, live: LiveSettings
    ) throws(ServiceError) {
        try query.checkSize(run.model)
        let own = query.labels ?? LabelQuery()
        try own.check(run)
        let labels = own.isEmpty ? run.classLabels : own.labels(for: run.model)
        isExplained = query.picture.explain != nil
        // `explain` works without labels.
        guard run.model.takesOnePicture, labels != nil || isExplained else {
            if run.model.words?.description.takesPictures == true {
                if let refusal = run.model.refusalOfLabels { throw ServiceError(refusal) }
                throw .invalidInput(
                    "model \"\(run.name)\" has no labels of its own: \(LabelQuery.advice(run.name))")
            }
            throw .invalidInput(
                "model \"\(run.name)\" is not an image classifier (one image input, one output with labels): "
                    + run.model.abilities)
        }
        if let labels, let top = query.top, top > labels.count {
            throw .badRequest(
                "query parameter \"top\": expected a whole number from 1 to \(labels.count) (the classes of "
                    + "\"\(run.name)\"), found \"\(top)\"")
        }
        guard !query.map || run.comparesPatches else {
            throw .badRequest(
                "query parameter \"map\": \"\(run.name)\" has no map: it is not taught with the method normal on vectors of "
                    + "patches")
        }
        var forms = AnswerForms()
        if run.comparesPatches {
            forms.isNegotiated = true
            if request.accepts("image/png") {
                forms.type = "image/png"
                forms.onlyOne = "an answer that is a picture is for one (Accept)"
            }
        }
        self.forms = forms
        try query.checkCoverage(run)
        var options = run.options
        options.coverage = query.coverage
        self.options = options
        showsMap = query.map
        self.run = run
        self.labels = own
        top = query.top ?? min(live.settings.top, labels?.count ?? 1)
        threshold = query.threshold ?? 0
        logsTopLabel = live.settings.logTopLabel
    }

    /// Embeds the labels.
    package func prepared() async throws(InferenceError) -> Self {
        guard !labels.isEmpty, !isExplained else { return self }
        var task = self
        task.classes = try await labels.classes(of: run.model, options: run.options)
        return task
    }

    /// The classes, and the encoded picture if the answer is one.
    package struct Output: TimedOutput {
        var result: ClassificationResult
        var picture: [UInt8]?
        package var times: StageTimes { result.times }
    }

    package func predict(_ images: [EncodedImage], in slot: Slot) async -> [Result<Output, InferenceError>] {
        let results = await run.model.classifications(
            of: images, top: top, threshold: threshold, options: options, slot: slot, head: run.taught?.head,
            labels: classes)
        var outputs: [Result<Output, InferenceError>] = []
        for (image, result) in zip(images, results) {
            do throws(InferenceError) {
                var output = Output(result: try result.get())
                if forms.type != nil, images.count == 1 { try await draw(on: image, &output) }
                outputs.append(.success(output))
            } catch {
                outputs.append(.failure(error))
            }
        }
        return outputs
    }

    /// Draws the map of distances on the picture.
    private func draw(on image: EncodedImage, _ output: inout Output) async throws(InferenceError) {
        guard let anomaly = output.result.taught?.anomaly else { return }
        let picture = try await run.model.drawable(image, options: run.options), deadline = run.options.deadline
        // On its own thread: encoding a large picture takes as long as decoding it.
        let drawn: Result<[UInt8], ImageError> = await LongDecoding.run { isStopped in
            Result { () throws(ImageError) in
                try HeatPicture.png(of: picture, anomaly) {
                    isStopped() || (deadline.map { MonotonicInstant.now >= $0 } ?? false)
                }
            }
        }
        do throws(ImageError) {
            output.picture = try drawn.get()
        } catch {
            if case .cancelled = error { throw .stopped(at: .postprocess) }
            throw .image(error, input: nil)
        }
    }

    /// Returns nil if the threshold left no class to compare.
    package func shadow(of image: EncodedImage, _ output: Output) -> ShadowWork? {
        let result = output.result
        guard !result.classifications.isEmpty else { return nil }
        return ShadowWork(times: result.times, image: image, answer: { ComparableAnswer(result) }) {
            [options, top, labels] (model, sample, deadline, slot) in
            let options = options.forOtherVersion(sample, deadline: deadline)
            do throws(InferenceError) {
                let classes = try await labels.classes(of: model, options: options)
                let maximum = min(top, classes?.labels.count ?? model.description.classLabels?.count ?? 1)
                let results = await model.classifications(
                    of: [image], top: maximum, threshold: 0, options: options, slot: slot, labels: classes)
                return Result(results.first)
            } catch {
                return .failure(error)
            }
        }
    }

    package func report(of image: EncodedImage, _ output: Output) -> AnswerReport? {
        // Labels of the request are other classes each time.
        labels.isEmpty ? run.report(image, .classes(output.result)) : nil
    }

    package func writingTime(of output: Output) -> UInt64 {
        let distances = showsMap ? output.result.taught?.anomaly?.map?.distances.count ?? 0 : 0
        let labels = output.result.classifications.count &+ (output.result.set?.count ?? 0)
        return WorkQueue.writingTime(labels: labels)
            &+ WorkQueue.writingTime(numbers: distances)
    }

    package func write(
        _ output: Output, total: UInt64, isCancelled: @escaping () -> Bool, to writer: inout JSONWriter
    ) {
        ClassificationWriter.write(output.result, total: total, showsMap: showsMap, to: &writer)
    }

    package func bytes(of output: Output, isCancelled: @escaping () -> Bool) throws(ImageError) -> [UInt8]? {
        output.picture
    }

    package func note(_ output: Output, in metrics: ServiceMetrics) -> OutputNote {
        var note = OutputNote()
        if logsTopLabel { note.topLabel = output.result.classifications.first?.label }
        return note
    }
}

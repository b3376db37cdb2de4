internal import FlowControl
internal import ImagePipeline
internal import Observations
internal import SystemSupport

/// Runs the stages of a picture's detections, level by level, within the request's limit of crops.
struct CropStages {
    let picture: HeldPicture
    /// The maximum number of pixels of a crop.
    let maxPixels: Int
    let options: PredictionOptions
    let taught: TaughtStages
    let slot: Slot
    /// The limiter that issued the slot.
    let limiter: InFlightLimiter
    /// The number of crops that may still be made.
    private(set) var budget: Int
    private(set) var note = PipelineNote()
    private(set) var times = StageTimes()

    init(_ request: PipelineRequest, picture: HeldPicture) {
        self.picture = picture
        maxPixels = request.maxPixels
        options = request.stageOptions
        taught = request.taught
        slot = request.slot
        limiter = request.detector.limiter
        budget = request.options.maxCrops
    }

    private typealias Found = ObservationResult.Found

    /// The detections with the answers of their stages.
    /// - Parameter maximum: the maximum number of detections with stages.
    /// - Throws: errors that end the request: its deadline, a cancellation, a model that refuses further requests.
    mutating func runStages(
        of found: [ObservationResult.Found], _ stages: [Pipeline.Stage], maximum: Int?
    ) async throws(InferenceError) -> [ObservationResult.Found] {
        var found = found
        let chosen = choose(among: found, stages, maximum: maximum)
        for stage in stages {
            let places = chosen.filter { stage.applies(to: found[$0]) }
            guard !places.isEmpty else { continue }
            var answers = try await run(stage, at: places.map { found[$0] })
            try await runNested(in: &answers, stage)
            for (place, answer) in zip(places, answers) { found[place].stages.append(answer) }
        }
        return found
    }

    /// The detections that get stages, in their order: the most confident ones, as long as crops remain.
    private mutating func choose(among found: [ObservationResult.Found], _ stages: [Pipeline.Stage], maximum: Int?)
        -> [Int]
    {
        let wanted = found.indices.filter { place in stages.contains { $0.applies(to: found[place]) } }
        var chosen: [Int] = []
        for place in wanted.sorted(by: { (found[$1].confidence, $0) < (found[$0].confidence, $1) }) {
            let crops = Set(stages.filter { $0.applies(to: found[place]) }.map(\.description.crop)).count
            guard chosen.count < maximum ?? .max, crops <= budget else { break }
            budget -= crops
            chosen.append(place)
        }
        note.skipped += wanted.count - chosen.count
        return chosen.sorted()
    }

    /// Runs the stages of a stage's own detections, for all crops together.
    private mutating func runNested(
        in answers: inout [ObservationResult.StageAnswer], _ stage: Pipeline.Stage
    ) async throws(InferenceError) {
        guard !stage.each.isEmpty else { return }
        let found = answers.map(\.found)
        let closer = try await runStages(of: found.flatMap { $0 }, stage.each, maximum: stage.description.maximum)
        var next = 0
        for place in answers.indices {
            let end = next + found[place].count
            answers[place].replaceFound(by: Array(closer[next..<end]))
            next = end
        }
    }

    // MARK: One stage

    private mutating func run(
        _ stage: Pipeline.Stage, at found: [ObservationResult.Found]
    ) async throws(InferenceError) -> [ObservationResult.StageAnswer] {
        let start = MonotonicInstant.now
        let answering: StageModel
        do throws(TaughtAbsence) { answering = try stage.answering(taught) } catch {
            return missing(stage, found.count, error)
        }
        let model = answering.model
        let request = StageRequest(
            stage: stage, answering: answering, picture: picture, maxPixels: maxPixels, options: options, slot: slot)
        let chunks = stage.chunks(of: found.count, for: model)
        let results = try await Parallel.results(chunks.count, width: stage.width(for: model)) {
            (index) throws(InferenceError) in
            try await request.answers(for: Array(found[chunks[index]]))
        }.flatMap { $0 }
        var spent = StageTimes()
        for result in results {
            switch result {
            case .classes(let result): spent.add(result.times)
            case .observed(let result, _): spent.add(result.times)
            case .failed, .absent: break
            }
        }
        let name = stage.description.name, time = MonotonicInstant.now.nanoseconds(since: start)
        times.add(spent)
        times.add(StageTimes.Stage(name: name, nanoseconds: time))
        // The slot belongs to the detector's model; charge the client's use of this model to its share there.
        if model.limiter !== limiter { model.limiter.charge(options.claim, nanoseconds: spent.sum) }
        note.stages.append(
            PipelineNote.Stage(
                name: name, nanoseconds: time, crops: results.count,
                failures: results.count { if case .failed = $0 { true } else { false } }))
        return results.map { ObservationResult.StageAnswer(name: name, outcome: $0) }
    }

    /// The answers of a stage if its taught model cannot answer.
    private mutating func missing(
        _ stage: Pipeline.Stage, _ count: Int, _ absence: TaughtAbsence
    ) -> [ObservationResult.StageAnswer] {
        let name = stage.description.name
        times.add(StageTimes.Stage(name: name, nanoseconds: 0))
        note.stages.append(PipelineNote.Stage(name: name, nanoseconds: 0, crops: count, failures: count))
        return Array(repeating: ObservationResult.StageAnswer(name: name, outcome: .absent(absence)), count: count)
    }
}

/// One stage for some detections, in a request's slot.
struct StageRequest: Sendable {
    let stage: Pipeline.Stage
    let answering: StageModel
    let picture: HeldPicture
    let maxPixels: Int
    let options: PredictionOptions
    let slot: Slot

    typealias Outcome = ObservationResult.StageAnswer.Outcome

    /// The answers; classes and embeddings are computed several in one inference if the model allows it.
    /// - Throws: errors that end the request.
    func answers(for found: [ObservationResult.Found]) async throws(InferenceError) -> [Outcome] {
        var outcomes: [Outcome?] = []
        var crops: [FindCrop] = []
        for one in found {
            do throws(InferenceError) {
                crops.append(
                    try FindCrop(
                        stage.description, for: answering.model, of: one, in: picture, maxPixels: maxPixels))
                outcomes.append(nil)
            } catch {
                outcomes.append(.failed(error))
            }
        }
        guard !crops.isEmpty else { return outcomes.compactMap { $0 } }
        var rest = try await answers(ofCrops: crops).makeIterator()
        var all: [Outcome] = []
        for outcome in outcomes {
            if let next = outcome ?? rest.next() { all.append(next) }
        }
        return all
    }

    private func answers(ofCrops crops: [FindCrop]) async throws(InferenceError) -> [Outcome] {
        let model = answering.model, images = crops.map(\.image)
        if let request = stage.description.request {
            var options = options
            if crops.count == 1 { options.place = crops[0].place }
            let results = await each(images) {
                await model.observations(of: $0, request: request, options: options, slot: slot)
            }
            var outcomes: [Outcome] = []
            for (crop, result) in zip(crops, results) {
                outcomes.append(try Self.outcome(result) { .observed(crop.placed($0), box: crop.box) })
            }
            return outcomes
        }
        let results = await each(images) {
            await model.classifications(
                of: $0, top: min(stage.description.top ?? 5, answering.classCount),
                threshold: stage.description.threshold ?? 0, options: options, slot: slot, head: answering.head)
        }
        var outcomes: [Outcome] = []
        for result in results { outcomes.append(try Self.outcome(result) { .classes($0) }) }
        return outcomes
    }

    /// The results of one inference; if the engine fails for all crops together, the results of one inference for each,
    /// because one crop may have caused the failure.
    private func each<Value>(
        _ images: [EncodedImage], _ run: ([EncodedImage]) async -> [Result<Value, InferenceError>]
    ) async -> [Result<Value, InferenceError>] {
        let results = await run(images)
        guard images.count > 1, case .failure(.engine)? = results.first else { return results }
        var alone: [Result<Value, InferenceError>] = []
        for image in images { alone += await run([image]) }
        return alone
    }

    private static func outcome<Value>(
        _ result: Result<Value, InferenceError>, _ answer: (Value) -> Outcome
    ) throws(InferenceError) -> Outcome {
        do throws(InferenceError) {
            return answer(try result.get())
        } catch {
            switch error {
            case .cancelled, .deadlineExceeded, .refused: throw error
            default: return .failed(error)
            }
        }
    }
}

extension Pipeline.Stage {
    /// True if the stage runs for detections of this class.
    package func applies(to found: ObservationResult.Found) -> Bool {
        guard let classes = description.classes else { return true }
        return classes.contains(found.label) || classes.contains("\(found.index)")
    }

    /// The crops of each inference: several for answers without positions in the picture, otherwise one.
    fileprivate func chunks(of count: Int, for model: Model) -> [Range<Int>] {
        switch description.task {
        case .classify where !description.crop.isMasked, .embed where !description.crop.isMasked:
            model.chunks(of: count)
        default: (0..<count).map { $0..<$0 + 1 }
        }
    }

    /// The number of inferences at a time: as many as keep the model busy. Masked crops are copies, so only one at a
    /// time.
    fileprivate func width(for model: Model) -> Int { description.crop.isMasked ? 1 : model.instances }
}

extension PipelineDescription.Stage {
    /// The request to the stage's model; nil for classification.
    var request: ObservationRequest? {
        task.observation.map { task in
            var request = ObservationRequest(task: task)
            request.threshold = threshold
            request.iou = iou
            request.top = top
            return request
        }
    }
}

extension ObservationResult.StageAnswer {
    /// The detections of the stage; empty if it does not detect, or failed.
    fileprivate var found: [ObservationResult.Found] {
        guard case .observed(let result, _) = outcome, case .detections(let found) = result.content else { return [] }
        return found
    }

    fileprivate mutating func replaceFound(by found: [ObservationResult.Found]) {
        guard case .observed(var result, let box) = outcome, case .detections = result.content else { return }
        result.content = .detections(found)
        outcome = .observed(result, box: box)
    }
}

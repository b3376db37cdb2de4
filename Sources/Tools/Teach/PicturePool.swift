internal import FlowControl
internal import HTTPWire
internal import ImagePipeline
internal import Inference
internal import SystemSupport
internal import Teaching
internal import WireFormats

/// Processes many pictures, a few at a time: at most two more than the model's slots are read or held.
struct PicturePool: Sendable {
    /// The computation for each picture.
    enum Question: Sendable {
        case embedding(LocalObservation.Observer)
        case classes(Model)
        /// The confidences of all classes of a classifier.
        case confidences(Model)

        var model: Model {
            switch self {
            case .embedding(let observer): observer.model
            case .classes(let model), .confidences(let model): model
            }
        }
    }

    /// The result for a picture.
    struct Outcome: Sendable {
        var id: ExampleID?
        /// The embedding, or the confidences in the order of the classes.
        var embedding: [Float] = []
        /// False if the scores of the classes are not confidences.
        var areConfidences = true
        /// The vectors of its patches, if the question asks for them.
        var patches: PatchVectors?
        var label = ""
        var isKnown: Bool?
        /// The sentence and the code of a failure; empty after success.
        var failure = "", code = ""
    }

    let question: Question
    /// The maximum number of bytes of a picture.
    let maximum: Int

    private struct Numbered: Sendable {
        let index: Int
        let outcome: Outcome
    }

    /// The results, in the order of the pictures.
    func run(_ pictures: [ClassFolders.Picture], progress: (String) -> Void) async -> [Outcome] {
        let width = min(pictures.count, question.model.limiter.snapshot.limit + 2)
        var outcomes = [Outcome](repeating: Outcome(), count: pictures.count)
        await withTaskGroup(of: Numbered.self) { group in
            func start(_ index: Int) {
                let picture = pictures[index].place
                group.addTask { Numbered(index: index, outcome: await outcome(of: picture)) }
            }
            for index in 0..<width { start(index) }
            var next = width, done = 0
            while let one = await group.next() {
                outcomes[one.index] = one.outcome
                done += 1
                progress("\(done) of \(pictures.count): \(pictures[one.index].place.name)")
                if next < pictures.count { start(next) }
                next += 1
            }
        }
        return outcomes
    }

    private func outcome(of picture: BulkPicture) async -> Outcome {
        let maximum = maximum
        // The file is read on a thread that may block.
        let read = await LoaderThread.run { () -> Result<[UInt8], CommandError> in
            Result { () throws(CommandError) in try picture.read(maximum: maximum) }
        }
        var outcome = Outcome()
        do {
            let bytes = try read.get()
            outcome.id = bytes.withUnsafeBytes { ExampleID(of: $0) }
            switch question {
            case .embedding(let observer):
                let result = try await observer.model.observations(
                    of: EncodedImage(bytes), request: observer.request, options: observer.options)
                guard case .embedding(let values) = result.content, values.allSatisfy(\.isFinite), !values.isEmpty
                else {
                    throw CommandError("has an embedding with numbers that are not finite")
                }
                outcome.embedding = values
                outcome.patches = result.patches?.vectors
            case .classes(let model):
                let result = try await model.classification(of: EncodedImage(bytes), top: 1)
                outcome.label = result.classifications.first?.label ?? ""
                outcome.isKnown = result.taught?.isKnown
            case .confidences(let model):
                let count = model.description.classLabels?.count ?? 0
                let result = try await model.classification(of: EncodedImage(bytes), top: max(1, count))
                outcome.embedding = [Float](repeating: 0, count: count)
                for entry in result.classifications where outcome.embedding.indices.contains(entry.index) {
                    outcome.embedding[entry.index] = entry.confidence
                }
                outcome.areConfidences = result.areConfidences
            }
        } catch {
            outcome.failure = LocalClassification.message(of: error)
            outcome.code = (error as? InferenceError).map { ServiceError($0).code.rawValue } ?? "bad_request"
        }
        return outcome
    }
}

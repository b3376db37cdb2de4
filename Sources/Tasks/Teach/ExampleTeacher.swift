internal import FlowControl
internal import HTTPWire
package import Inference
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import Teaching
package import WireFormats

/// Embeds the pictures of a request in slots of a taught model's embedder, and teaches them in one change.
package struct ExampleTeacher: Sendable {
    private let call: Call
    private let taught: TaughtModels
    private let model: TaughtModel
    private let options: PredictionOptions
    /// True if the pictures are parts of a form, so that errors number them.
    private let isForm: Bool

    package init(
        _ call: Call, _ taught: TaughtModels, _ model: TaughtModel, options: PredictionOptions, isForm: Bool = false
    ) {
        self.call = call
        self.taught = taught
        self.model = model
        self.options = options
        self.isForm = isForm
    }

    /// Throws 400 for a label that the taught model's examples cannot have.
    static func check(_ label: String, of model: TaughtModel) throws(ServiceError) {
        do throws(TeachingError) { try model.view.state.check(label: label) } catch { throw ServiceError(error) }
    }

    /// A picture of the request.
    private struct Picture: Sendable {
        /// The picture's number, from 1.
        let part: Int
        let id: ExampleID
        let image: EncodedImage
        var embedding: [Float]?
        var patches: PatchVectors?
    }

    /// Teaches pictures that have one label. Throws if none of them can be used.
    /// - Parameters:
    ///   - name: the caller's own name for the pictures; nil for none.
    ///   - bytes: the length of the pictures together.
    func teach(
        _ images: [EncodedImage], label: String, name: String?, bytes: Int
    ) async throws(ServiceError) -> (outcomes: [TaughtModel.Outcome], failures: [TaughtWriter.Failure]) {
        try await teach(images, label: label, bytes: bytes) { _, _ in name }
    }

    /// Teaches one picture.
    /// - Parameter naming: the caller's own name for it, from the example of the picture that is known, with the new
    ///   label; nil for none, or to keep the one that it has.
    package func teach(
        _ image: EncodedImage, label: String,
        naming: @escaping @Sendable (_ known: Example?, _ label: String) -> String?
    ) async throws(ServiceError) -> TaughtModel.Outcome {
        let taught = try await teach([image], label: label, bytes: image.byteCount, naming: naming)
        guard let outcome = taught.outcomes.first else { throw Self.refusal(taught.failures, isForm: false) }
        return outcome
    }

    private func teach(
        _ images: [EncodedImage], label: String, bytes: Int,
        naming: @escaping @Sendable (Example?, String) -> String?
    ) async throws(ServiceError) -> (outcomes: [TaughtModel.Outcome], failures: [TaughtWriter.Failure]) {
        try Self.check(label, of: model)
        let embedder = try await taught.teacher(of: model, deadline: options.deadline)
        let state = model.view.state
        let images = await Self.complete(images, embedder, options)
        let pictures = try await call.parts.work.read(bytes, for: call.claim, until: options.deadline) {
            (isCancelled) throws(ServiceError) in
            try images.enumerated().map { (index, image) throws(ServiceError) in
                if isCancelled() { throw ServiceError(InferenceError.cancelled(stage: .queue)) }
                let id = image.withUnsafeBytes { ExampleID(of: $0) }
                let known = state.example(id)
                return Picture(
                    part: index + 1, id: id, image: image, embedding: known?.embedding, patches: known?.patches)
            }
        }
        let (learned, failures) = try await embed(
            pictures, readsPatches: state.grid != nil,
            SlotRunner(model: embedder, options: options, metrics: call.parts.metrics))
        if learned.isEmpty { throw Self.refusal(failures, isForm: isForm) }
        return (try await teach(learned, label, by: state.embedder, naming: naming), failures)
    }

    /// The pictures in a form that can be embedded again without their request, when the embedder has changed: raw
    /// frames and pictures with a stated orientation become PNGs.
    private static func complete(
        _ images: [EncodedImage], _ embedder: Model, _ options: PredictionOptions
    ) async -> [EncodedImage] {
        var complete: [EncodedImage] = []
        for image in images {
            var found: EncodedImage?
            if image.frame != nil || options.orientation != .apply {
                // A picture that fails does so again when it is embedded, and is reported then.
                found = try? await embedder.displayed(image, options: options)
            }
            complete.append(found ?? image)
        }
        return complete
    }

    // MARK: Embedding

    /// Embeds the pictures without a known embedding, each picture once.
    private func embed(
        _ pictures: [Picture], readsPatches: Bool, _ slots: SlotRunner
    ) async throws(ServiceError) -> (learned: [Picture], failures: [TaughtWriter.Failure]) {
        var firsts: [ExampleID: Int] = [:]
        var items: [EncodedImage] = []
        for picture in pictures where picture.embedding == nil && firsts[picture.id] == nil {
            firsts[picture.id] = items.count
            items.append(slots.model.reading(picture.image))
        }
        var request = ObservationRequest(task: .embed)
        request.readsPatches = readsPatches
        let asked = request
        let outcomes = await slots.outcomes(of: items, stopsAtFailure: false, work: \.decodingTime) { images, slot in
            await slots.model.observations(
                of: images, request: asked, options: slots.options, slot: slot
            ).map { result in
                do throws(InferenceError) {
                    let result = try result.get()
                    return .success(result)
                } catch {
                    return .failure(slots.failure(error, of: .picture))
                }
            }
        }
        var learned: [Picture] = [], failures: [TaughtWriter.Failure] = []
        for var picture in pictures {
            guard let place = firsts[picture.id] else {
                learned.append(picture)
                continue
            }
            do throws(ServiceError) {
                let result = try outcomes[place].result.get()
                guard case .embedding(let values) = result.content else { continue }
                picture.embedding = values
                picture.patches = result.patches?.vectors
                learned.append(picture)
            } catch {
                failures.append(TaughtWriter.Failure(part: picture.part, error: error))
            }
        }
        return (learned, failures)
    }

    /// The error of a request without a usable picture.
    private static func refusal(_ failures: [TaughtWriter.Failure], isForm: Bool) -> ServiceError {
        guard let first = failures.first else {
            return ServiceError(.internal, "the embedder gave no embedding")
        }
        // A temporary error is reported as for any prediction.
        if let passing = failures.first(where: { $0.error.status.code >= 500 }) { return passing.error }
        guard isForm else { return first.error }
        let listed = failures.prefix(maximumListed).map { "part \($0.part): \($0.error.message)" }.joined(
            separator: "; ")
        let rest = failures.count > maximumListed ? "; and \(failures.count - maximumListed) more" : ""
        return ServiceError(
            .invalidImage, "no picture of the form could be used: \(listed)\(rest)", label: first.error.label)
    }

    private static let maximumListed = 5

    // MARK: Teaching

    private func teach(
        _ pictures: [Picture], _ label: String, by embedder: Embedder,
        naming: @escaping @Sendable (Example?, String) -> String?
    ) async throws(ServiceError) -> [TaughtModel.Outcome] {
        let settings = call.live.settings
        let isKept = settings.taughtKeepPictures
        let examples = pictures.map { picture in
            TaughtModel.NewExample(
                id: picture.id, label: label, embedding: picture.embedding ?? [], patches: picture.patches,
                picture: isKept ? picture.image.withUnsafeBytes { Array($0) } : nil)
        }
        return try await taught.teach(
            examples, to: model, by: embedder, deadline: options.deadline ?? .now + .seconds(settings.deadline),
            claim: call.claim, naming: naming
        ).outcomes
    }
}

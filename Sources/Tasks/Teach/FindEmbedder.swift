internal import FlowControl
package import Inference
package import ServiceCore
package import WireFormats

/// Embeds the largest detection of each picture: the crop that a pipeline's stage with a taught model sees.
package struct FindEmbedder: Sendable {
    private let slots: SlotRunner
    private let stage: Pipeline.Stage
    private let embedder: Model

    /// - Parameters:
    ///   - pipeline: the pipeline; its slots are used.
    ///   - embedder: the model that sees the crops.
    package init(
        _ pipeline: Model, _ stage: Pipeline.Stage, by embedder: Model, options: PredictionOptions,
        metrics: ServiceMetrics
    ) {
        slots = SlotRunner(model: pipeline, options: options, metrics: metrics)
        self.stage = stage
        self.embedder = embedder
    }

    /// The embeddings in the order of the pictures, or the reason a picture has none.
    package func embeddings(of images: [EncodedImage]) async -> [Result<[Float], ServiceError>] {
        let items = images.map { slots.model.reading($0) }
        let outcomes = await slots.outcomes(of: items, stopsAtFailure: false, work: \.decodingTime) {
            (images, slot) -> [Result<[Float], ServiceError>] in
            var results: [Result<[Float], ServiceError>] = []
            for image in images {
                do throws(ServiceError) {
                    results.append(.success(try await self.embedding(of: image, in: slot)))
                } catch {
                    results.append(.failure(error))
                }
            }
            return results
        }
        return outcomes.map(\.result)
    }

    private func embedding(of image: EncodedImage, in slot: Slot) async throws(ServiceError) -> [Float] {
        let outcome = await slots.model.embeddings(
            of: image, at: stage, by: embedder, isForLargest: true, options: slots.options, slot: slot)
        let result: ObservationResult
        do throws(InferenceError) { result = try outcome.get() } catch { throw slots.failure(error, of: .picture) }
        guard case .detections(let found) = result.content, let largest = found.first else {
            throw .invalidInput("nothing is found in the picture: \"\(slots.model.description.name)\" has no detection")
        }
        if case .failed(let error)? = largest.stages.first?.outcome { throw slots.failure(error, of: .picture) }
        guard let embedding = largest.embedding else {
            throw ServiceError(.internal, "the embedder gave no embedding")
        }
        return embedding
    }
}

extension ObservationResult.Found {
    /// The embedding of the detection's crop; nil if no stage gave one.
    package var embedding: [Float]? {
        for stage in stages {
            if case .observed(let result, _) = stage.outcome, case .embedding(let values) = result.content {
                return values
            }
        }
        return nil
    }
}

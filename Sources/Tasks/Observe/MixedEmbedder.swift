internal import FlowControl
package import Inference
package import ServiceCore
package import WireFormats

/// Embeds pictures and texts of one request, in any order: all of them, or the request fails.
package struct MixedEmbedder: Sendable {
    /// One input of the request.
    package enum Item: Sendable {
        case text(String)
        case picture(EncodedImage)
    }

    /// The vectors of all inputs.
    package struct Vectors: Sendable {
        /// One for each input, in their order.
        package fileprivate(set) var vectors: [[Float]]
        /// The number of ids that the model read of all texts.
        package fileprivate(set) var tokens = 0
        /// The times of the texts, if there are any, and of each picture.
        package fileprivate(set) var times: [StageTimes] = []
    }

    private let slots: SlotRunner

    package init(_ model: Model, options: PredictionOptions, metrics: ServiceMetrics) {
        slots = SlotRunner(model: model, options: options, metrics: metrics)
    }

    /// Embeds the inputs; pictures of one request run in slots of their own.
    /// - Parameter place: the name of an input in errors, by its index.
    /// - Throws: 400 for an input that the model does not take; the error of the first input that fails.
    package func vectors(
        of items: [Item], named place: @Sendable (Int) -> String
    ) async throws(ServiceError) -> Vectors {
        let texts = items.enumerated().compactMap { index, item in
            if case .text(let text) = item { (index: index, text: text) } else { nil }
        }
        let pictures = items.enumerated().compactMap { index, item in
            if case .picture(let image) = item { (index: index, image: slots.model.reading(image)) } else { nil }
        }
        if let first = texts.first, let refusal = slots.model.refusalOfTexts {
            throw ServiceError(refusal).prefixed(place(first.index) + ": ")
        }
        if let first = pictures.first, !slots.model.tasks.contains(.embed) {
            throw .invalidInput(
                "\(place(first.index)): model \"\(slots.model.description.name)\" does not embed pictures: "
                    + slots.model.abilities)
        }
        var found = Vectors(vectors: Array(repeating: [], count: items.count))
        if !texts.isEmpty { try await embed(texts, into: &found) }
        if !pictures.isEmpty { try await embed(pictures, into: &found, named: place) }
        return found
    }

    private func embed(_ texts: [(index: Int, text: String)], into found: inout Vectors) async throws(ServiceError) {
        let made: TextEmbeddings
        do throws(InferenceError) {
            made = try await slots.model.textEmbeddings(of: texts.map(\.text), options: slots.options)
        } catch {
            throw slots.failure(error, of: .picture)
        }
        for (text, embedding) in zip(texts, made.embeddings) {
            found.vectors[text.index] = embedding.vector
            found.tokens += embedding.tokens
        }
        found.times.append(made.times)
    }

    private func embed(
        _ pictures: [(index: Int, image: EncodedImage)], into found: inout Vectors, named place: (Int) -> String
    ) async throws(ServiceError) {
        let outcomes = await slots.outcomes(
            of: pictures.map(\.image), stopsAtFailure: true, work: \.decodingTime
        ) { (images, slot) -> [Result<ObservationResult, ServiceError>] in
            let results = await slots.model.observations(
                of: images, request: ObservationRequest(task: .embed), options: slots.options, slot: slot)
            return results.map { $0.mapError { slots.failure($0, of: .picture) } }
        }
        for outcome in outcomes {
            let index = pictures[outcome.index].index, result: ObservationResult
            do throws(ServiceError) {
                result = try outcome.result.get()
            } catch {
                throw error.prefixed(place(index) + ": ")
            }
            guard case .embedding(let vector) = result.content else {
                throw ServiceError(.internal, "\(place(index)): the model gave no embedding")
            }
            found.vectors[index] = vector
            found.times.append(result.times)
        }
    }
}

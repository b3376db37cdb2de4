internal import FlowControl
package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Repository
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import Tasks
internal import Teaching
package import WireFormats

/// Answers `POST /v1/vision/face/register` and `/match`: the largest face of each picture is taught, or two of them are
/// compared, as crops that the stage of the pipeline sees.
package struct FacePicturesHandler: CallHandler {
    private let call: Call
    private let taught: TaughtModels
    private let query: FaceQuery

    package init(_ call: Call) throws(ServiceError) {
        taught = try call.taughtModels()
        var query = FaceQuery()
        try query.read(call.head.target, maxDeadline: call.live.settings.maxDeadline)
        try call.checkDeclaredFrame()
        let ready = try? call.parts.repository.readyModel(named: FacePipeline.name)
        if let refusal = ready?.limiter.announce(claim: call.claim) { throw ServiceError(refusal) }
        self.call = call
        self.query = query
    }

    /// A request with its pictures and models.
    private struct Work {
        let query: FaceQuery
        let images: [EncodedImage]
        let options: PredictionOptions
        let pipeline: FacePipeline
        let model: TaughtModel
    }

    private func work(_ request: HTTPRequest) async throws(ServiceError) -> Work {
        var query = query
        let images = try await query.readPictures(call, request)
        guard query.picture.explain == nil else {
            throw .badRequest(
                "query parameter \"explain\" is not for this route: ask /v1/models/\(FacePipeline.name)/detect")
        }
        var options = query.picture.options(of: request, deadline: call.live.settings.deadline)
        options.claim = call.claim
        let pipeline = try await FacePipeline.loaded(call, deadline: options.deadline)
        return Work(
            query: query, images: images, options: options, pipeline: pipeline,
            model: try pipeline.taughtModel(in: taught))
    }

    private func embeddings(_ work: Work, by embedder: Model) async -> [Result<[Float], ServiceError>] {
        await FindEmbedder(
            work.pipeline.model, work.pipeline.stage, by: embedder, options: work.options, metrics: call.parts.metrics
        ).embeddings(of: work.images)
    }

    // MARK: Registering

    package func register(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let work = try await work(request), model = work.model
        let person = try work.query.requiredPerson()
        let embedder = try await taught.teacher(of: model, deadline: work.options.deadline)
        let source = model.view.state.embedder, images = work.images
        let ids = try await call.read(request) { images.map { $0.withUnsafeBytes { ExampleID(of: $0) } } }
        var examples: [TaughtModel.NewExample] = [], failures: [(part: Int, error: ServiceError)] = []
        for (index, (id, result)) in zip(ids, await embeddings(work, by: embedder)).enumerated() {
            do throws(ServiceError) {
                // The picture is not kept: another embedder would get all of it, and not the face.
                examples.append(TaughtModel.NewExample(id: id, label: person, embedding: try result.get()))
            } catch {
                failures.append((index + 1, error))
            }
        }
        if examples.isEmpty { throw Self.refusal(failures) }
        let change = try await taught.teach(
            examples, to: model, by: source, deadline: work.options.deadline ?? call.deadline(of: request),
            claim: call.claim)
        let isKnown = change.before.counts[person, default: 0] > 0
        return DeepStackAnswer.success { writer in
            writer.member("message", isKnown ? "face updated" : "face added")
            guard !failures.isEmpty else { return }
            writer.key("errors")
            writer.array { writer in
                for (part, error) in failures {
                    writer.object { writer in
                        writer.member("error", "part \(part): \(error.message)")
                        writer.member("code", error.code.rawValue)
                        writer.member("part", part)
                    }
                }
            }
        }
    }

    /// The error of a request without a usable face; one that may pass comes first.
    private static func refusal(_ failures: [(part: Int, error: ServiceError)]) -> ServiceError {
        let chosen = failures.first { $0.error.status.code >= 500 } ?? failures.first
        guard let chosen else { return .badRequest("the request has no picture") }
        return failures.count == 1 ? chosen.error : chosen.error.prefixed("part \(chosen.part): ")
    }

    // MARK: Comparing

    package func match(_ request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let work = try await work(request), model = work.model
        guard work.images.count == 2 else {
            throw .badRequest(
                "expected two pictures, in the parts \"image1\" and \"image2\", found \(work.images.count)")
        }
        let state = model.view.state
        let embedder =
            state.examples.isEmpty
            ? try await taught.teacher(of: model, deadline: work.options.deadline)
            : try await taught.embedder(of: model.name, state.embedder, deadline: work.options.deadline)
        var vectors: [[Float]] = []
        for (index, result) in await embeddings(work, by: embedder).enumerated() {
            do throws(ServiceError) {
                vectors.append(try result.get())
            } catch {
                throw error.prefixed("part \(index + 1): ")
            }
        }
        guard vectors.count == 2 else { throw ServiceError(.internal, "the embedder gave \(vectors.count) embeddings") }
        let similarity = Self.similarity(vectors[0], vectors[1])
        return DeepStackAnswer.success { $0.member("similarity", similarity) }
    }

    /// The cosine of two vectors as a number from 0 to 1; 0.5 if one has no direction.
    private static func similarity(_ first: [Float], _ second: [Float]) -> Double {
        var (product, squares) = (0.0, (0.0, 0.0))
        for (a, b) in zip(first, second) {
            product += Double(a) * Double(b)
            squares.0 += Double(a) * Double(a)
            squares.1 += Double(b) * Double(b)
        }
        let length = (squares.0 * squares.1).squareRoot()
        guard length > 0, length.isFinite else { return 0.5 }
        return (1 + min(max(product / length, -1), 1)) / 2
    }
}

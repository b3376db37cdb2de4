internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Repository
internal import Rollout
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import WireFormats

/// `POST .../embed`: of pictures ``ObserveTask``, of texts this.
package struct EmbedTask: Sendable {
    private let call: Call
    private let query: TextQuery

    /// The request of a call: the type of its body decides what is embedded.
    package static func prediction(_ call: Call) throws(ServiceError) -> PredictionCall {
        guard TextBody.isText(call.head) else { return try ObserveTask.prediction(call, .embed) }
        let task = try EmbedTask(call)
        return PredictionCall(
            call, name: call.path.name, version: call.path.version, unnamed: .usual(.texts), readsQuery: true
        ) { (request, choice) async throws(ServiceError) in try await task.respond(to: request, choice) }
    }

    private init(_ call: Call) throws(ServiceError) {
        try TextBody.checkCharset(call.head)
        query = try TextQuery(call.head.target, maxDeadline: call.live.settings.maxDeadline)
        self.call = call
    }

    private func respond(to request: HTTPRequest, _ choice: ModelChoice) async throws(ServiceError) -> HTTPResponse {
        try request.head.refuseContentCodings()
        let settings = call.live.settings
        let body = try await call.read(request) { () throws(ServiceError) in try TextBody(request, settings) }
        var options = query.options(of: request, deadline: settings.deadline)
        options.claim = choice.claim
        let chosen = try await choice.model(for: call, or: .usual(.texts), until: options.deadline)
        options.loadWait = chosen.loadWait
        if let refusal = chosen.model.refusalOfTexts { throw ServiceError(refusal) }
        let run = ModelRequest(
            request, model: chosen.model, name: chosen.name, options: options,
            shadow: choice.route.flatMap { $0.name == chosen.name ? $0 : nil })
        let made: TextEmbeddings
        do throws(InferenceError) {
            made = try await chosen.model.textEmbeddings(of: body.texts, options: options)
        } catch {
            throw SlotRunner(model: chosen.model, options: options, metrics: call.parts.metrics)
                .failure(error, of: .picture)
        }
        let isBinary = request.accepts("application/octet-stream")
        return try await written(made, body, run, isBinary: isBinary)
    }

    /// Writes the answer; a long one in the client's turn, in the work queue.
    private func written(
        _ made: TextEmbeddings, _ body: TextBody, _ run: ModelRequest, isBinary: Bool
    ) async throws(ServiceError) -> HTTPResponse {
        let numbers = made.embeddings.reduce(0) { $0 + $1.vector.count }
        let write: @Sendable () throws(ServiceError) -> HTTPResponse = { [self] () throws(ServiceError) in
            response(made, body, run, isBinary: isBinary)
        }
        guard !isBinary, WorkQueue.writingTime(numbers: numbers) > WorkQueue.shortWriting else { return try write() }
        return try await call.parts.work.run(for: call.claim, until: run.options.deadline, lowPriority: false) {
            (_) throws(ServiceError) in try write()
        }
    }

    private func response(
        _ made: TextEmbeddings, _ body: TextBody, _ run: ModelRequest, isBinary: Bool
    ) -> HTTPResponse {
        let begun = MonotonicInstant.now
        let text = isBinary ? nil : json(made, body, run, at: begun)
        let bytes = text?.bytes ?? made.embeddings.flatMap { Self.bytes(of: $0.vector) }
        let end = MonotonicInstant.now, encode = end.nanoseconds(since: begun)
        call.parts.metrics.record(
            made.times, recv: run.receiving, encode: encode, model: run.repositoryName,
            total: end.nanoseconds(since: run.received))
        var response = run.response(
            bytes, type: isBinary ? "application/octet-stream" : "application/json", times: made.times, encode: encode,
            placeholders: text?.placeholders ?? [], isBare: isBinary, shadow: shadow(made, body, run))
        response.fields.append(("Vary", "Accept"))
        return response
    }

    private func json(
        _ made: TextEmbeddings, _ body: TextBody, _ run: ModelRequest, at begun: MonotonicInstant
    ) -> JSONWriter {
        var writer = JSONWriter(capacity: 512 + made.embeddings.reduce(0) { $0 + 12 * $1.vector.count })
        writer.object { writer in
            run.writeHeader(to: &writer)
            if body.isList {
                writer.key("results")
                writer.array { writer in
                    for embedding in made.embeddings {
                        writer.object { TextWriter.write(embedding, query.encoding, to: &$0) }
                    }
                }
            } else if let embedding = made.embeddings.first {
                TextWriter.write(embedding, query.encoding, to: &writer)
            }
            writer.key("timing_ms")
            ClassificationWriter.write(made.times, total: begun.nanoseconds(since: run.received), to: &writer)
        }
        return writer
    }

    private static func bytes(of vector: [Float]) -> [UInt8] {
        vector.flatMap { value in withUnsafeBytes(of: value.bitPattern.littleEndian) { Array($0) } }
    }

    /// The first text as a question to another version of the model.
    private func shadow(_ made: TextEmbeddings, _ body: TextBody, _ run: ModelRequest) -> ShadowWork? {
        guard run.route?.sample != nil, let first = made.embeddings.first, let text = body.texts.first else {
            return nil
        }
        return ShadowWork(
            times: made.times, image: nil, answer: { ComparableAnswer(first) },
            ask: { [options = run.options] model, _, deadline, _ in
                do throws(InferenceError) {
                    let other = try await model.textEmbeddings(
                        of: [text], options: options.forOtherVersion(nil, deadline: deadline))
                    guard let embedding = other.embeddings.first else {
                        throw .modelNotReady(name: "", reason: "there is no answer")
                    }
                    return .success(.init(answer: ComparableAnswer(embedding), times: other.times))
                } catch {
                    return .failure(error)
                }
            }, isAlone: false)
    }
}

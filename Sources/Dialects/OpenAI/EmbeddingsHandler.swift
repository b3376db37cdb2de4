package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import Tasks
package import WireFormats

/// Answers OpenAI's `POST /v1/embeddings`: vectors of texts, and of pictures as data: URLs.
package enum EmbeddingsHandler {
    /// The prediction that a body asks for: only the body names the model.
    package static func prediction(_ call: Call, _ request: HTTPRequest) async throws(ServiceError) -> PredictionCall {
        try request.head.refuseContentCodings()
        let settings = call.live.settings
        let body = try await call.read(request) { () throws(ServiceError) in
            try EmbeddingsBody(request.body, settings)
        }
        return PredictionCall(call, name: body.model, version: nil, runsStages: false) {
            (request, choice) async throws(ServiceError) in try await answer(request, body, call, choice)
        }
    }

    private static func answer(
        _ request: HTTPRequest, _ body: EmbeddingsBody, _ call: Call, _ choice: ModelChoice
    ) async throws(ServiceError) -> HTTPResponse {
        var options = PictureQuery().options(of: request, deadline: call.live.settings.deadline)
        options.claim = choice.claim
        options.maxAnswerBytes = call.live.answerBytes
        let (model, wait) = try await choice.model(in: call.parts.repository, deadline: options.deadline)
        options.loadWait = wait
        let run = ModelRequest(request, model: model, name: choice.name, options: options)
        let found = try await MixedEmbedder(model, options: options, metrics: call.parts.metrics)
            .vectors(of: body.items, named: EmbeddingsBody.place)
        let numbers = found.vectors.reduce(0) { $0 + $1.count }
        let write: @Sendable () throws(ServiceError) -> HTTPResponse = { () throws(ServiceError) in
            response(found, body, run, request, call)
        }
        guard WorkQueue.writingTime(numbers: numbers) > WorkQueue.shortWriting else { return try write() }
        return try await call.parts.work.run(for: choice.claim, until: options.deadline, lowPriority: false) {
            (_) throws(ServiceError) in try write()
        }
    }

    private static func response(
        _ found: MixedEmbedder.Vectors, _ body: EmbeddingsBody, _ run: ModelRequest, _ request: HTTPRequest,
        _ call: Call
    ) -> HTTPResponse {
        let begun = MonotonicInstant.now
        let bytes = json(found, body, run.name)
        let end = MonotonicInstant.now, encode = end.nanoseconds(since: begun)
        let total = end.nanoseconds(since: request.headReceived)
        var sum = StageTimes()
        for times in found.times {
            sum.add(concurrent: times)
            call.parts.metrics.record(times, recv: run.receiving, encode: encode, model: run.name, total: total)
        }
        return run.response(bytes, type: "application/json", times: sum, encode: encode, isBare: true)
    }

    private static func json(_ found: MixedEmbedder.Vectors, _ body: EmbeddingsBody, _ model: String) -> [UInt8] {
        var writer = JSONWriter(capacity: 256 + found.vectors.reduce(0) { $0 + 64 + 12 * $1.count })
        writer.object { writer in
            writer.member("object", "list")
            writer.key("data")
            writer.array { writer in
                for (index, vector) in found.vectors.enumerated() {
                    writer.object { writer in
                        writer.member("object", "embedding")
                        writer.member("index", index)
                        writer.key("embedding")
                        write(vector, body.encoding, to: &writer)
                    }
                }
            }
            writer.member("model", model)
            writer.key("usage")
            writer.object { writer in
                writer.member("prompt_tokens", found.tokens)
                writer.member("total_tokens", found.tokens)
            }
        }
        return writer.bytes
    }

    private static func write(_ vector: [Float], _ encoding: EmbeddingsBody.Encoding, to writer: inout JSONWriter) {
        switch encoding {
        case .float: writer.array { writer in for value in vector { writer.number(value) } }
        case .base64: vector.map(\.bitPattern.littleEndian).withUnsafeBytes { writer.base64($0) }
        }
    }
}

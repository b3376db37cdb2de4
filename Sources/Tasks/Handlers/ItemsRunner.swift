internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import ImagePipeline
package import Inference
internal import JSON
internal import ServiceCore
internal import SystemSupport
internal import WireFormats

/// Runs the items of one request through a task: each item is predicted and written in a slot, timed and counted.
struct ItemsRunner<Job: PredictionTask>: AnswerFormat {
    let job: Job
    let request: ModelRequest
    let slots: SlotRunner
    /// The form in which to show the model's input instead of its answer; nil for an answer.
    let explain: PictureQuery.Explanation?

    /// The answer for one item, or for a list.
    /// - Parameters:
    ///   - isList: whether the answer is a list.
    ///   - taken: the slot in which the items were read.
    func answer(
        _ items: [Item], isList: Bool, taken: Slot? = nil
    ) async throws(ServiceError) -> HTTPResponse {
        if let explain { return try await explanation(of: items, as: explain, taken: taken) }
        return try await slots.answer(items, isList: isList, taken: taken, as: self)
    }

    func answer(_ part: Written) -> HTTPResponse {
        negotiated(
            request.response(
                part.bytes, type: part.type ?? Self.json, times: part.times, encode: part.encode,
                topLabel: part.note.topLabel,
                placeholders: part.placeholders, isBare: part.type != nil, isWhole: part.note.isWhole,
                shadow: part.shadow, reports: part.report.map { [$0] } ?? []))
    }

    private func negotiated(_ response: HTTPResponse) -> HTTPResponse {
        guard job.forms.isNegotiated else { return response }
        var response = response
        response.fields.append(("Vary", "Accept"))
        return response
    }

    // MARK: In a slot

    typealias Item = Job.Inputs.Item
    private static var json: String { "application/json" }

    func pictureTime(of item: Item) -> UInt64 { job.inputs.pictureTime(of: item) }

    /// One item's answer, written while its slot was held.
    struct Written: Sendable {
        /// The media type of a body that has no header members; nil for JSON.
        let type: String?
        let bytes: [UInt8]
        let placeholders: [JSONWriter.Placeholder]
        let times: StageTimes
        let encode: UInt64
        let note: OutputNote
        let shadow: ShadowWork?
        let report: AnswerReport?
    }

    func parts(for items: [Item], in slot: Slot, isList: Bool) async -> [Result<Written, ServiceError>] {
        let results = await job.predict(items, in: slot)
        var written: [Result<Written, ServiceError>] = []
        for (item, result) in zip(items, results) {
            do throws(InferenceError) {
                written.append(.success(try await self.written(try result.get(), of: item, isList: isList)))
            } catch {
                written.append(.failure(slots.failure(error, of: Job.Inputs.itemKind)))
            }
        }
        return written
    }

    private func written(
        _ output: Job.Output, of item: Item, isList: Bool
    ) async throws(InferenceError) -> Written {
        guard job.writingTime(of: output) > WorkQueue.shortWriting else {
            return try written(output, of: item, isList: isList) { Task.isCancelled }
        }
        let result: Result<Written, InferenceError> = await LongDecoding.run(lowPriority: false) { isCancelled in
            Result { () throws(InferenceError) in
                try written(output, of: item, isList: isList, isCancelled: isCancelled)
            }
        }
        return try result.get()
    }

    private func written(
        _ output: Job.Output, of item: Item, isList: Bool, isCancelled: @escaping () -> Bool
    ) throws(InferenceError) -> Written {
        let begun = MonotonicInstant.now
        let type: String?, bytes: [UInt8], placeholders: [JSONWriter.Placeholder]
        do throws(ImageError) {
            if let form = job.forms.type, job.forms.joins || !isList,
                let found = try job.bytes(of: output, isCancelled: isCancelled)
            {
                (type, bytes, placeholders) = (form, found, [])
            } else {
                let text = try json(
                    output, total: begun.nanoseconds(since: request.received),
                    hasHeader: !isList || Job.Inputs.itemKind == .picture, isCancelled: isCancelled)
                (type, bytes, placeholders) = (nil, text.bytes, text.placeholders)
            }
        } catch {
            if case .cancelled = error { throw .stopped(at: .postprocess) }
            throw .image(error, input: nil)
        }
        let end = MonotonicInstant.now
        let encode = end.nanoseconds(since: begun)
        slots.metrics.record(
            output.times, recv: request.receiving, encode: encode, model: request.repositoryName,
            total: end.nanoseconds(since: request.received))
        return Written(
            type: type, bytes: bytes, placeholders: placeholders, times: output.times, encode: encode,
            note: job.note(output, in: slots.metrics),
            shadow: request.route?.sample == nil ? nil : job.shadow(of: item, output),
            report: job.report(of: item, output))
    }

    private func json(
        _ output: Job.Output, total: UInt64, hasHeader: Bool, isCancelled: @escaping () -> Bool
    ) throws(ImageError) -> JSONWriter {
        var writer = JSONWriter(capacity: 1024)
        var failure: ImageError?
        writer.object { writer in
            if hasHeader { request.writeHeader(to: &writer) }
            do throws(ImageError) {
                try job.write(output, total: total, isCancelled: isCancelled, to: &writer)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return writer
    }

    // MARK: Several

    /// The media type of concatenated answers; nil for a list in JSON.
    private var joined: String? { job.forms.joins ? job.forms.type : nil }
    var failsAsAWhole: Bool { joined != nil }

    func answer(_ outcomes: [ItemOutcome<Written>]) throws(ServiceError) -> HTTPResponse {
        let joined = joined
        let begun = MonotonicInstant.now
        let (sum, encode) = Self.times(of: outcomes)
        let text = joined == nil ? list(outcomes, sum, at: begun) : nil
        let body = if let text { text.bytes } else { try Self.joined(outcomes) }
        return negotiated(
            response(
                body, of: outcomes, type: joined ?? Self.json, times: sum,
                encode: encode &+ MonotonicInstant.now.nanoseconds(since: begun), placeholders: text?.placeholders ?? []
            ))
    }

    /// The times of the items together, and the nanoseconds of writing them.
    private static func times(of outcomes: [ItemOutcome<Written>]) -> (sum: StageTimes, encode: UInt64) {
        var sum = StageTimes(), encode: UInt64 = 0
        for outcome in outcomes {
            guard case .success(let item) = outcome.result else { continue }
            sum.add(concurrent: item.times)
            encode &+= item.encode
        }
        return (sum, encode)
    }

    private func response(
        _ body: [UInt8], of outcomes: [ItemOutcome<Written>], type: String, times: StageTimes, encode: UInt64,
        placeholders: [JSONWriter.Placeholder] = []
    ) -> HTTPResponse {
        // Compare the answer of one item only, for the whole request.
        var shadow = outcomes.lazy.compactMap { try? $0.result.get() }.first?.shadow
        shadow?.isAlone = false
        return request.response(
            body, type: type, times: times, encode: encode, placeholders: placeholders, isBare: type != Self.json,
            isWhole: outcomes.allSatisfy(Self.isWhole), shadow: shadow,
            reports: outcomes.compactMap { (try? $0.result.get())?.report })
    }

    /// Answers items into parts, from which the caller writes the answer; the response has no body.
    func answer(_ items: [Item], into parts: AnswerParts) async -> HTTPResponse {
        let outcomes = await slots.outcomes(of: items, stopsAtFailure: false, work: { pictureTime(of: $0) }) {
            items, slot in await self.parts(for: items, in: slot, isList: true)
        }
        parts.set(
            model: request.name, version: request.version,
            outcomes.map { outcome in
                switch outcome.result {
                case .success(let item): .success(item.bytes)
                case .failure(let error): .failure(error)
                }
            })
        let (sum, encode) = Self.times(of: outcomes)
        return response([], of: outcomes, type: Self.json, times: sum, encode: encode)
    }

    private static func isWhole(_ outcome: ItemOutcome<Written>) -> Bool {
        switch outcome.result {
        case .success(let item): item.note.isWhole
        case .failure(let error): error.isFaultOfRequest
        }
    }

    private func list(_ outcomes: [ItemOutcome<Written>], _ sum: StageTimes, at now: MonotonicInstant) -> JSONWriter {
        let kind = Job.Inputs.itemKind.rawValue
        var writer = JSONWriter(capacity: 512 * outcomes.count)
        writer.object { writer in
            request.writeHeader(to: &writer)
            writer.key("results")
            writer.array { writer in
                for outcome in outcomes {
                    switch outcome.result {
                    case .success(let item): writer.raw(item.bytes, placeholders: item.placeholders)
                    case .failure(let error):
                        slots.metrics.failed(error)
                        writer.object { writer in
                            writer.member("error", "\(kind) \(outcome.index + 1): \(error.message)")
                            writer.member("code", error.code.rawValue)
                            writer.member(kind, outcome.index + 1)
                        }
                    }
                }
            }
            writer.key("timing_ms")
            ClassificationWriter.write(sum, total: now.nanoseconds(since: request.received), to: &writer)
        }
        return writer
    }

    /// Concatenates the answers, which have no header. A missing answer would shift the others, so the failure of one
    /// item fails the request.
    private static func joined(_ outcomes: [ItemOutcome<Written>]) throws(ServiceError) -> [UInt8] {
        var body: [UInt8] = []
        for outcome in outcomes {
            switch outcome.result {
            case .success(let item): body += item.bytes
            case .failure(let error): throw error.prefixed("\(Job.Inputs.itemKind.rawValue) \(outcome.index + 1): ")
            }
        }
        return body
    }

    // MARK: The model's input

    private func explanation(
        of items: [Item], as form: PictureQuery.Explanation, taken: Slot?
    ) async throws(ServiceError) -> HTTPResponse {
        guard items.count == 1, let item = items.first else {
            throw .badRequest("query parameter \"explain\" shows one picture at a time: the body has \(items.count)")
        }
        let pictures = job.inputs.pictures(of: item)
        guard pictures.count <= 1 else {
            let names = pictures.compactMap(\.input).map { "\"\($0)\"" }.joined(separator: ", ")
            throw .badRequest(
                "query parameter \"explain\" shows one picture at a time: the body has \(pictures.count) (\(names)); leave the "
                    + "others out")
        }
        guard let picture = pictures.first else {
            throw .badRequest("query parameter \"explain\" shows a picture as the model sees it: the body has none")
        }
        let image = request.model.reading(picture.image, of: picture.input)
        // Claim a long slot: an explanation runs at low priority, and needs more memory in its slot than a prediction.
        let slot = try await slots.slot(work: max(image.decodingTime, Claim.long), taken: taken)
        defer { slot.release() }
        let seen: PreprocessedImage
        do throws(InferenceError) {
            if let other = try await job.explanation(of: image, in: slot) {
                seen = other
            } else {
                seen = try await request.model.preprocess(
                    lowPriority: image, of: picture.input, options: request.options)
            }
        } catch {
            throw slots.failure(error, of: Job.Inputs.itemKind)
        }
        return try await WorkQueue.onThread { (_) throws(ServiceError) in
            try explanation(seen, as: form)
        }
    }

    private func explanation(
        _ seen: PreprocessedImage, as form: PictureQuery.Explanation
    ) throws(ServiceError) -> HTTPResponse {
        do {
            let (type, body) =
                switch form {
                case .preprocess:
                    ("application/json", try PreprocessingAnswer.json(seen) { request.writeHeader(to: &$0) })
                case .png: ("image/png", try seen.png())
                case .npy: ("application/x-npy", try seen.npy())
                }
            var response = HTTPResponse(status: .ok, fields: [("Content-Type", type)], body: body)
            response.note = DoNotCache()
            return response
        } catch {
            throw ServiceError(.internal, "cannot encode the tensor: \(error)")
        }
    }
}

extension StageTimes {
    /// Adds the times of another item of the request: items wait concurrently, so the longest wait counts; the other
    /// stages are work, which adds up.
    package mutating func add(concurrent other: StageTimes) {
        load = max(load, other.load)
        queue = max(queue, other.queue)
        add(other)
    }
}

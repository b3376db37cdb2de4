internal import FlowControl
internal import Glibc
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
package import ServiceCore
package import Settings
internal import SystemSupport
internal import WireFormats

/// Shares one answer among equal requests of one client: concurrent ones, and those within `answer_cache_age`
/// (docs/http-api.md, "Answers that are known already").
///
/// Clients never share with each other: the time of an answer would reveal the requests of others. Thread-safe.
package final class SharedPredictions: Sendable {
    private typealias Sharing = AnswerSharing<Content, HTTPResponse, ServiceError>

    private let sharing: Sharing
    /// A random key, so that no client can construct bodies with the same hash.
    private let key = SipHash.Key.random()

    /// A body, compared byte by byte.
    private struct Content: SharedContent {
        let body: HTTPBody

        func releaseMemory() { body.releaseMemory() }

        static func == (left: Content, right: Content) -> Bool {
            left.body === right.body
                || left.body.count == right.body.count
                    && left.body.withUnsafeBytes { left in
                        right.body.withUnsafeBytes { right in
                            guard let a = left.baseAddress, let b = right.baseAddress else { return left.isEmpty }
                            return memcmp(a, b, left.count) == 0
                        }
                    }
        }
    }

    package init(_ settings: Settings) {
        sharing = AnswerSharing(Self.limits(settings))
    }

    /// Applies new settings. Answers under the old settings are dropped: no request would find them, because their keys
    /// contain the number of the settings.
    package func use(_ settings: Settings) {
        let limits = Self.limits(settings)
        sharing.use(.init(capacity: 0, age: limits.age))
        sharing.use(limits)
    }

    private static func limits(_ settings: Settings) -> Sharing.Machine.Limits {
        .init(capacity: settings.answerCache, age: .seconds(settings.answerCacheAge))
    }

    /// The counters for metrics.
    package var usage: SharedAnswersUsage {
        let usage = sharing.usage
        return SharedAnswersUsage(
            answers: usage.answers, bytes: usage.bytes, hits: usage.hits, collapsed: usage.joined,
            misses: usage.misses)
    }

    /// The number of requests that wait for a shared answer, including those for which it is computed.
    package var waiting: Int { sharing.waiting.requests }

    /// Answers a prediction, or shares the answer of an equal one.
    /// - Parameters:
    ///   - request: gets the body of an equal request if its own was released.
    ///   - choice: the version that answers the request.
    func answer(
        _ request: inout HTTPRequest, of prediction: PredictionCall, by choice: ModelChoice,
        compute: @escaping ModelChoice.Work
    ) async throws(ServiceError) -> HTTPResponse {
        let isExplained = prediction.readsQuery && (request.head.target.query?.contains("explain") ?? false)
        guard !isExplained, !Self.isRefused(request.head),
            let choice = choice.resolved(with: prediction.call.parts.taught)
        else {
            return marked(try await compute(request, choice))
        }
        let keeps = sharing.keeps
        var hash = beginning(of: request, choice, prediction.call, whole: keeps)
        if keeps {
            try await Self.add(request.body, of: choice, to: &hash)
        } else {
            Self.addSample(of: request.body, to: &hash)
        }
        let original = request
        let reply = await sharing.answer(
            hash.finish(), Content(body: request.body), deadline: Self.deadline(of: request, prediction), Self.failures
        ) { content in
            do throws(ServiceError) {
                let response = try await compute(original.holding(content.body), choice)
                // Without a cache the key covers only some bytes of the body, so the answer must not be kept.
                return .success(Self.product(response, by: choice, mayKeep: keeps))
            } catch {
                return .failure(error)
            }
        }
        if reply.content.body !== original.body { request = original.holding(reply.content.body) }
        let response = try reply.outcome.get()
        return switch reply.origin {
        case .computed: marked(response)
        case .joined: Self.personalized(response, of: original, cache: "collapsed", "ocelli; fwd=miss; collapsed")
        case .hit: Self.personalized(response, of: original, cache: "hit", "ocelli; hit")
        }
    }

    /// True if the client refuses a shared answer (RFC 9111 section 5.2.1).
    private static func isRefused(_ head: RequestHead) -> Bool {
        head.hasCacheControl("no-store") || head.hasCacheControl("no-cache")
    }

    /// Adds `Cache-Status` to an answer that was not shared, if answers are cached.
    private func marked(_ response: HTTPResponse) -> HTTPResponse {
        guard sharing.keeps else { return response }
        var response = response
        response.fields.append(("Cache-Status", "ocelli; fwd=miss"))
        return response
    }

    private static let failures = Sharing.Failures(
        cancelled: ServiceError(InferenceError.cancelled(stage: .queue)),
        late: ServiceError(AdmissionError.deadlineExceeded))

    /// The time until which a request waits for another's answer. If the body contains the timeout, the equal request
    /// has the same timeout and ends the wait.
    private static func deadline(of request: HTTPRequest, _ prediction: PredictionCall) -> MonotonicInstant {
        let hasQuery = prediction.readsQuery && request.head.target.query != nil
        let parameters = hasQuery ? (try? RequestParameter.all(request.head.target, form: [])) ?? [] : []
        if let original = parameters.last(where: { $0.name == "timeout_ms" }).flatMap({ Int($0.value) }) {
            return request.bodyReceived + .milliseconds(original)
        }
        let type = request.head.value(of: "content-type") ?? ""
        let saysMore = !prediction.readsQuery || namesJSON(type) || type.lowercased().hasPrefix("multipart/")
        let usual = prediction.call.live.settings.deadline, maximum = prediction.call.live.settings.maxDeadline
        return request.bodyReceived + .seconds(saysMore ? max(usual, maximum) : usual)
    }

    /// True if a media type contains "json", in any case. Written by hand: the standard library's search costs each
    /// request more than the rest of its key.
    private static func namesJSON(_ type: String) -> Bool {
        var last: UInt32 = 0
        return type.utf8.contains { byte in
            last = last << 8 | UInt32(byte | 0x20)
            return last == 0x6A73_6F6E
        }
    }

    // MARK: Keys

    /// The fields of a request that influence its answer.
    private static let fields = [
        "accept", "content-type", "content-encoding", "inference-header-content-length",
        "x-amzn-sagemaker-custom-attributes",
    ]
    /// The sampled bytes at both ends of a body, the number of places between them, and the bytes at each. Used where
    /// bodies are compared anyway: enough that different bodies are seldom compared, and few, because every request
    /// pays for them.
    private static let sample = 128, places = 16, bytesAtPlace = 16
    /// The number of bytes that are hashed at a time.
    private static let piece = 128 << 10

    /// Hashes everything but the body.
    /// - Parameter whole: whether the key covers the whole body; otherwise requests with equal keys are compared by
    ///   their bodies.
    private func beginning(
        of request: HTTPRequest, _ choice: ModelChoice, _ call: Call, whole: Bool
    ) -> SipHash {
        var hash = SipHash(key: key)
        hash.update(whole ? 1 : 0)
        hash.update(call.sender.sender)
        hash.update(call.live.number)
        hash.update(choice.resolution?.model.number ?? 0)
        hash.update(choice.resolution?.taught?.generation ?? 0)
        for number in choice.resolution?.stages?.key ?? [] { hash.update(number) }
        hash.update(choice.name)
        hash.update(choice.version ?? "")
        hash.update(request.head.method.rawValue)
        hash.update(request.head.target.raw)
        for field in Self.fields {
            let values = request.head.values(of: field)
            hash.update(UInt64(values.count))
            for value in values { hash.update(value) }
        }
        hash.update(UInt64(request.body.count))
        return hash
    }

    /// Hashes a whole body, about a millisecond for each megabyte, before the request has a slot. Therefore it yields
    /// to other tasks between pieces, stops when the client has disconnected, and charges the time to the client.
    private static func add(
        _ body: HTTPBody, of choice: ModelChoice, to hash: inout SipHash
    ) async throws(ServiceError) {
        let count = body.count
        // About a nanosecond for each byte.
        if count > piece { choice.ready?.limiter.charge(choice.claim, nanoseconds: UInt64(count)) }
        var next = 0
        while next < count {
            if next > 0 {
                await Task.yield()
                guard !Task.isCancelled else { throw failures.cancelled }
            }
            let begun = next
            body.withUnsafeBytes { bytes in
                hash.update(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(begun).prefix(piece)))
            }
            next += piece
        }
    }

    /// Hashes a sample of a body, mixed to one word in a few instructions. Bodies with the same word come from one
    /// client, and are compared.
    private static func addSample(of body: HTTPBody, to hash: inout SipHash) {
        body.withUnsafeBytes { bytes in
            guard bytes.count > 4 * sample else {
                hash.update(bytes)
                return
            }
            var mixed: UInt64 = 0
            func mix(_ count: Int, from start: Int) {
                for word in 0..<count / 8 {
                    mixed ^= bytes.loadUnaligned(fromByteOffset: start &+ 8 &* word, as: UInt64.self)
                    mixed &*= 0x9E37_79B9_7F4A_7C15
                    mixed ^= mixed >> 32
                }
            }
            mix(sample, from: 0)
            mix(sample, from: bytes.count - sample)
            for place in 1..<places { mix(bytesAtPlace, from: bytes.count / places * place) }
            hash.update(mixed)
        }
    }

    // MARK: Answers

    /// Separates an answer from the copy for other requests: the copy does not repeat the work that begins after
    /// sending.
    private static func product(_ response: HTTPResponse, by choice: ModelChoice, mayKeep: Bool) -> Sharing.Product {
        guard response.status == .ok, !response.closeConnection else {
            return Sharing.Product(response, use: .own)
        }
        guard let note = response.note as? RequestNote else {
            let isOwn = response.note is DoNotCache
            return Sharing.Product(
                response, use: isOwn ? .own : sharedUse(of: response, placeholders: 0, mayKeep: mayKeep))
        }
        // If the chosen model did not fit the route, another one answered.
        guard note.isWhole, note.model == choice.name else { return Sharing.Product(response, use: .own) }
        let use = sharedUse(of: response, placeholders: note.placeholders.count, mayKeep: mayKeep)
        guard note.afterSend != nil else { return Sharing.Product(response, use: use) }
        var others = response
        others.note = note.shared(recv: note.recv, cache: nil)
        return Sharing.Product(others, own: response, use: use)
    }

    /// - Parameter placeholders: the number of values in the body that differ for each request.
    private static func sharedUse(of response: HTTPResponse, placeholders: Int, mayKeep: Bool) -> AnswerUse {
        guard mayKeep else { return .shared }
        let fields = response.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
        return .kept(
            size: response.body.capacity + placeholders * MemoryLayout<JSONWriter.Placeholder>.stride + fields + 512)
    }

    /// Another request's answer with this request's own values.
    private static func personalized(
        _ response: HTTPResponse, of request: HTTPRequest, cache: String, _ status: String
    ) -> HTTPResponse {
        var response = response
        if let note = response.note as? RequestNote {
            let total = MonotonicInstant.now.nanoseconds(since: request.headReceived)
            response.body = JSONWriter.filled(response.body, note.placeholders) { name, writer in
                switch PerRequestField(rawValue: name) {
                case .requestID: writer.string(request.requestID)
                case let value?: value.write(total: total, to: &writer)
                case nil: writer.null()
                }
            }
            let receiving = request.bodyReceived.nanoseconds(since: request.headReceived)
            response.note = note.shared(recv: receiving, cache: cache)
            let timing = ServerTiming.text(note.times, recv: receiving, encode: note.encode, device: note.device)
            response.fields = response.fields.map { $0.name == "Server-Timing" ? ($0.name, timing) : $0 }
        }
        response.fields.append(("Cache-Status", status))
        return response
    }
}

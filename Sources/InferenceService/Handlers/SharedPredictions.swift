internal import FlowControl
internal import Glibc
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Settings
internal import SystemSupport
internal import Teaching

/// Answers to predictions that are known already: requests that are equal, at the same time or within
/// `answer_cache_age`, of one client (API.md, "Answers that are known already").
///
/// A client never shares with another: the time of an answer would tell it what others have sent.
final class SharedPredictions: Sendable {
    private let sharing: AnswerSharing<Content, HTTPResponse, ServiceError>
    /// Nobody can choose bodies that have one key.
    private let key = SipHash.Key.random()

    /// A body, compared byte by byte.
    private struct Content: SharedContent {
        let body: HTTPBody

        func letGo() { body.letGo() }

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

    init(_ settings: Settings) {
        sharing = AnswerSharing(Self.limits(settings))
    }

    /// From now on other settings hold. Answers by the old ones are found no more, because their keys have the
    /// settings.
    func use(_ settings: Settings) { sharing.use(Self.limits(settings)) }

    private static func limits(_ settings: Settings)
        -> AnswerSharing<Content, HTTPResponse, ServiceError>.Machine.Limits
    {
        .init(capacity: settings.answerCache, age: .seconds(settings.answerCacheAge))
    }

    /// The numbers for metrics.
    var usage: SharedAnswersUsage {
        let usage = sharing.usage
        return SharedAnswersUsage(
            answers: usage.answers, bytes: usage.bytes, hits: usage.hits, collapsed: usage.joined,
            misses: usage.misses)
    }

    /// The number of requests that wait for an answer, those that it is computed for among them.
    var waiting: Int { sharing.waiting.requests }

    /// The requests that may share the answer of one: those of its client, under its settings.
    struct Scope: Sendable {
        let shared: SharedPredictions
        /// The settings that it is answered by, and their number: no others have the same.
        let settings: Settings
        let settingsNumber: UInt64
        let client: ClientIdentity
        /// True if a query's `timeout_ms` counts.
        let readsQuery: Bool

        /// The answer to a prediction.
        /// - Parameters:
        ///   - request: gets the body of an equal one, where it let its own go.
        ///   - choice: the version that answers it.
        func answer(
            to request: inout HTTPRequest, by choice: ModelChoice, compute: @escaping ModelChoice.Work
        ) async throws(ServiceError) -> HTTPResponse {
            let isExplained = readsQuery && (request.head.target.query?.contains("explain") ?? false)
            guard !isExplained, !Self.isRefused(request.head), let identity = Identity(choice) else {
                return shared.marked(try await compute(request, choice))
            }
            return try await shared.answer(to: &request, by: choice, identity, self, compute: compute)
        }

        /// True if the client wants an answer of its own (RFC 9111 section 5.2.1).
        private static func isRefused(_ head: RequestHead) -> Bool {
            head.values(of: "cache-control").contains { value in
                value.lowercased().split(separator: ",").contains { directive in
                    let name = directive.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
                    return name == "no-store" || name == "no-cache"
                }
            }
        }
    }

    /// The model that answers: its files as they were loaded, with all stages of a pipeline; and of a taught one, what
    /// it learned.
    private struct Identity: Equatable, Sendable {
        /// 0 where the model is loaded first: whoever waits with it gets the same.
        let model: UInt64
        var taught: UInt64 = 0
        var version = 0
        var method = ""
        var threshold: Float?
        var digest = ""

        /// Nil where that is not known before the answer is: of a taught model whose embedder is loaded first, and of
        /// an earlier version of one.
        init?(_ choice: ModelChoice) {
            model = choice.ready?.number ?? 0
            guard let models = choice.taught else { return }
            guard model != 0, choice.version == nil, let found = models.model(choice.name) else { return nil }
            let view = found.view
            guard let head = view.head else { return nil }
            taught = found.number
            version = view.state.serving
            method = head.method.rawValue
            threshold = head.threshold
            digest = view.state.embedder.digest
        }

        func add(to hash: inout SipHash) {
            hash.update(model)
            hash.update(taught)
            hash.update(UInt64(bitPattern: Int64(version)))
            hash.update(method)
            hash.update(threshold.map { UInt64($0.bitPattern) } ?? .max)
            hash.update(digest)
        }
    }

    private func answer(
        to request: inout HTTPRequest, by choice: ModelChoice, _ identity: Identity, _ scope: Scope,
        compute: @escaping ModelChoice.Work
    ) async throws(ServiceError) -> HTTPResponse {
        let keeps = sharing.keeps
        let key = key(of: request, choice, identity, scope, whole: keeps)
        let asked = request
        let reply = await sharing.answer(
            key, Content(body: request.body), deadline: Self.deadline(of: request, scope), Self.failures
        ) { content in
            do throws(ServiceError) {
                let response = try await compute(asked.holding(content.body), choice)
                // What was replaced meanwhile may have answered it.
                let use = Identity(choice) == identity ? Self.use(of: response) : .own
                // A key of some of the bytes finds nothing that is kept, and neither does that of a model to come.
                let mayKeep = keeps && identity.model != 0
                return .success(
                    .init(Self.others(response), own: response, use: !mayKeep && use != .own ? .shared : use))
            } catch {
                return .failure(error)
            }
        }
        request = asked.holding(reply.content.body)
        var response = try reply.outcome.get()
        switch reply.origin {
        case .computed: response = marked(response)
        case .joined: response = Self.own(response, of: asked, cache: "collapsed", "ocelli; fwd=miss; collapsed")
        case .hit: response = Self.own(response, of: asked, cache: "hit", "ocelli; hit")
        }
        return response
    }

    /// An answer that was not shared, which says so where answers are kept.
    private func marked(_ response: HTTPResponse) -> HTTPResponse {
        guard sharing.keeps else { return response }
        var response = response
        response.fields.append(("Cache-Status", "ocelli; fwd=miss"))
        return response
    }

    private static let failures = AnswerSharing<Content, HTTPResponse, ServiceError>.Failures(
        cancelled: ServiceError(InferenceError.cancelled(stage: .queue)),
        late: ServiceError(AdmissionError.deadlineExceeded))

    /// Until when a request waits for another's answer. A time that its body says is in the other's body too: that one
    /// ends by it.
    private static func deadline(of request: HTTPRequest, _ scope: Scope) -> MonotonicInstant {
        let settings = scope.settings
        let parameters = scope.readsQuery ? (try? RequestParameter.all(request.head.target, form: [])) ?? [] : []
        if let asked = parameters.last(where: { $0.name == "timeout_ms" }).flatMap({ Int($0.value) }) {
            return request.deadline(asked, settings: settings)
        }
        let type = (request.head.value(of: "content-type") ?? "").lowercased()
        let saysMore = type.contains("json") || type.hasPrefix("multipart/") || !scope.readsQuery
        return request.bodyReceived
            + .seconds(saysMore ? max(settings.deadline, settings.maxDeadline) : settings.deadline)
    }

    // MARK: Keys

    /// The fields of a request that its answer depends on.
    private static let fields = [
        "accept", "content-type", "content-encoding", "inference-header-content-length",
        "x-amzn-sagemaker-custom-attributes",
    ]
    /// The bytes at both ends of a body, and at places between, that tell it from others where bodies are compared
    /// anyway.
    private static let sample = 512, places = 16, bytesAtPlace = 64

    /// - Parameter whole: whether the key stands for the whole body; otherwise equal keys are compared by their bodies.
    private func key(
        of request: HTTPRequest, _ choice: ModelChoice, _ identity: Identity, _ scope: Scope, whole: Bool
    ) -> SipHash.Key {
        var hash = SipHash(key: key)
        hash.update(whole ? 1 : 0)
        hash.update(scope.client.sender)
        hash.update(scope.settingsNumber)
        identity.add(to: &hash)
        hash.update(choice.name)
        hash.update(choice.version ?? "")
        hash.update(request.head.method.rawValue)
        hash.update(request.head.target.raw)
        for field in Self.fields {
            let values = request.head.values(of: field)
            hash.update(UInt64(values.count))
            for value in values { hash.update(value) }
        }
        request.body.withUnsafeBytes { bytes in
            hash.update(UInt64(bytes.count))
            if whole || bytes.count <= 2 * Self.sample {
                hash.update(bytes)
            } else {
                hash.update(UnsafeRawBufferPointer(rebasing: bytes.prefix(Self.sample)))
                hash.update(UnsafeRawBufferPointer(rebasing: bytes.suffix(Self.sample)))
                for place in 1..<Self.places {
                    let rest = bytes.dropFirst(bytes.count / Self.places * place)
                    hash.update(UnsafeRawBufferPointer(rebasing: rest.prefix(Self.bytesAtPlace)))
                }
            }
        }
        return hash.finish()
    }

    // MARK: Answers

    /// The use of an answer beside the request that it was computed for.
    private static func use(of response: HTTPResponse) -> AnswerUse {
        guard response.status == .ok, !(response.note is UnsharedNote), !response.closeConnection else { return .own }
        let note = response.note as? RequestNote
        guard note?.isWhole ?? true else { return .own }
        let fields = response.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
        let blanks = (note?.blanks.count ?? 0) * MemoryLayout<JSONWriter.Blank>.stride
        return .kept(size: response.body.capacity + blanks + fields + 512)
    }

    /// An answer without what is its own request's: the work that begins when it was sent.
    private static func others(_ response: HTTPResponse) -> HTTPResponse {
        guard let note = response.note as? RequestNote, note.afterwards != nil else { return response }
        var response = response
        response.note = note.shared(recv: note.recv, cache: nil)
        return response
    }

    /// Another request's answer as a request's own.
    private static func own(
        _ response: HTTPResponse, of request: HTTPRequest, cache: String, _ status: String
    ) -> HTTPResponse {
        var response = response
        if let note = response.note as? RequestNote {
            let total = MonotonicInstant.now.nanoseconds(since: request.headReceived)
            response.body = JSONWriter.filled(response.body, note.blanks) { name, writer in
                switch OwnValue(rawValue: name) {
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

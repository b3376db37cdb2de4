internal import Glibc
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Settings
internal import SharedAnswers
internal import SystemSupport

/// Answers to predictions that are known already: requests that are equal, at the same time or within `answer_cache_age`, of one client
/// (API.md, "Answers that are known already").
///
/// A client never shares with another: the time of an answer would tell it what others have sent.
final class SharedPredictions: Sendable {
    private let sharing: AnswerSharing<Content, HTTPResponse, ServiceError>
    /// Nobody can choose bodies that have one key.
    private let key = SipHash.Key.random()

    /// A body, compared byte by byte.
    private struct Content: Equatable, Sendable {
        let body: HTTPBody

        static func == (left: Content, right: Content) -> Bool {
            left.body.count == right.body.count
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

    /// From now on other settings hold. Answers by the old ones are found no more, because their keys have the settings.
    func use(_ settings: Settings) { sharing.use(Self.limits(settings)) }

    private static func limits(_ settings: Settings) -> AnswerSharing<Content, HTTPResponse, ServiceError>.Machine.Limits {
        .init(capacity: settings.answerCache, age: .seconds(settings.answerCacheAge))
    }

    /// The numbers for metrics.
    var usage: SharedAnswersUsage {
        let usage = sharing.usage
        return SharedAnswersUsage(
            answers: usage.answers, bytes: usage.bytes, hits: usage.hits, collapsed: usage.joined,
            misses: usage.misses)
    }

    /// The answer to a prediction.
    /// - Parameters:
    ///   - model: the model that answers it.
    ///   - live: the settings that it is answered by.
    ///   - client: whom its answer may be shared with.
    ///   - compute: computes the answer.
    func answer(
        to request: HTTPRequest, by model: Model, _ live: LiveSettings, of client: ClientIdentity,
        compute: @escaping Service.Answer
    ) async throws(ServiceError) -> HTTPResponse {
        let keeps = sharing.keeps
        let key = key(of: request, model, live, client, whole: keeps)
        let (outcome, origin) = await sharing.answer(
            key, Content(body: request.body), cancelled: ServiceError(InferenceError.cancelled(at: .queue))
        ) {
            do throws(ServiceError) {
                let response = try await compute(request)
                return .success(.init(response, use: Self.use(of: response)))
            } catch {
                return .failure(error)
            }
        }
        var response = try outcome.get()
        switch origin {
        case .computed: if keeps { response.fields.append(("Cache-Status", "ocelli; fwd=miss")) }
        case .joined: response = Self.own(response, of: request, cache: "collapsed", "ocelli; fwd=miss; collapsed")
        case .hit: response = Self.own(response, of: request, cache: "hit", "ocelli; hit")
        }
        return response
    }

    // MARK: Keys

    /// The fields of a request that its answer depends on.
    private static let fields = ["accept", "content-type", "content-encoding", "inference-header-content-length"]
    /// The bytes at both ends of a body that tell it from others where bodies are compared anyway.
    private static let sample = 512

    /// - Parameter whole: whether the key stands for the whole body; otherwise equal keys are compared by their bodies.
    private func key(
        of request: HTTPRequest, _ model: Model, _ live: LiveSettings, _ client: ClientIdentity, whole: Bool
    ) -> SipHash.Key {
        var hash = SipHash(key: key)
        hash.update(client.number)
        hash.update(live.number)
        hash.update(model.number)
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
            }
        }
        return hash.finish()
    }

    // MARK: Answers

    /// Who may get an answer beside the request that it was computed for.
    private static func use(of response: HTTPResponse) -> AnswerUse {
        guard response.status == .ok, !(response.note is UnsharedNote), !response.closeConnection else { return .own }
        guard (response.note as? RequestNote)?.isWhole ?? true else { return .shared }
        let fields = response.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
        return .kept(size: response.body.count + fields + 512)
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
                case .total: writer.milliseconds(total)
                case nil: writer.null()
                }
            }
            let receiving = request.bodyReceived.nanoseconds(since: request.headReceived)
            response.note = note.shared(recv: receiving, cache: cache)
            let timing = ServerTiming.text(note.times, recv: receiving, encode: note.encode)
            response.fields = response.fields.map { $0.name == "Server-Timing" ? ($0.name, timing) : $0 }
        }
        response.fields.append(("Cache-Status", status))
        return response
    }
}

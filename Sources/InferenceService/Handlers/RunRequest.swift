internal import FlowControl
package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
package import Settings
package import SystemSupport
internal import Teaching

/// One request that runs a model: the model, the options and the time of arrival; writes the beginning and the end of
/// its answer.
struct RunRequest: Sendable {
    let model: Model
    /// The name under which the model is served; for a taught model, its own name.
    let name: String
    /// The requested taught model; `model` is then its embedder.
    let taught: TaughtRun?
    let requestID: String
    let options: PredictionOptions
    /// The request's part in the model's rollout; nil if it has none.
    let route: RolloutRoute?
    /// The time of the request's first byte.
    let received: MonotonicInstant
    /// Nanoseconds from the request's first byte to its last.
    let receiving: UInt64

    init(
        _ request: HTTPRequest, model: Model, name: String, options: PredictionOptions, taught: TaughtRun? = nil,
        shadow: RolloutRoute? = nil
    ) {
        route = shadow
        self.model = model
        self.name = name
        self.taught = taught
        requestID = request.requestID
        self.options = options
        received = request.headReceived
        receiving = request.bodyReceived.nanoseconds(since: request.headReceived)
    }

    /// The name of the model in the repository, used in metrics; for a taught model, its embedder's name.
    var repositoryName: String { taught?.embedderName ?? name }

    /// The labels of the model's classes; nil if it has none.
    var classLabels: [String]? { taught?.head.labels ?? model.classLabels }

    /// True once the request's deadline has passed.
    var isLate: Bool { options.deadline.map { MonotonicInstant.now >= $0 } ?? false }

    private var version: String { taught?.version ?? model.description.version }

    /// Writes the members with which every answer begins.
    func writeHeader(to writer: inout JSONWriter) {
        writer.key("model")
        writer.string(name)
        writer.key("version")
        writer.string(version)
        writer.key("request_id")
        writer.blank(OwnValue.requestID.rawValue) { $0.string(requestID) }
    }

    /// The answer, with the stages in `Server-Timing` and in a note for the access log.
    /// - Parameters:
    ///   - blanks: the places in the body with values of this request only.
    ///   - isBare: whether the body does not name the version that answered; the field `Model-Version` then does.
    ///   - isWhole: false if a part of the answer failed.
    func response(
        _ body: [UInt8], type: String, times: StageTimes, encode: UInt64, topLabel: String? = nil,
        blanks: [JSONWriter.Blank] = [], isBare: Bool = false, isWhole: Bool = true, shadow: ShadowWork? = nil
    ) -> HTTPResponse {
        let timing = ServerTiming.text(times, recv: receiving, encode: encode, device: model.device)
        var response = HTTPResponse(
            status: .ok, fields: [("Content-Type", type), ("Server-Timing", timing)], body: body)
        if isBare { response.fields.append(("Model-Version", version)) }
        response.note = RequestNote(
            model: name, times: times, recv: receiving, encode: encode, device: model.device, topLabel: topLabel,
            blanks: blanks, isWhole: isWhole, afterwards: afterwards(shadow))
        return response
    }
}

extension RunRequest {
    /// The note of an answer without stage times that is compared with another version's; nil if it is not compared.
    func note(_ times: StageTimes, _ work: ShadowWork?) -> RequestNote? {
        work.map { RequestNote(model: name, times: times, recv: receiving, encode: 0, afterwards: afterwards($0)) }
    }

    /// The comparison to begin after the answer is sent; nil for none.
    private func afterwards(_ work: ShadowWork?) -> (@Sendable () -> Void)? {
        guard let work, let route else { return nil }
        let isCandidates = model.description.version == route.candidate
        return { route.begin(work, isCandidates: isCandidates) }
    }

    /// The options for the same question to another version.
    func options(for sample: DecodedInput?, deadline: MonotonicInstant) -> PredictionOptions {
        var options = options
        (options.keeps, options.decoded) = (nil, sample)
        options.deadline = deadline
        options.claim = .usual
        return options
    }
}

extension HTTPRequest {
    /// The request's deadline.
    /// - Parameter milliseconds: the time that the request gives; nil for the default of the settings.
    package func deadline(_ milliseconds: Int?, settings: Settings) -> MonotonicInstant {
        let time = milliseconds.map { Duration.milliseconds($0) } ?? .seconds(settings.deadline)
        // Count from the body's end: the time of a slow upload is the client's own, and has its own limits.
        return bodyReceived + time
    }

    /// True if `Accept` (RFC 9110 section 12.5.1) prefers a media type to JSON, which every route has: it names the
    /// type, with no less weight than JSON, or it names all types of its kind (`image/*`) with more weight than JSON.
    package func accepts(_ type: String) -> Bool { weight(type) != nil }

    /// The type that `Accept` prefers to JSON: the one with the greatest weight, of equal ones the first; nil for JSON.
    package func preferred(_ types: [String]) -> String? {
        var best: (type: String, weight: Double)?
        for type in types {
            guard let weight = weight(type), weight > best?.weight ?? 0 else { continue }
            best = (type, weight)
        }
        return best?.type
    }

    /// The weight of a type that is preferred to JSON; nil if it is not.
    private func weight(_ type: String) -> Double? {
        let ranges = head.values(of: "accept").joined(separator: ",").split(separator: ",").map { range in
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) }
            return (name: parts.first ?? "", weight: weight ?? 1)
        }
        func weight(_ name: String) -> Double? { ranges.first { $0.name == name }?.weight }
        let json = weight("application/json") ?? weight("application/*") ?? 0
        if let named = weight(type) { return named > 0 && named >= json ? named : nil }
        guard let kind = weight(type.prefix { $0 != "/" } + "/*"), kind > max(json, weight("*/*") ?? 0) else {
            return nil
        }
        return kind
    }
}

/// The `Server-Timing` field of an answer: the stages in milliseconds (W3C, Server Timing).
enum ServerTiming {
    /// - Parameter device: the device of the inference; named if it is a GPU.
    static func text(_ times: StageTimes, recv: UInt64, encode: UInt64, device: String = "") -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(112)
        func stage(_ name: StaticString, _ nanoseconds: UInt64) {
            bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
            JSONWriter.appendMilliseconds(nanoseconds, to: &bytes)
        }
        stage("recv;dur=", recv)
        stage(", queue;dur=", times.queue)
        stage(", decode;dur=", times.decode)
        stage(", infer;dur=", times.inference)
        if let threads = times.singleStreamThreads { bytes.append(contentsOf: ";desc=\"\(threads) threads\"".utf8) }
        if device.hasPrefix("gpu") { bytes.append(contentsOf: ";desc=\"\(device)\"".utf8) }
        if times.postprocess > 0 { stage(", postprocess;dur=", times.postprocess) }
        for one in times.stages {
            bytes.append(contentsOf: ", stage.\(one.name);dur=".utf8)
            JSONWriter.appendMilliseconds(one.nanoseconds, to: &bytes)
        }
        stage(", encode;dur=", encode)
        return String(decoding: bytes, as: UTF8.self)
    }
}

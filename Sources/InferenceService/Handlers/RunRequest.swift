internal import FlowControl
package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
package import Settings
package import SystemSupport
internal import Teaching

/// One request that runs a model: the model, the options, when it came, and the beginning and end of its answer.
struct RunRequest: Sendable {
    let model: Model
    /// The name that the model is served under; of a taught model, its own.
    let name: String
    /// The taught model that is asked; `model` is its embedder.
    let taught: TaughtRun?
    let requestID: String
    let options: PredictionOptions
    /// Its part in the model's rollout; nil if it has none.
    let route: RolloutRoute?
    /// The time when the request's first byte came.
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

    /// The name of the model in the repository, which metrics have: that of a taught model's embedder.
    var repositoryName: String { taught?.embedderName ?? name }

    /// The labels of its classes; nil if it has none.
    var classLabels: [String]? { taught?.head.labels ?? model.classLabels }

    /// True once its deadline has passed.
    var isLate: Bool { options.deadline.map { MonotonicInstant.now >= $0 } ?? false }

    private var version: String { taught?.version ?? model.description.version }

    /// The members that every answer begins with.
    func writeHeader(to writer: inout JSONWriter) {
        writer.key("model")
        writer.string(name)
        writer.key("version")
        writer.string(version)
        writer.key("request_id")
        writer.blank(OwnValue.requestID.rawValue) { $0.string(requestID) }
    }

    /// The answer, with the stages in `Server-Timing` and for the access line.
    /// - Parameters:
    ///   - blanks: the places in the body that are this request's own.
    ///   - isBare: whether the body does not name the version that answered: `Model-Version` does then.
    ///   - isWhole: false if a part of it failed.
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
    /// The note of an answer without stage times that is compared with another version's; nil if it is not.
    func note(_ times: StageTimes, _ work: ShadowWork?) -> RequestNote? {
        work.map { RequestNote(model: name, times: times, recv: receiving, encode: 0, afterwards: afterwards($0)) }
    }

    /// The comparison that begins when the answer was sent; nil if there is none.
    private func afterwards(_ work: ShadowWork?) -> (@Sendable () -> Void)? {
        guard let work, let route else { return nil }
        let isCandidates = model.description.version == route.candidate
        return { route.begin(work, isCandidates: isCandidates) }
    }

    /// The options for asking another version the same.
    func options(for sample: DecodedInput?, deadline: MonotonicInstant) -> PredictionOptions {
        var options = options
        (options.keeps, options.decoded) = (nil, sample)
        options.deadline = deadline
        options.claim = .usual
        return options
    }
}

extension HTTPRequest {
    /// Until when an answer is worth something.
    package func deadline(_ milliseconds: Int?, settings: Settings) -> MonotonicInstant {
        let time = milliseconds.map { Duration.milliseconds($0) } ?? .seconds(settings.deadline)
        // From the body's end: a slow upload is the client's own time, and has its own limits.
        return bodyReceived + time
    }

    /// True if `Accept` (RFC 9110 section 12.5.1) asks for a media type rather than for JSON, which every route has: it
    /// names the type, with no less weight than JSON where it names that too, or all types of its kind (`image/*`) with
    /// more weight than JSON.
    package func accepts(_ type: String) -> Bool { weight(type) != nil }

    /// The media type of some that `Accept` asks for rather than for JSON: that of the greatest weight, and of those
    /// the first.
    package func preferred(_ types: [String]) -> String? {
        var best: (type: String, weight: Double)?
        for type in types {
            guard let weight = weight(type), weight > best?.weight ?? 0 else { continue }
            best = (type, weight)
        }
        return best?.type
    }

    /// The weight of a type that is asked for rather than JSON; nil if it is not.
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
    /// - Parameter device: of the inference; named where it is a graphics processor.
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

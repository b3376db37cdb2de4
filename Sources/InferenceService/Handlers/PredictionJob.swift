internal import FlowControl
package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
package import Settings
package import SystemSupport

/// What every request that runs a model has: what it asks of which model, since when, and how its answer begins and ends.
protocol PredictionJob: Sendable {
    var model: Model { get }
    /// The name that the model is served under.
    var name: String { get }
    var requestID: String { get }
    var options: PredictionOptions { get }
    /// When the request's first byte came.
    var received: MonotonicInstant { get }
    /// Nanoseconds from the request's first byte to its last.
    var receiving: UInt64 { get }
}

extension PredictionJob {
    /// What the query says of how the prediction is made, and until when.
    static func options(_ query: ClassifyQuery, of request: HTTPRequest, settings: Settings) -> PredictionOptions {
        var options = PredictionOptions()
        options.cropAndScale = query.crop
        options.ignoresOrientation = query.ignoresOrientation
        options.deadline = request.deadline(query.timeoutMilliseconds, settings: settings)
        return options
    }

    /// The members that every answer begins with.
    func writeHeader(to writer: inout JSONWriter) {
        writer.key("model")
        writer.string(name)
        writer.key("version")
        writer.string(model.description.version)
        writer.key("request_id")
        writer.string(requestID)
    }

    /// The answer, with the stages in `Server-Timing` and for the access line.
    func response(
        _ body: [UInt8], type: String = "application/json", times: StageTimes, encode: UInt64, topLabel: String? = nil
    ) -> HTTPResponse {
        let timing = ServerTiming.text(times, recv: receiving, encode: encode)
        var response = HTTPResponse(
            status: .ok, fields: [("Content-Type", type), ("Server-Timing", timing)],
            body: body)
        response.note = RequestNote(model: name, times: times, recv: receiving, encode: encode, topLabel: topLabel)
        return response
    }
}

extension HTTPRequest {
    /// Until when an answer is worth something.
    package func deadline(_ milliseconds: Int?, settings: Settings) -> MonotonicInstant {
        let time = milliseconds.map { Duration.milliseconds($0) } ?? .seconds(settings.deadline)
        // From the body's end: a slow upload is the client's own time, and has its own limits.
        return bodyReceived + time
    }

    /// Whether an `Accept` field (RFC 9110 section 12.5.1) names a media type, with any weight but 0.
    package func accepts(_ type: String) -> Bool {
        head.values(of: "accept").joined(separator: ",").split(separator: ",").contains { range in
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            return parts.first == type && !parts.contains { $0.hasPrefix("q=") && Double($0.dropFirst(2)) == 0 }
        }
    }

    /// Nanoseconds from the first byte to the last.
    var receiving: UInt64 { bodyReceived.nanoseconds(since: headReceived) }
}

/// The `Server-Timing` field of an answer: the stages in milliseconds (W3C, Server Timing).
enum ServerTiming {
    static func text(_ times: StageTimes, recv: UInt64, encode: UInt64) -> String {
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
        if let threads = times.loneThreads { bytes.append(contentsOf: ";desc=\"\(threads) threads\"".utf8) }
        if times.postprocess > 0 { stage(", postprocess;dur=", times.postprocess) }
        stage(", encode;dur=", encode)
        return String(decoding: bytes, as: UTF8.self)
    }
}

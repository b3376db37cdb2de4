internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import ImagePipeline
internal import Inference

/// What one `predict` request wants beside its inputs, and how its answer is written.
struct PredictJob: Sendable {
    let model: Model
    let name: String
    let version: String
    let requestID: String
    let options: PredictionOptions
    let writer: OutputWriter
    /// Whether the answer is the picture itself.
    let wantsPNG: Bool
    /// When the request's first byte came, and the nanoseconds from there to its last.
    let received: MonotonicInstant, receiving: UInt64

    init(request: HTTPRequest, model: Model, name: String, settings: Settings) throws(ServiceError) {
        let query = try ClassifyQuery(request.head.target, settings: settings)
        if query.explain != nil {
            throw ServiceError.badRequest("query parameter \"explain\" is for classify: predict does not take it")
        }
        let description = model.description
        let hasThreshold = request.head.target.queryItems().contains { $0.name == "threshold" }
        let classes = description.outputs.compactMap { $0.labels?.count }.max()
        if query.top != nil || hasThreshold, classes == nil {
            throw ServiceError.badRequest(
                "\"top\" and \"threshold\" are for labelled outputs: model \"\(name)\" has none")
        }
        if let top = query.top, let classes, top > classes {
            throw ServiceError.badRequest(
                "query parameter \"top\": expected a whole number from 1 to \(classes) (the labels of \"\(name)\"), "
                    + "found \"\(top)\"")
        }
        self.model = model
        self.name = name
        version = description.version
        requestID = request.requestID
        writer = OutputWriter(
            outputs: description.outputs, top: query.top, threshold: hasThreshold ? query.threshold : nil)
        let accept = request.head.values(of: "accept").joined(separator: ",")
        wantsPNG =
            Self.names("image/png", in: accept)
            && description.outputs.filter { $0.kind == .image }.count == 1
        received = MonotonicInstant(nanoseconds: request.headReceivedNanoseconds)
        receiving = request.bodyReceivedNanoseconds &- request.headReceivedNanoseconds
        var options = PredictionOptions()
        options.cropAndScale = query.crop
        options.ignoresOrientation = query.ignoresOrientation
        let time = query.timeoutMilliseconds.map { Duration.milliseconds($0) } ?? .seconds(settings.deadline)
        options.deadline = MonotonicInstant(nanoseconds: request.bodyReceivedNanoseconds) + time
        self.options = options
    }

    /// Whether an `Accept` field (RFC 9110 section 12.5.1) names a media type, with any weight but 0.
    private static func names(_ type: String, in accept: String) -> Bool {
        accept.split(separator: ",").contains { range in
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            return parts.first == type && !parts.contains { $0 == "q=0" || $0.hasPrefix("q=0.0") }
        }
    }

    // MARK: The answer

    func writeHeader(to writer: inout JSONWriter) {
        writer.key("model")
        writer.string(name)
        writer.key("version")
        writer.string(version)
        writer.key("request_id")
        writer.string(requestID)
    }

    /// The members `outputs`, `image` and `timing_ms`.
    func write(_ prediction: Prediction, queue: UInt64, total: UInt64, to writer: inout JSONWriter) {
        writer.key("outputs")
        self.writer.write(prediction, to: &writer)
        if let image = prediction.image {
            writer.key("image")
            writer.object { writer in
                writer.key("format")
                writer.string(image.format.rawValue)
                writer.key("width")
                writer.integer(image.width)
                writer.key("height")
                writer.integer(image.height)
                writer.key("orientation")
                writer.integer(image.orientation)
            }
        }
        var times = prediction.times
        times.queue &+= queue
        writer.key("timing_ms")
        AnswerWriter.write(times, total: total, to: &writer)
    }

    func response(_ body: [UInt8], type: String, times: StageTimes, encode: UInt64) -> HTTPResponse {
        func stage(_ name: String, _ nanoseconds: UInt64) -> String {
            "\(name);dur=\(Units.decimal(Double(nanoseconds) / 1e6, places: 3))"
        }
        let timing = [
            stage("recv", receiving), stage("queue", times.queue), stage("decode", times.decode),
            stage("infer", times.inference), stage("encode", encode),
        ]
        return HTTPResponse(
            status: .ok,
            fields: [("Content-Type", type), ("Server-Timing", timing.joined(separator: ", "))], body: body)
    }
}

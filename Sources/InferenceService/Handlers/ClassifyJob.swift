internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference

/// What one `classify` request wants, and how its answer is written.
struct ClassifyJob: Sendable {
    let model: Model
    let name: String
    let version: String
    let requestID: String
    let top: Int
    let threshold: Float
    let options: PredictionOptions
    /// When the request's first byte came.
    let received: MonotonicInstant
    /// Nanoseconds from the request's first byte to its last.
    let receiving: UInt64

    init(
        request: HTTPRequest, model: Model, name: String, query: ClassifyQuery, settings: Settings
    ) throws(ServiceError) {
        guard let output = model.description.classificationOutput, let labels = output.labels,
            model.description.imageInput != nil
        else {
            throw ServiceError(
                .badRequest, "invalid_input",
                "model \"\(name)\" is not an image classifier (one image input, one output with labels)")
        }
        if let top = query.top, top > labels.count {
            throw ServiceError(
                .badRequest, "bad_request",
                "query parameter \"top\": expected a whole number from 1 to \(labels.count) (the classes of \"\(name)\"), found \"\(top)\""
            )
        }
        self.model = model
        self.name = name
        version = model.description.version
        requestID = request.requestID
        top = query.top ?? min(settings.top, labels.count)
        threshold = query.threshold
        received = MonotonicInstant(nanoseconds: request.headReceivedNanoseconds)
        receiving = request.bodyReceivedNanoseconds &- request.headReceivedNanoseconds
        var options = PredictionOptions()
        options.cropAndScale = query.crop
        options.ignoresOrientation = query.ignoresOrientation
        let time = query.timeoutMilliseconds.map { Duration.milliseconds($0) } ?? .seconds(settings.deadline)
        // From the body's end: a slow upload is the client's own time, and has its own limits.
        options.deadline = MonotonicInstant(nanoseconds: request.bodyReceivedNanoseconds) + time
        self.options = options
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

    /// A part that failed, among others that did not.
    func write(_ error: ServiceError, part: Int, to writer: inout JSONWriter) {
        writer.key("error")
        writer.string("part \(part + 1): \(error.message)")
        writer.key("code")
        writer.string(error.code)
        writer.key("part")
        writer.integer(part + 1)
    }

    func response(_ body: [UInt8], times: StageTimes, encode: UInt64, topLabel: String? = nil) -> HTTPResponse {
        func stage(_ name: String, _ nanoseconds: UInt64) -> String {
            "\(name);dur=\(Units.decimal(Double(nanoseconds) / 1e6, places: 3))"
        }
        let timing = [
            stage("recv", receiving), stage("queue", times.queue), stage("decode", times.decode),
            stage("infer", times.inference), stage("encode", encode),
        ]
        var response = HTTPResponse(
            status: .ok,
            fields: [("Content-Type", "application/json"), ("Server-Timing", timing.joined(separator: ", "))],
            body: body)
        response.note = RequestNote(model: name, times: times, recv: receiving, encode: encode, topLabel: topLabel)
        return response
    }
}

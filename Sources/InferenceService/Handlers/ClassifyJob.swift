internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Settings
internal import SystemSupport

/// The parameters of one `classify` request, and the writer of its answer.
struct ClassifyJob: PredictionJob {
    let model: Model
    let name: String
    let requestID: String
    let top: Int
    let threshold: Float
    let options: PredictionOptions
    let received: MonotonicInstant
    let receiving: UInt64
    var isNegotiated: Bool { false }

    init(
        request: HTTPRequest, model: Model, name: String, query: ClassifyQuery, options: PredictionOptions,
        settings: Settings
    ) throws(ServiceError) {
        let labels = model.description.classLabels
        // What the model sees of a picture can be shown without labels.
        guard model.description.imageInput != nil, labels != nil || query.explain != nil else {
            throw ServiceError(
                .invalidInput,
                "model \"\(name)\" is not an image classifier (one image input, one output with labels): \(model.abilities)"
            )
        }
        if let labels, let top = query.top, top > labels.count {
            throw ServiceError(
                .badRequest,
                "query parameter \"top\": expected a whole number from 1 to \(labels.count) (the classes of \"\(name)\"), found \"\(top)\""
            )
        }
        self.model = model
        self.name = name
        requestID = request.requestID
        top = query.top ?? min(settings.top, labels?.count ?? 1)
        threshold = query.threshold
        received = request.headReceived
        receiving = request.receiving
        self.options = options
    }

    // MARK: The answer

    /// A part that failed, among others that did not.
    static func write(_ error: ServiceError, part: Int, to writer: inout JSONWriter) {
        writer.key("error")
        writer.string("part \(part + 1): \(error.message)")
        writer.key("code")
        writer.string(error.code.rawValue)
        writer.key("part")
        writer.integer(part + 1)
    }
}

internal import HTTPServer
internal import Inference
internal import JSON
internal import Settings
internal import SystemSupport

/// The parameters of one request to `detect`, `segment`, `keypoints` or `embed`, and the writer of its answer.
struct ObservationJob: PredictionJob {
    let model: Model
    let name: String
    let requestID: String
    let query: ObservationQuery
    let options: PredictionOptions
    let received: MonotonicInstant
    let receiving: UInt64
    /// The form of the answer; nil for JSON.
    let form: Form?

    enum Form {
        /// The mask as a picture with a palette.
        case png
        /// Embeddings as 32-bit floats, the low byte first, one after the other.
        case floats
    }

    init(
        request: HTTPRequest, model: Model, name: String, query: ObservationQuery, options: PredictionOptions
    ) throws(ServiceError) {
        let task = query.request.task
        guard model.tasks.contains(task) else {
            throw ServiceError(.invalidInput, "model \"\(name)\" does not give \(task.gives): \(model.abilities)")
        }
        if let refusal = model.refusal(of: query.request) { throw ServiceError(refusal) }
        self.model = model
        self.name = name
        requestID = request.requestID
        self.query = query
        self.options = options
        received = request.headReceived
        receiving = request.receiving
        switch task {
        case .segment where request.accepts("image/png"): form = .png
        case .embed where request.accepts("application/octet-stream"): form = .floats
        default: form = nil
        }
    }

    var isNegotiated: Bool { query.request.task == .segment || query.request.task == .embed }

    /// True if work on the answer should end.
    var isCancelled: Bool {
        Task.isCancelled || (options.deadline.map { MonotonicInstant.now >= $0 } ?? false)
    }
}

internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import ImagePipeline
internal import Inference
internal import JSON
internal import SystemSupport

/// The parameters of one `predict` request beside its inputs, and the writer of its answer.
struct PredictJob: PredictionJob {
    let model: Model
    let name: String
    let requestID: String
    let options: PredictionOptions
    let writer: OutputWriter
    let isNegotiated: Bool
    /// True if the answer is the picture itself.
    let wantsPNG: Bool
    let received: MonotonicInstant
    let receiving: UInt64

    init(
        request: HTTPRequest, model: Model, name: String, query: ClassifyQuery, options: PredictionOptions
    ) throws(ServiceError) {
        if query.explain != nil {
            throw ServiceError.badRequest("query parameter \"explain\" is for classify: predict does not take it")
        }
        let description = model.description
        let classes = description.outputs.compactMap { $0.labels?.count }.max()
        if query.top != nil || query.hasThreshold, classes == nil {
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
        requestID = request.requestID
        writer = OutputWriter(
            outputs: description.outputs, top: query.top, threshold: query.hasThreshold ? query.threshold : nil)
        isNegotiated = description.outputs.count { $0.kind == .image } == 1
        wantsPNG = isNegotiated && request.accepts("image/png")
        received = request.headReceived
        receiving = request.receiving
        self.options = options
    }

    // MARK: The answer

    /// The members `outputs`, `image` and `timing_ms`.
    func write(_ prediction: Prediction, queue: UInt64, total: UInt64, to writer: inout JSONWriter) {
        writer.key("outputs")
        self.writer.write(prediction, to: &writer)
        if let image = prediction.image {
            writer.key("image")
            writer.object { ClassificationWriter.write(image, to: &$0) }
        }
        var times = prediction.times
        times.queue &+= queue
        writer.key("timing_ms")
        ClassificationWriter.write(times, total: total, to: &writer)
    }
}

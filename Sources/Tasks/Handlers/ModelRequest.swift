internal import FlowControl
package import HTTPServer
internal import HTTPWire
package import Inference
package import JSON
package import ServiceCore
internal import Settings
internal import SystemSupport
internal import Teaching
internal import WireFormats

/// One request that runs a model: the model, the options and the time of arrival; writes the beginning and the end of
/// its answer.
package struct ModelRequest: Sendable {
    package let model: Model
    /// The name under which the model is served; for a taught model, its own name.
    package let name: String
    /// The requested taught model; `model` is then its embedder.
    package let taught: TaughtSnapshot?
    /// The taught models that answer stages of a pipeline.
    package var stages = TaughtStages()
    let requestID: String
    /// Looks at the answers after they are sent; nil if nothing does.
    var watch: AnswerWatch?
    package let options: PredictionOptions
    /// The request's part in the model's rollout; nil if it has none.
    let route: RolloutRoute?
    /// The time of the request's first byte.
    let received: MonotonicInstant
    /// Nanoseconds from the request's first byte to its last.
    package let receiving: UInt64

    package init(
        _ request: HTTPRequest, model: Model, name: String, options: PredictionOptions, taught: TaughtSnapshot? = nil,
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

    /// True if it compares the patches of a picture with those of normal ones.
    var comparesPatches: Bool { (taught?.head ?? model.taughtClassifier)?.normal?.patches != nil }

    /// True once the request's deadline has passed.
    var isLate: Bool { options.deadline.map { MonotonicInstant.now >= $0 } ?? false }

    var version: String { taught?.version ?? model.description.version }

    /// Writes the members with which every answer begins.
    func writeHeader(to writer: inout JSONWriter) {
        writer.key("model")
        writer.string(name)
        writer.key("version")
        writer.string(version)
        writer.key("request_id")
        writer.placeholder(PerRequestField.requestID.rawValue) { $0.string(requestID) }
    }

    /// The answer, with the stages in `Server-Timing` and in a note for the access log.
    /// - Parameters:
    ///   - placeholders: the places in the body with values of this request only.
    ///   - isBare: whether the body does not name the version that answered; the field `Model-Version` then does.
    ///   - isWhole: false if a part of the answer failed.
    ///   - reports: for the watchers of answers.
    package func response(
        _ body: [UInt8], type: String, times: StageTimes, encode: UInt64, topLabel: String? = nil,
        placeholders: [JSONWriter.Placeholder] = [], isBare: Bool = false, isWhole: Bool = true,
        shadow: ShadowWork? = nil, reports: [AnswerReport] = []
    ) -> HTTPResponse {
        let timing = ServerTiming.text(times, recv: receiving, encode: encode, device: model.device)
        var response = HTTPResponse(
            status: .ok, fields: [("Content-Type", type), ("Server-Timing", timing)], body: body)
        if isBare { response.fields.append(("Model-Version", version)) }
        response.note = RequestNote(
            model: name, times: times, recv: receiving, encode: encode, device: model.device, topLabel: topLabel,
            placeholders: placeholders, isWhole: isWhole, afterSend: afterSend(shadow, reports))
        return response
    }
}

extension ModelRequest {
    /// The note of an answer without stage times that is compared with another version's; nil if it is not compared.
    package func note(_ times: StageTimes, _ work: ShadowWork?) -> RequestNote? {
        work.map { RequestNote(model: name, times: times, recv: receiving, encode: 0, afterSend: afterSend($0)) }
    }

    /// The work to begin after the answer is sent: a comparison with the other version, and reports; nil for none.
    private func afterSend(_ work: ShadowWork?, _ reports: [AnswerReport] = []) -> (@Sendable () -> Void)? {
        let comparison = work.flatMap { work in route.map { (work, $0) } }
        guard comparison != nil || !reports.isEmpty else { return nil }
        let isCandidates = model.description.version == route?.candidate
        return { [watch, version] in
            if let (work, route) = comparison {
                route.begin(work, by: version, isCandidates: isCandidates)
            }
            watch?.answered(reports)
        }
    }

    /// The report of a picture that was answered; nil without watchers.
    func report(_ image: EncodedImage, _ outcome: AnswerReport.Outcome) -> AnswerReport? {
        watch.map {
            AnswerReport(
                model: name, version: version, client: $0.client, mayKeep: $0.mayKeep, image: image, outcome: outcome,
                ran: model)
        }
    }
}

extension PredictionOptions {
    /// The options for the same question to another version.
    /// - Parameter sample: the item as it was decoded for the first answer.
    func forOtherVersion(_ sample: DecodedInput?, deadline: MonotonicInstant) -> PredictionOptions {
        var options = self
        (options.keeps, options.decoded) = (nil, sample)
        options.deadline = deadline
        options.claim = .usual
        options.loadWait = 0
        options.measures = false
        return options
    }
}

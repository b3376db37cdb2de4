package import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import ServiceCore
internal import Settings
internal import SystemSupport
package import Tasks
package import WireFormats

/// Answers `POST /predict` of Label Studio: the results of each control tag's model for the pictures of the tasks.
package struct LabelPredictHandler: CallHandler {
    private let call: Call
    private var settings: Settings { call.live.settings }
    private var models: LabelModels { LabelModels(call: call) }

    /// Answers the prediction of one control tag.
    package typealias Predict =
        @Sendable (HTTPRequest, PredictionCall) async throws(ServiceError) -> HTTPResponse

    package init(_ call: Call) throws(ServiceError) { self.call = call }

    /// The pictures of the tasks, by the member of their data; the error for one that cannot be used.
    private typealias Pictures = [String: [Result<LabelPicture, InferenceError>]]

    /// The results of one control tag for all tasks.
    private struct Answers {
        let version: String
        let results: [Result<LabelResults, ServiceError>]
        /// The head of the answer; nil if no model ran.
        var response: HTTPResponse?
    }

    package func respond(to request: HTTPRequest, by predict: Predict) async throws(ServiceError) -> HTTPResponse {
        try request.head.refuseContentCodings()
        let maximum = settings.maxBatch
        let (body, config) = try await call.read(request) { () throws(ServiceError) in
            let body = try LabelBody(request.body, maximum: maximum)
            return (body, try body.config())
        }
        guard !config.controls.isEmpty else {
            throw .invalidInput(
                "the label config has no control tag for a model: expected Choices, RectangleLabels, KeyPointLabels, "
                    + "BrushLabels or TextArea, whose toName names an Image with value=\"$...\"")
        }
        let pictures = try await pictures(of: body.tasks, config, request)
        var answers: [Answers] = [], absence: ServiceError?
        for control in config.controls {
            do throws(ServiceError) {
                answers.append(
                    try await self.answers(of: control, pictures[control.member] ?? [], request, by: predict))
            } catch {
                // A tag for people only, such as a TextArea for remarks, needs no model.
                guard control.model == nil, error.code == .modelNotFound else { throw error }
                absence = error
            }
        }
        if answers.isEmpty, let absence { throw absence }
        return response(to: body.tasks.count, answers)
    }

    private func pictures(
        of tasks: [LabelBody.Task], _ config: LabelConfig, _ request: HTTPRequest
    ) async throws(ServiceError) -> Pictures {
        let members = Set(config.controls.map(\.member)), body = request.body
        let files = LocalFiles(folder: settings.labelStudioFiles, maximum: settings.maxBody)
        return try await call.parts.work.run(
            for: call.claim, until: call.deadline(of: request), lowPriority: false
        ) { (isCancelled) throws(ServiceError) in
            var pictures: Pictures = [:]
            for member in members {
                pictures[member] = try tasks.map { (task) throws(ServiceError) in
                    if isCancelled() { throw ServiceError(InferenceError.cancelled(stage: .queue)) }
                    return Result { () throws(InferenceError) in
                        try LabelPicture(task.texts[member], member: member, in: body, files)
                    }
                }
            }
            return pictures
        }
    }

    /// Runs the model of a control tag. A taught model without examples has no results yet.
    private func answers(
        of control: LabelConfig.Control, _ pictures: [Result<LabelPicture, InferenceError>], _ request: HTTPRequest,
        by predict: Predict
    ) async throws(ServiceError) -> Answers {
        if let name = control.model, control.kind == .choices, models.isEmptyTaught(name) {
            return Answers(
                version: try models.version(of: name),
                results: pictures.map { _ in .failure(TaughtModels.empty(name)) })
        }
        let parts = AnswerParts(), items = pictures.compactMap { try? $0.get() }
        let prediction = try PredictionRunner<LabelTask>(call, LabelQuery(control: control)).prediction(
            of: items, by: control.model ?? "", into: parts)
        let response = try await predict(request, prediction)
        let content = parts.content
        var found = content.parts.makeIterator()
        let results = pictures.map { picture -> Result<LabelResults, ServiceError> in
            if case .failure(let error) = picture { return .failure(ServiceError(error)) }
            guard let part = found.next() else { return .failure(ServiceError(.internal, "the model gave no answer")) }
            return part.map { LabelResults(bytes: $0) ?? LabelResults() }
        }
        return Answers(
            version: LabelModels.text(content.model, content.version), results: results, response: response)
    }

    // MARK: The answer

    private func response(to tasks: Int, _ answers: [Answers]) -> HTTPResponse {
        let version = LabelModels.joined(answers.map(\.version))
        var writer = JSONWriter(capacity: 4096)
        writer.object { writer in
            writer.key("results")
            writer.array { writer in
                for task in 0..<tasks { write(answers.map { $0.results[task] }, version, to: &writer) }
            }
            writer.member("model_version", version)
        }
        let responses = answers.compactMap(\.response)
        var response = responses.first ?? LabelSetupHandler.json { _ in }
        response.body = writer.bytes
        if responses.count > 1 { response.note = Self.note(responses.compactMap { $0.note as? RequestNote }) }
        return response
    }

    /// Writes the results of all control tags for a task. One that failed says why, which Label Studio ignores.
    private func write(
        _ outcomes: [Result<LabelResults, ServiceError>], _ version: String, to writer: inout JSONWriter
    ) {
        var results = LabelResults(), failure: ServiceError?
        for outcome in outcomes {
            switch outcome {
            case .success(let found): results.add(found)
            case .failure(let error):
                call.parts.metrics.failed(error)
                failure = failure ?? error
            }
        }
        writer.object { writer in
            writer.key("result")
            writer.raw([UInt8(ascii: "[")] + results.text + [UInt8(ascii: "]")])
            writer.member("score", results.score)
            writer.member("model_version", version)
            guard let failure else { return }
            writer.member("error", failure.message)
            writer.member("code", failure.code.rawValue)
        }
    }

    /// One note of the predictions of several control tags, for the access log.
    private static func note(_ notes: [RequestNote]) -> RequestNote? {
        guard let first = notes.first else { return nil }
        var times = StageTimes(), encode: UInt64 = 0
        for note in notes {
            times.add(concurrent: note.times)
            encode &+= note.encode
        }
        let works = notes.compactMap(\.afterSend)
        var afterSend: (@Sendable () -> Void)?
        if !works.isEmpty { afterSend = { for work in works { work() } } }
        return RequestNote(
            model: first.model, times: times, recv: first.recv, encode: encode, device: first.device,
            isWhole: notes.allSatisfy { $0.isWhole }, afterSend: afterSend)
    }
}

import FlowControl
package import HTTPServer
import HTTPWire
import Inference
import JSON
import Repository
package import ServiceCore
import Settings
import Teaching
package import WireFormats

/// Answers `POST /v1/models/{name}/update`: creates a new version of an updatable Core ML model from examples.
package struct UpdateHandler: CallHandler {
    private let call: Call
    private let taught: TaughtModels
    private let query: UpdateQuery
    private var repository: ModelRepository { call.parts.repository }
    private var claim: Claim { call.claim }
    private var work: WorkQueue { call.parts.work }

    package init(_ call: Call) throws(ServiceError) {
        taught = try call.taughtModels()
        try call.refuseTaught()
        var query = UpdateQuery()
        try query.read(call.head.target, maxDeadline: call.live.settings.maxDeadline)
        do throws(InferenceError) {
            _ = try call.parts.repository.updateSource(of: call.path.name)
        } catch {
            throw ServiceError(error)
        }
        // Check now, before the client sends a body in vain.
        try call.parts.updates.check()
        self.call = call
        self.query = query
    }

    /// The maximum bytes of the features of all examples.
    private static let maximumFeatures = 256 << 20

    package func respond(to request: HTTPRequest) async throws(ServiceError) -> HTTPResponse {
        let settings = call.live.settings
        let room = taught.store.room(forVersions: settings.taughtKeepVersions)
        try call.parts.updates.enter()
        defer { call.parts.updates.leave() }
        let name = call.path.name, options = query.picture.options(of: request, deadline: settings.deadline)
        try request.head.refuseContentCodings()
        let content = request.body
        let body = try await work.read(content.count, for: claim, until: options.deadline) {
            (_) throws(ServiceError) in
            try Self.reading(content) { (text) throws(JSONError) in try UpdateBody(text) }
        }
        let source: ModelRepository.UpdateSource, updater: ModelUpdater, plan: ModelUpdater.Plan
        do throws(InferenceError) { source = try repository.updateSource(of: name) } catch { throw ServiceError(error) }
        do throws(UpdateError) {
            updater = try await repository.updater(for: source)
            plan = try updater.plan(body.choices)
        } catch {
            throw ServiceError(error)
        }
        let examples = try await examples(of: body, request, updater, options)
        let outcome: ModelUpdater.Outcome, version: String
        do throws(UpdateError) {
            outcome = try await updater.updated(with: examples, plan: plan, deadline: options.deadline)
            version = try await repository.serve(
                outcome, of: source, by: updater, room, deadline: options.deadline)
        } catch {
            throw ServiceError(error)
        }
        taught.log.info(
            "model \(name) version \(version) is version \(source.version) updated with \(examples.count) "
                + "example\(examples.count == 1 ? "" : "s")\(outcome.losses.isEmpty ? "" : " in \(outcome.losses.count) epochs")"
        )
        return Self.answer(name, version, outcome.losses)
    }

    /// The examples with their features. They are read one at a time: as values they need many times the memory of
    /// their text.
    private func examples(
        of body: UpdateBody, _ request: HTTPRequest, _ updater: ModelUpdater, _ options: PredictionOptions
    ) async throws(ServiceError) -> ModelUpdater.Examples {
        let reader = UpdateExampleReader(updater), content = request.body
        let ends = body.examples.dropFirst() + [content.count]
        var examples = ModelUpdater.Examples(maximumBytes: Self.maximumFeatures)
        for (index, (place, end)) in zip(body.examples, ends).enumerated() {
            do throws(ServiceError) {
                let example = try await work.read(end - place, for: claim, until: options.deadline) {
                    (_) throws(ServiceError) in
                    try Self.reading(content) { (text) throws(JSONError) in
                        var scanner = JSONScanner(text).moved(to: place)
                        return try reader.read(&scanner)
                    }
                }
                do throws(UpdateError) {
                    try await updater.add(example.inputs, example.goal, to: &examples, options: options)
                } catch {
                    throw ServiceError(error)
                }
            } catch {
                throw error.prefixed("example \(index + 1): ")
            }
        }
        return examples
    }

    private static func reading<R>(
        _ body: HTTPBody, _ read: (UnsafeRawBufferPointer) throws(JSONError) -> R
    ) throws(ServiceError) -> R {
        do throws(JSONError) { return try body.withUnsafeBytes(read) } catch { throw ServiceError(error) }
    }

    /// The answer: `{"model", "version", "epochs": [{"loss"}]}`.
    private static func answer(_ name: String, _ version: String, _ losses: [Double]) -> HTTPResponse {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("model", name)
            writer.member("version", version)
            writer.key("epochs")
            writer.array { writer in
                for loss in losses {
                    writer.object { writer in
                        writer.member("loss", loss)
                    }
                }
            }
        }
        return HTTPResponse(status: .created, fields: [("Content-Type", "application/json")], body: writer.bytes)
    }
}

/// The parameters of an update: those of its pictures, and `timeout_ms`.
package struct UpdateQuery: TaskQuery {
    package var picture = PictureQuery()

    package init() {}
    package var ownNames: [String] { [] }
    package func take(_ parameter: RequestParameter) throws(ServiceError) -> Bool {
        guard parameter.name != "explain" else {
            throw .badRequest("\(parameter.place) \"explain\": an update has nothing to explain; /predict has")
        }
        return false
    }
}

extension TaughtStore {
    /// The room for updates of models: the part of the folder's limit that taught models leave.
    func room(forVersions versions: Int) -> ModelRepository.UpdateBudget {
        ModelRepository.UpdateBudget(
            versions: versions,
            take: { [self] bytes in
                do throws(TeachingError) {
                    try take(bytes)
                    return nil
                } catch {
                    return .full(error.message)
                }
            },
            give: { [self] bytes in count(-bytes) })
    }
}

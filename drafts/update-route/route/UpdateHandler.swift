internal import FlowControl
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import JSON
internal import Settings
internal import Synchronization

/// Answers `POST /v1/models/{name}/update`: examples in, a new version of an updatable Core ML model out.
struct UpdateHandler: Sendable {
    let repository: ModelRepository
    let settings: Settings
    /// One update at a time: it computes for long, and holds its examples.
    let gate: UpdateGate

    /// The answer, and what the log says of it.
    func respond(_ name: String, _ request: HTTPRequest) async throws(ServiceError) -> (HTTPResponse, note: String) {
        try request.head.refuseContentCodings()
        guard gate.enter() else {
            throw ServiceError(.overloaded, "another update is under way: one is done at a time", retryAfter: 5)
        }
        defer { gate.leave() }
        var options = PredictionOptions()
        options.deadline = request.deadline(nil, settings: settings)
        do throws(UpdateError) {
            return try await update(name, request, options)
        } catch {
            throw ServiceError(error)
        }
    }

    private func update(
        _ name: String, _ request: HTTPRequest, _ options: PredictionOptions
    ) async throws(UpdateError) -> (HTTPResponse, note: String) {
        let body = try Self.reading(request.body) { (bytes) throws(JSONError) in try UpdateBody(bytes) }
        let source: ModelRepository.UpdateSource, deadline = options.deadline
        do throws(InferenceError) { source = try repository.updateSource(of: name) } catch { throw .inference(error) }
        let updater = try await repository.updater(for: source)
        let plan = try updater.plan(body.choices)
        let given = try Self.reading(request.body) { (bytes) throws(JSONError) in
            try body.examples(bytes, UpdateExampleReader(updater))
        }
        var examples = ModelUpdater.Examples()
        for (index, example) in given.enumerated() {
            do throws(UpdateError) {
                try await updater.add(example.inputs, example.goal, to: &examples, options: options)
            } catch {
                throw error.prefixed("example \(index + 1): ")
            }
        }
        let outcome = try await updater.updated(with: examples, plan: plan, deadline: deadline)
        if Task.isCancelled { throw .inference(.cancelled(stage: .postprocess)) }
        let version = try await repository.serve(outcome, of: source, by: updater, settings.updateLimits)
        let count = examples.count
        return (
            Self.answer(name, version, outcome.losses),
            "model \(name) version \(version) is an update of version \(source.version) with \(count) "
                + "example\(count == 1 ? "" : "s") and \(outcome.losses.count) epochs"
        )
    }

    private static func reading<R>(
        _ body: HTTPBody, _ read: (UnsafeRawBufferPointer) throws(JSONError) -> R
    ) throws(UpdateError) -> R {
        do throws(JSONError) {
            return try body.withUnsafeBytes(read)
        } catch {
            switch error.kind {
            case .syntax: throw .malformed(error.message)
            case .value: throw .invalid(error.message)
            case .cancelled: throw .inference(.cancelled(stage: .decode))
            }
        }
    }

    /// `{"model", "version", "epochs": [{"loss"}]}`
    private static func answer(_ name: String, _ version: String, _ losses: [Double]) -> HTTPResponse {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("model", name)
            writer.member("version", version)
            writer.key("epochs")
            writer.array { writer in
                for loss in losses {
                    writer.object { writer in
                        writer.key("loss")
                        writer.number(loss)
                    }
                }
            }
        }
        return HTTPResponse(
            status: .created, fields: [("Content-Type", "application/json")], body: writer.bytes)
    }
}

/// Lets one update through.
final class UpdateGate: Sendable {
    private let isTaken = Atomic(false)

    /// False if another update is under way.
    func enter() -> Bool { !isTaken.exchange(true, ordering: .acquiring) }
    func leave() { isTaken.store(false, ordering: .releasing) }
}

extension UpdateBody {
    /// The examples, which `init` has passed over.
    func examples(
        _ text: UnsafeRawBufferPointer, _ reader: UpdateExampleReader
    ) throws(JSONError) -> [UpdateExampleReader.Example] {
        var result: [UpdateExampleReader.Example] = []
        var scanner = JSONScanner(text).moved(to: examples ?? 0)
        try scanner.array { (index, scanner) throws(JSONError) in
            guard index < Self.mostExamples else {
                throw .value("\"examples\" has more than \(Self.mostExamples) elements")
            }
            do throws(JSONError) {
                result.append(try reader.read(&scanner))
            } catch {
                throw error.prefixed("example \(index + 1): ")
            }
        }
        guard !result.isEmpty else { throw .value("\"examples\" is empty") }
        return result
    }
}

extension Settings {
    /// What updates may keep.
    var updateLimits: ModelRepository.UpdateLimits { .init(versions: 10, bytes: 1 << 30) }
}

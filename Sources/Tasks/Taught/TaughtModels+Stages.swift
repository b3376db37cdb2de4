internal import HTTPWire
internal import Inference
internal import SystemSupport
internal import Teaching
internal import WireFormats

/// The taught models that answer the stages of one request to a pipeline, and the key of their states.
struct BoundStages: Sendable {
    var parts = TaughtStages()
    /// Numbers that differ if the taught models answer otherwise: for each the number of its view and of its embedder,
    /// in the order of their names; 0 for one that does not exist.
    var key: [UInt64] = []
}

/// Taught models as stages of pipelines. Each request takes one view of each, before it runs.
extension TaughtModels {
    /// The version of a taught model that serves; nil if it has no version or does not exist.
    func servingVersion(of name: String) -> String? {
        model(name).flatMap { $0.view.state.served.map { String($0.number) } }
    }

    /// The taught models of a pipeline's stages; nil if ``stages(of:deadline:)`` would wait, or find one that cannot
    /// answer for a reason that may pass.
    func readyStages(of pipeline: Pipeline) -> BoundStages? {
        var bound = BoundStages()
        for name in pipeline.taughtNames.sorted() {
            if let run = readyRun(name) {
                bound.parts[name] = .ready(embedder: run.embedder, head: run.head, state: run.state)
                bound.key += [run.generation, run.embedder.number]
            } else if owns(name) {
                return nil
            } else {
                bound.parts[name] = .absent(Self.absence(of: name))
                bound.key += [0, 0]
            }
        }
        return bound
    }

    /// The taught models of a pipeline's stages; waits for their embedders. One that cannot answer is an error in its
    /// stage's place.
    /// - Throws: if the deadline passes, or the client disconnects.
    func stages(of pipeline: Pipeline, deadline: MonotonicInstant?) async throws(ServiceError) -> TaughtStages {
        var parts = TaughtStages()
        for name in pipeline.taughtNames.sorted() {
            guard owns(name) else {
                parts[name] = .absent(Self.absence(of: name))
                continue
            }
            if let model = model(name), model.view.head == nil {
                parts[name] = .absent(TaughtAbsence(.empty, Self.empty(name).message))
                continue
            }
            do throws(ServiceError) {
                let run = try await run(name, version: nil, deadline: deadline)
                parts[name] = .ready(embedder: run.embedder, head: run.head, state: run.state)
            } catch {
                switch error.code {
                case .deadlineExceeded, .shuttingDown: throw error
                // It was deleted meanwhile.
                case .modelNotFound: parts[name] = .absent(Self.absence(of: name))
                default: parts[name] = .absent(TaughtAbsence(.notReady, error.message))
                }
            }
        }
        return parts
    }

    private static func absence(of name: String) -> TaughtAbsence {
        TaughtAbsence(
            .notFound,
            "there is no model and no taught model \"\(name)\": PUT /v1/taught/\(name) creates it, and POST "
                + "/v1/taught/\(name)/examples?label= teaches it")
    }
}

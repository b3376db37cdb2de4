internal import Inference
internal import JSON
internal import Repository
internal import Teaching

/// Taught models in the list of models.
extension ModelsHandler {
    func write(_ taught: TaughtModels, _ name: String, to writer: inout JSONWriter) {
        let problem = taught.store.problems[name].map { "its files cannot be read: \($0)" }
        guard let model = taught.model(name) else {
            return writer.object { writer in
                writer.member("name", name)
                writer.member("state", ModelState.failed(reason: "").name)
                writer.member("reason", problem ?? "it was deleted")
                writer.key("versions")
                writer.array { _ in }
            }
        }
        let view = model.view
        let embedder = taught.readyEmbedder(view.state.embedder)
        let condition = taught.knownCondition(of: model)
        let (state, reason) = Self.state(of: model, condition, isReady: embedder != nil, taught)
        let hidden = taught.repository.hiddenModel(named: name).map {
            "\($0) is not served: a taught model has its name"
        }
        writer.object { writer in
            writer.member("name", name)
            writer.member("version", view.state.serving == 0 ? "" : String(view.state.serving))
            writer.member("state", state.name)
            let reasons = [reason, hidden].compactMap { $0 }.joined(separator: "; ")
            if !reasons.isEmpty { writer.member("reason", reasons) }
            writer.key("versions")
            writer.array { writer in
                for version in view.state.versions {
                    writer.object { writer in
                        writer.member("version", String(version.number))
                        writer.member("state", state.name)
                    }
                }
            }
            writer.key("metadata")
            writer.object { writer in
                writer.member("name", name)
                writer.member("description", "taught with the embedder \(view.state.embedder.model)")
                writer.member("backend", "taught")
            }
            writer.key("inputs")
            writer.array { writer in
                for input in embedder?.description.inputs ?? [] { write(input, to: &writer) }
            }
            writer.key("outputs")
            writer.array { _ in }
            writer.member("labels", view.head?.labels.count ?? 0)
            writeDrift(name, to: &writer)
            writer.key("taught")
            writer.object { writer in
                writer.member("embedder", view.state.embedder.model)
                writer.key("state")
                if let name = condition.name { writer.string(name) } else { writer.null() }
                writer.member("examples", view.state.examples.count)
            }
        }
    }

    /// The state in the words of other models: a taught model is ready if its embedder is.
    private static func state(
        of model: TaughtModel, _ condition: TaughtCondition, isReady: Bool, _ taught: TaughtModels
    ) -> (state: ModelState, reason: String?) {
        let name = model.view.state.embedder.model
        switch condition {
        case .empty: return (.unloaded, "it has no examples yet")
        case .stale(let reason): return (isReady ? .ready : .failed(reason: reason), reason)
        case .ready, .unknown:
            if isReady { return (.ready, nil) }
            let records = (try? taught.repository.records(of: name)) ?? []
            guard !records.contains(where: { $0.model != nil }) else {
                return (.loading, "its embedder \(name) is compared with the one that it is taught with")
            }
            let state = records.last?.state ?? .unloaded
            return (state, "its embedder \(name) is \(state.name)")
        }
    }
}

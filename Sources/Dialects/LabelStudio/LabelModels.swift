internal import Inference
internal import Repository
internal import ServiceCore
internal import Settings
internal import Tasks
internal import Teaching
internal import WireFormats

/// The models of a label config, with their versions as Label Studio names them: `NAME VERSION`.
struct LabelModels: Sendable {
    let call: Call

    /// The name of the model for a control tag. Throws 404 if it names none and there is no default one.
    func name(for control: LabelConfig.Control) throws(ServiceError) -> String {
        if let name = control.model { return name }
        return try control.kind.unnamed.name(
            in: call.parts.repository, configured: call.live.settings.defaultModel)
    }

    /// The model's version. Throws 404 if there is no such model.
    func version(of name: String) throws(ServiceError) -> String {
        if let taught = call.parts.taught, taught.owns(name) {
            return Self.text(name, String(try taught.find(name).view.state.serving))
        }
        do throws(InferenceError) {
            if let model = try call.parts.repository.readyModel(named: name) {
                return Self.text(name, model.description.version)
            }
            return Self.text(name, try call.parts.repository.records(of: name).last?.version ?? "")
        } catch {
            throw ServiceError(error)
        }
    }

    /// True for the name of a taught model without examples.
    func isEmptyTaught(_ name: String) -> Bool {
        guard let taught = call.parts.taught, taught.owns(name), let model = try? taught.find(name) else {
            return false
        }
        return model.view.head == nil
    }

    /// The versions of the models of all control tags, each once. A tag that names no model is left out if there is no
    /// default one for it, unless no other tag has a model.
    func versions(of config: LabelConfig) throws(ServiceError) -> String {
        var versions: [String] = [], absence: ServiceError?
        for control in config.controls {
            do throws(ServiceError) {
                versions.append(try version(of: try name(for: control)))
            } catch {
                guard control.model == nil, error.code == .modelNotFound else { throw error }
                absence = error
            }
        }
        if versions.isEmpty, let absence { throw absence }
        return Self.joined(versions)
    }

    /// The versions of all models, sorted.
    var all: [String] {
        let names = call.parts.repository.names + (call.parts.taught?.names ?? [])
        return Set(names).sorted().compactMap { try? version(of: $0) }
    }

    static func text(_ name: String, _ version: String) -> String { version.isEmpty ? name : "\(name) \(version)" }

    /// Several versions as one, each once.
    static func joined(_ versions: [String]) -> String {
        var seen: Set<String> = []
        return versions.filter { seen.insert($0).inserted }.joined(separator: ", ")
    }
}

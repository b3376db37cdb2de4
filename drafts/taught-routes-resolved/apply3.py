import sys,os,shutil
root=sys.argv[1]
def sub(path, old, new, count=1):
    p=root+'/'+path; s=open(p).read()
    assert old in s, (path, old)
    s=s.replace(old,new,count); open(p,'w').write(s)
IS='Sources/InferenceService/'
M=IS+'Metrics/ServiceMetrics.swift'
sub(M,'        case lastReloadSucceeded, draining\n','        case lastReloadSucceeded, draining\n        case taughtChanges, taughtExamples, taughtEvaluations\n')
P=IS+'Metrics/MetricsPage.swift'
sub(P,'    let records: [ModelRecord]\n','    let records: [ModelRecord]\n    /// Nil where teaching is turned off.\n    let taught: TaughtUsage?\n')
sub(P,'        writeFlow(to: &text)\n','        writeTaught(to: &text)\n        writeFlow(to: &text)\n')
sub(P,'    // MARK: Flow control\n','''    // MARK: Taught models

    private func writeTaught(to text: inout MetricsText) {
        let taught = taught ?? TaughtUsage()
        text.single("ocelli_taught_models", .gauge, "Taught models.", taught.models)
        text.single("ocelli_taught_examples", .gauge, "Examples of all taught models.", taught.examples)
        text.single("ocelli_taught_bytes", .gauge, "Size of the files of all taught models.", taught.bytes)
        text.single(
            "ocelli_taught_stale", .gauge, "Taught models whose embedder is another one now, or is not served.",
            taught.stale)
        text.single(
            "ocelli_taught_changes_total", .counter,
            "Changes of taught models: created, taught, forgotten, chosen, rebuilt, deleted.", metrics[.taughtChanges])
        text.single(
            "ocelli_taught_new_examples_total", .counter, "Examples that were new to their taught model.",
            metrics[.taughtExamples])
        text.single(
            "ocelli_taught_evaluations_total", .counter, "Evaluations of taught models that ended.",
            metrics[.taughtEvaluations])
    }

    // MARK: Flow control
''')
open(root+'/'+IS+'Metrics/TaughtUsage.swift','w').write('''/// The taught models at one moment, for metrics.
struct TaughtUsage: Sendable {
    var models = 0
    var examples = 0
    /// Those whose embedder is another one now, or is not served.
    var stale = 0
    /// Of all files.
    var bytes = 0
}
''')
p=root+'/'+IS+'Taught/TaughtModels+Serving.swift'; s=open(p).read()
a=s.index('    /// The state of all, for metrics.'); b=s.index('    var usage: Usage {')
s=s[:a]+'    /// All of them, for metrics.\n'+s[b:].replace('var usage: Usage {','var usage: TaughtUsage {').replace('var usage = Usage()','var usage = TaughtUsage()')
open(p,'w').write(s)
# Models handler
H=IS+'Handlers/ModelsHandler.swift'
sub(H,'''    let repository: ModelRepository
''','''    let repository: ModelRepository
    /// Nil where teaching is turned off.
    let taught: TaughtModels?
''')
sub(H,'''            writer.array { writer in
                for name in records.keys.sorted() { write(records[name] ?? [], to: &writer) }
            }''','''            writer.array { writer in
                for name in (records.keys + (taught?.names ?? [])).sorted() {
                    if let taught, taught.owns(name) {
                        write(taught, name, to: &writer)
                    } else {
                        write(records[name] ?? [], to: &writer)
                    }
                }
            }''')
sub(H,'''        let records: [ModelRecord]
        do throws''','''        var writer = JSONWriter(capacity: 4096)
        if let taught, taught.owns(name) {
            if let version, let model = taught.model(name) { try taught.checkVersion(version, of: model) }
            write(taught, name, to: &writer)
            return HTTPResponse(status: .ok, fields: [("Content-Type", "application/json")], body: writer.bytes)
        }
        let records: [ModelRecord]
        do throws''')
sub(H,'''            throw ServiceError(error)
        }
        var writer = JSONWriter(capacity: 4096)
''','''            throw ServiceError(error)
        }
''')
sub(H,'    private func write(_ feature: FeatureDescription','    func write(_ feature: FeatureDescription')
open(root+'/'+IS+'Handlers/ModelsHandler+Taught.swift','w').write('''internal import Inference
internal import JSON
internal import Teaching

/// Taught models among the others.
extension ModelsHandler {
    func write(_ taught: TaughtModels, _ name: String, to writer: inout JSONWriter) {
        let problem = taught.store.problems[name].map { "its files cannot be read: \\($0)" }
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
        let (state, reason) = Self.state(of: model, isReady: embedder != nil, taught)
        let hidden = taught.repository.hiddenModel(named: name).map {
            "\\($0) is not served: a taught model has its name"
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
                writer.member("description", "taught with the embedder \\(view.state.embedder.model)")
                writer.member("backend", "taught")
            }
            writer.key("inputs")
            writer.array { writer in
                for input in embedder?.description.inputs ?? [] { write(input, to: &writer) }
            }
            writer.key("outputs")
            writer.array { _ in }
            writer.member("labels", view.head?.labels.count ?? 0)
            writer.key("taught")
            writer.object { writer in
                writer.member("embedder", view.state.embedder.model)
                writer.member("state", taught.knownCondition(of: model).name)
                writer.member("examples", view.state.examples.count)
            }
        }
    }

    /// In the words of other models' states: it answers if there is something to answer with.
    private static func state(
        of model: TaughtModel, isReady: Bool, _ taught: TaughtModels
    ) -> (state: ModelState, reason: String?) {
        switch taught.knownCondition(of: model) {
        case .empty: return (.unloaded, "it has no examples yet")
        case .stale(let reason): return (isReady ? .ready : .failed(reason: reason), reason)
        case .ready:
            let name = model.view.state.embedder.model
            if isReady { return (.ready, nil) }
            let records = (try? taught.repository.records(of: name)) ?? []
            let state = records.last { $0.model != nil }?.state ?? records.last?.state ?? .unloaded
            return (state, state == .ready ? nil : "its embedder \\(name) is \\(state.name)")
        }
    }
}
''')
sub(IS+'Taught/TaughtRun.swift','''    private static func missing(''','''    /// 404 for a version of a path that is not kept.
    func checkVersion(_ version: String, of model: TaughtModel) throws(ServiceError) {
        _ = try number(of: version, in: model.view, model.name)
    }

    private static func missing(''')
sub(IS+'Taught/TaughtModels.swift','''    /// The taught model of a name.
    func find''','''    /// The names of all, of those too whose files cannot be read.
    package var names: [String] { store.all.map(\\.name) + store.problems.keys }

    /// The taught model of a name.
    func find''')
# Daemon
D=IS+'Lifecycle/Daemon.swift'
sub(D,'''        let found = attempt { try repository(of: plan, compiledModels: compiledModels, metrics: metrics, log: log) }
''','''        let store = attempt { try plan.taughtStore() }
        let relay = TaughtRelay()
        let found = attempt {
            try repository(
                of: plan, reserving: store.flatMap { $0 }, relay, compiledModels: compiledModels, metrics: metrics, log: log)
        }
''')
sub(D,'''guard let repository = found, let access,''','''guard let repository = found, let store, let access,''')
sub(D,'''        let service = Service(
            repository: repository, settings: live,''','''        let taught = store.map { TaughtModels(store: $0, repository: repository, metrics: metrics, log: log) }
        taught?.use(settings)
        relay.attach(taught)
        let service = Service(
            repository: repository, taught: taught, settings: live,''')
sub(D,'''        LeftOut.log(repository, to: log)
        let reloader''','''        LeftOut.log(repository, to: log)
        taught?.begin()
        let reloader''')
sub(D,'''        of plan: ServicePlan, compiledModels: CompiledModelsLimit, metrics: ServiceMetrics, log: Log
    ) throws -> ModelRepository {''','''        of plan: ServicePlan, reserving store: TaughtStore?, _ relay: TaughtRelay, compiledModels: CompiledModelsLimit,
        metrics: ServiceMetrics, log: Log
    ) throws -> ModelRepository {''')
sub(D,'''            compiledModels.keep(after: event)
        }
''','''            compiledModels.keep(after: event)
            if case .loaded(let name, _, _) = event { relay.loaded(name) }
        }
        if let store { repository.reserve(store.all.map(\\.name) + store.problems.keys) }
''')
sub(D,'internal import SystemSupport\n','internal import SystemSupport\ninternal import Teaching\n')
open(root+'/'+IS+'Lifecycle/TaughtFolder.swift','w').write('''internal import FoundationEssentials
internal import Glibc
internal import Settings
internal import Synchronization
internal import Teaching

extension ServicePlan {
    /// The taught models' files; nil where teaching is turned off. Reads them: blocks.
    func taughtStore() throws(StartupError) -> TaughtStore? {
        guard !settings.taughtDirectory.isEmpty else { return nil }
        let folder = settings.taughtDirectory
        do throws(TeachingError) {
            let store = try TaughtStore(folder: folder, limits: TeachingLimits(settings))
            let own = Self.real(folder)
            for other in folders where Self.isInside(own, Self.real(other)) || Self.isInside(Self.real(other), own) {
                throw .invalid("\\(folder) and the model folder \\(other) must not lie in each other")
            }
            return store
        } catch {
            throw StartupError("\\(error.message) (taught_dir)", isConfiguration: true)
        }
    }

    private static func isInside(_ path: String, _ folder: String) -> Bool {
        path == folder || path.hasPrefix(folder.hasSuffix("/") ? folder : folder + "/")
    }

    /// The path without links.
    private static func real(_ path: String) -> String {
        guard let found = realpath(path, nil) else { return path }
        defer { free(found) }
        return String(cString: found)
    }
}

/// Tells taught models which models are loaded: the repository is there before they are.
final class TaughtRelay: Sendable {
    private struct Held: Sendable {
        weak var taught: TaughtModels?
    }

    private let held = Mutex(Held())

    func attach(_ taught: TaughtModels?) { held.withLock { $0.taught = taught } }
    func loaded(_ name: String) { held.withLock { $0.taught }?.loaded(name) }
}
''')
# default model log
L=IS+'Lifecycle/Lifecycle.swift'
sub(L,'DefaultModelLog.warn(plan.settings, repository.names, log)','DefaultModelLog.warn(plan.settings, repository.names + service.taughtNames, log)')
sub(IS+'Lifecycle/Reloader.swift','DefaultModelLog.warn(settings, repository.names, log)','DefaultModelLog.warn(settings, repository.names + service.taughtNames, log)')
sub(IS+'Service/Service.swift','''    /// Sets the server whose''','''    /// The names of the taught models.
    package var taughtNames: [String] { taught?.names ?? [] }

    /// Sets the server whose''')
# ARCHITECTURE
A='ARCHITECTURE.md'
sub(A,'HTTPServer, ImagePipeline, FlowControl, Inference, Observations, Settings |\n| `LoadGenerator`','HTTPServer, ImagePipeline, FlowControl, Inference, Observations, Settings, Teaching |\n| `LoadGenerator`')
sub(A,'''| `Handlers` | the runner of tasks''','''| `Taught` | the taught models of the daemon: their embedders, changes, evaluations | Errors, Metrics, Logging |
| `Handlers` | the runner of tasks''')
sub(A,'''classify, models | Errors, Wire, Routes, Metrics |''','''classify, models | Errors, Wire, Routes, Metrics, Taught |''')
sub(A,'''| `OpenInference` | `/v2` | Errors, Wire, Metrics, Handlers |
''','''| `Teach` | the routes of taught models | Errors, Routes, Metrics, Taught, Handlers |
| `OpenInference` | `/v2` | Errors, Wire, Metrics, Handlers |
''')
sub(A,'OpenAPI, Handlers, Predict, Observe, OpenInference |','OpenAPI, Taught, Handlers, Predict, Observe, Teach, OpenInference |')
sub(A,'| `Lifecycle` | start, signals, reload, drain | Errors, Routes, Access, Metrics, Logging, Service, Trial |','| `Lifecycle` | start, signals, reload, drain | Errors, Routes, Access, Metrics, Logging, Taught, Service, Trial |')
sub(A,'''| methods, evaluation and journal of taught models |''','''| who may teach, and what each route of taught models does | `InferenceService/Teach`, `InferenceService/Access/TeachingControl.swift`; which model makes the embeddings, changes one at a time, evaluations and rebuilds in the background: `InferenceService/Taught`; how a taught model answers: `InferenceService/Taught/TaughtRun.swift` |
| methods, evaluation and journal of taught models |''')

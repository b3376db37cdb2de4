internal import Dialects
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import Keeping
internal import Repository
internal import ServiceCore
internal import ServicePlanning
internal import Settings
internal import SystemSupport
internal import Tasks
internal import Teaching

/// The folders, files and addresses that the settings name, read and checked.
struct ConfiguredParts {
    let compiledModels: CompiledModelsLimit
    let relay: TaughtRelay
    let repository: ModelRepository
    /// The taught models' store; nil without a folder for them.
    let store: TaughtStore?
    /// The kept pictures' store; nil without a folder for them.
    let kept: KeptStore?
    let access: AccessControl
    let listening: ListenPlan
    let proxies: TrustedProxies
    let vertex: VertexRoutes

    /// Reads the files and scans the folders: blocks.
    /// - Throws: one error with all problems, so that an operator need not start again for each.
    init(
        _ plan: ServicePlan, environment: [String: String], metrics: ServiceMetrics, log: Log
    ) throws(CommandError) {
        let settings = plan.settings
        guard !plan.folders.isEmpty || !settings.model.isEmpty else {
            throw CommandError("no models: set --models DIR (the models that come with Ocelli are missing)")
        }
        let compiledModels = CompiledModelsLimit(plan, log: log), relay = TaughtRelay()
        var problems: [String] = []
        var areSettingsWrong = false
        func attempt<Value>(_ work: () throws -> Value) -> Value? {
            do { return try work() } catch {
                problems.append("\(error)")
                if let error = error as? CommandError, error.isConfiguration { areSettingsWrong = true }
                return nil
            }
        }
        let store = attempt { try plan.taughtStore() }
        let kept = attempt { try plan.keptStore(KeepingReport(metrics: metrics, log: log)) }
        let repository = attempt {
            try Self.repository(
                of: plan, reserving: store.flatMap { $0 }, relay, compiledModels: compiledModels, metrics: metrics,
                log: log)
        }
        let access = attempt { try AccessControl.configured(by: settings) { log.warning($0) } }
        let listening = attempt { try ListenPlan(settings.listen, passed: .current) }
        let proxies = attempt { try TrustedProxies.configured(by: settings) }
        let vertex = attempt { try VertexRoutes(settings, environment: environment) }
        guard let repository, let store, let kept, let access, let listening, let proxies, let vertex else {
            throw CommandError(problems.joined(separator: "\nocelli: "), isConfiguration: areSettingsWrong)
        }
        self.compiledModels = compiledModels
        self.relay = relay
        self.repository = repository
        self.store = store
        self.kept = kept
        self.access = access
        self.listening = listening
        self.proxies = proxies
        self.vertex = vertex
    }

    /// The repository of the models in the folders.
    private static func repository(
        of plan: ServicePlan, reserving store: TaughtStore?, _ relay: TaughtRelay, compiledModels: CompiledModelsLimit,
        metrics: ServiceMetrics, log: Log
    ) throws -> ModelRepository {
        try plan.settings.checkModels()
        let repository = ModelRepository(
            folders: plan.folders, named: plan.named, configuration: plan.servingConfiguration,
            defaultPolicy: plan.settings.load, loadsAtOnce: plan.settings.maxLoads, stateFolder: plan.stateFolder
        ) { event in
            metrics.count(event)
            ModelEvents.log(event, to: log)
            compiledModels.keep(after: event)
            if case .loaded(let name, _, _) = event { relay.loaded(name) }
        }
        if let store {
            repository.reserve(store.all.map(\.name) + store.problems.keys)
            repository.allowTaughtStages()
            store.count(repository.keepUpdates(in: ModelRepository.updatesFolder(in: plan.settings.taughtDirectory)))
        }
        do throws(RepositoryError) {
            try repository.discover()
        } catch {
            throw CommandError(error.message)
        }
        guard repository.names.isEmpty else { return repository }
        let sentence =
            "no models in \(plan.places): each entry should be a folder with model.json, a folder of "
            + "numbered versions, a model file (\(ModelBundle.fileExtensions.joined(separator: ", "))), an .mlpackage or a "
            + "SavedModel (`ocelli pull ORG/NAME` brings one)\(IgnoredEntries.sentence(repository).map { "; " + $0 } ?? "")"
        // A watched folder may be filled later, as that of a new service.
        guard plan.repositoryPoll > 0 else { throw CommandError(sentence) }
        log.warning("\(sentence). Models that are put there are loaded (repository_poll)")
        return repository
    }
}

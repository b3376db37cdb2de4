internal import Dialects
internal import FlowControl
internal import FoundationEssentials
internal import HTTPServer
internal import HTTPWire
internal import Inference
internal import Repository
internal import ServiceCore
internal import ServicePlanning
package import Settings
internal import SystemSupport
internal import Tasks
internal import Teaching

/// Assembles the parts of the daemon and runs it.
package enum Daemon {
    /// Blocks the signals that control the daemon. Call it on the main thread, before any other thread exists.
    ///
    /// The main thread must not end in `dispatch_main()`, as it does with an asynchronous `main`: on Linux that is a
    /// sigsuspend(2) with an empty mask, which would receive the signals.
    package static func blockSignals() { SignalReader.block() }

    /// Serves until a signal ends it; see ``blockSignals()``.
    /// - Parameters:
    ///   - warnings: messages to log first.
    ///   - reload: reads the settings as for a start of the daemon; called on SIGHUP.
    /// - Returns: the process's exit status: 0 if every accepted request was answered.
    package static func run(
        _ settings: Settings, warnings: [String] = [], reload: @escaping @Sendable () throws -> Settings
    ) async throws -> Int32 {
        let log = try Log(level: settings.logLevel, format: settings.logFormat)
        for warning in warnings { log.warning(warning) }
        let signals = SignalRelay(log: log)
        try signals.start()
        let ending: Ending
        do {
            ending = try await serve(settings, reload: reload, signals: signals, log: log)
        } catch {
            await log.flush(within: flushTime)
            throw error
        }
        await log.flush(within: flushTime)
        // Engine threads may still use objects that exit(3) destroys, so end with _exit.
        if ending.isLoading || Model.isCompilingForSingleStream { Process.exit(ending.status) }
        return ending.status
    }

    /// The time limit for writing the last log lines: the log may have no reader.
    static let flushTime = Duration.seconds(1)

    /// The exit status of the daemon, with the state of its loads.
    struct Ending: Sendable {
        let status: Int32
        /// True if models are still being loaded.
        let isLoading: Bool
    }

    // Long: the start in its order; what is made first is used by all that follows.
    private static func serve(
        _ settings: Settings, reload: @escaping @Sendable () throws -> Settings, signals: SignalRelay, log: Log
    ) async throws -> Ending {
        let start = MonotonicInstant.now
        let environment = ProcessInfo.processInfo.environment
        let plan = ServicePlan(settings: settings, environment: environment)
        guard !plan.folders.isEmpty || !settings.model.isEmpty else {
            throw CommandError(
                "no models: set --models DIR (the models that come with Ocelli are missing)"
            )
        }
        let metrics = ServiceMetrics()
        let compiledModels = CompiledModelsLimit(plan, log: log)
        // Report all problems at once, not one for each start.
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
        let relay = TaughtRelay()
        let found = attempt {
            try repository(
                of: plan, reserving: store.flatMap { $0 }, relay, compiledModels: compiledModels, metrics: metrics,
                log: log)
        }
        let access = attempt { try AccessControl.configured(by: settings, log: log) }
        let listen = attempt { try ListenPlan(settings.listen, passed: .current) }
        let trusted = attempt { try TrustedProxies.configured(by: settings) }
        let vertex = attempt { try VertexRoutes(settings, environment: environment) }
        guard let repository = found, let store, let access, let listening = listen, let proxies = trusted, let vertex
        else {
            throw CommandError(problems.joined(separator: "\nocelli: "), isConfiguration: areSettingsWrong)
        }
        let live = LiveSettings(settings: settings, access: access)
        let taught = store.map { TaughtModels(store: $0, repository: repository, metrics: metrics, log: log) }
        taught?.use(settings)
        relay.attach(taught)
        let service = Service(
            repository: repository, taught: taught, settings: live,
            listenerRoutes: ListenerRoutes(classes: listening.routes), vertex: vertex, metrics: metrics, log: log)
        let accessLog = AccessLog(log, isEnabled: settings.accessLog)
        if !listening.replaced.isEmpty {
            log.notice(
                "listening on the sockets passed by the service manager, instead of "
                    + "\(listening.replaced.joined(separator: ", ")); add \"systemd\" to `listen` to use both")
        }
        let configuration = plan.serverConfiguration(listening, trustedProxies: proxies)
        // Each event loop has an epoll, a mailbox, a reserve, and a socket for each address.
        try OpenFilesLimit.check(sockets: configuration.eventLoops * (3 + configuration.listeners.count))
        let server = HTTPServer(
            configuration: configuration, responder: service,
            observer: ExchangeObserver(metrics: metrics, accessLog: accessLog))
        if proxies.isEmpty, let version = listening.listeners.lazy.compactMap(\.proxyHeader).first {
            log.warning(
                "listen: proxy=\(version.rawValue) without trusted_proxies: the log has the proxy's address for every client"
            )
        }
        service.watch(server)
        let addresses: [String]
        await openTimers()
        // Requests accepted from here on are answered before the end.
        signals.hold()
        do throws(HTTPServerError) {
            addresses = try server.start()
        } catch {
            throw StartupAdvice.error(error)
        }
        let eager = repository.records.count { $0.policy == .eager }
        StartupSummary(plan: plan, addresses: addresses, eagerModels: eager).log(to: log)
        if settings.listensByVertex {
            log.notice("listen is not set: AIP_HTTP_PORT stands for it, on all addresses (dialects has vertex)")
        }
        if settings.dialects.contains(.vertex) {
            log.info(
                "Vertex AI's routes: health \(vertex.health ?? "none"), predictions \(vertex.predict ?? "none")")
        }
        if let warning = GracePeriod.warning(settings, environment: environment) { log.warning(warning) }
        LeftOut.log(repository, to: log)
        taught?.begin()
        let reloader = Reloader(
            source: reload, environment: environment, repository: repository, service: service,
            limits: LimitsWatch(plan, server: server, log: log), accessLog: accessLog, compiledModels: compiledModels,
            metrics: metrics, log: log)
        let lifecycle = Lifecycle(
            plan: plan, addresses: addresses, start: start, server: server, service: service, repository: repository,
            reloader: reloader, manager: ServiceManager(environment: environment), signals: signals, metrics: metrics,
            log: log)
        return try await lifecycle.run()
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
            store.count(repository.keepUpdates(in: ModelRepository.updatesFolder(in: plan.settings.taughtDirectory)))
        }
        do throws(RepositoryError) {
            try repository.discover()
        } catch {
            throw CommandError(error.message)
        }
        guard !repository.names.isEmpty else {
            throw CommandError(
                "no models in \(plan.places): each entry should be a folder with model.json, a folder of "
                    + "numbered versions, a model file (\(ModelBundle.fileExtensions.joined(separator: ", "))), an .mlpackage or a "
                    + "SavedModel\(LeftOut.sentence(repository).map { "; " + $0 } ?? "")")
        }
        return repository
    }
}

extension Settings {
    /// The models that `/readyz` waits for. Invalid values are refused at start.
    var readyCondition: ReadyCondition { ReadyCondition(readyWhen) ?? .all }
}

extension AccessControl {
    /// The access control for some settings. Reads the tokens file: blocks.
    static func configured(by settings: Settings, log: Log) throws(CommandError) -> AccessControl {
        guard !settings.tokensFile.isEmpty else { return .open }
        let file = TokenFile(path: settings.tokensFile)
        guard file.problems.isEmpty else {
            throw CommandError(file.problems.joined(separator: "; "), isConfiguration: true)
        }
        for warning in file.warnings { log.warning(warning) }
        return AccessControl(file)
    }
}

extension ServiceManager {
    /// Does long work, and extends the service manager's timeout until it is done.
    func patiently<Value: Sendable>(_ what: String, _ work: @escaping @Sendable () async -> Value) async -> Value {
        status(what)
        let keeper = Task {
            while !Task.isCancelled {
                extendTimeout(by: .seconds(30))
                try? await Task.sleep(for: .seconds(10))
            }
        }
        defer { keeper.cancel() }
        return await work()
    }
}

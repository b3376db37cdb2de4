internal import FlowControl
internal import FoundationEssentials
internal import HTTPServer
internal import Inference

/// The daemon's life: start, serve, reload, drain, end.
package enum Daemon {
    /// Serves until a signal ends it.
    /// - Parameter reload: the settings as they would be if the daemon were started now: asked for on SIGHUP.
    /// - Returns: the process's exit status: 0 when everything that was accepted has been answered.
    package static func run(
        _ settings: Settings, reload: @escaping @Sendable () throws -> Settings
    ) async throws -> Int32 {
        let start = MonotonicInstant.now
        let environment = ProcessInfo.processInfo.environment
        let log = Log(level: settings.level, format: settings.format)
        let manager = ServiceManager(environment: environment)
        let signals = SignalReader([.terminate, .interrupt, .hangUp])
        let plan = ServicePlan(settings: settings, environment: environment)
        guard !plan.folders.isEmpty else {
            throw StartupError(
                "no models: give a folder with --models DIR (the models that come with Ocelli are not beside this binary)"
            )
        }
        let metrics = ServiceMetrics()
        let repository = try repository(of: plan, metrics: metrics, log: log)
        let live = LiveSettings(settings: settings, access: try AccessControl.configured(by: settings, log: log))
        let service = Service(repository: repository, settings: live, metrics: metrics, log: log)
        let accessLog = AccessLog(log, isEnabled: settings.accessLog)
        let server = HTTPServer(
            configuration: try plan.serverConfiguration(), responder: service,
            observer: ExchangeObserver(metrics: metrics, accessLog: accessLog))
        service.watch(server)
        let addresses: [String]
        do throws(HTTPServerError) {
            addresses = try server.start()
        } catch {
            throw StartupError("\(error)")
        }
        StartupSummary(plan: plan, addresses: addresses).log(to: log)
        // Listening comes first: the port is taken and health is answered while models load; /readyz says when they have.
        await manager.patiently("loading models") { await repository.loadEager() }
        if let cache = plan.cacheDirectory {
            let pruned = CompiledModelCache.prune(cache, to: settings.cacheSize)
            if pruned.files > 0 {
                log.info("removed \(pruned.files) compiled models from the cache (\(Units.bytes(pruned.bytes)))")
            }
        }
        let idleWatch = Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(1))
                repository.unloadIdle()
            }
        }
        defer { idleWatch.cancel() }
        let named = settings.defaultModel.isEmpty ? repository.defaultClassifier : settings.defaultModel
        log.info(
            "/v1/classify means \(named.map { "the model \($0)" } ?? "no model: none that is ready classifies pictures")"
        )
        if repository.isReady {
            let time = Units.decimal(Double(MonotonicInstant.now.nanoseconds(since: start)) / 1e9, places: 2)
            log.notice("ready after \(time) s")
        } else {
            log.error("not every model is ready: /readyz says 503, /v1/models says why; the others are served")
        }
        manager.ready(Self.status(of: repository, addresses: addresses))
        let watchdog = Watchdog(manager: manager, repository: repository, metrics: metrics, log: log)
        // Until the process ends: a drain that hangs is for the watchdog to end.
        Task { await watchdog.run() }

        let reloader = Reloader(
            source: reload, environment: environment, repository: repository, service: service, accessLog: accessLog,
            metrics: metrics, log: log)
        var current = settings
        let failure = Task { await server.waitUntilFailure() }
        Task { signals.fail("\(await failure.value)") }
        while true {
            switch await signals.next() {
            case .failure(let reason):
                log.error("a listener has died: \(reason); ending, so that the service manager starts Ocelli anew")
                manager.stopping("a listener has died")
                return 1
            case .signal(.hangUp):
                manager.reloading()
                let before = current
                current = await manager.patiently("reloading") { await reloader.reload(from: before) }
                manager.ready(Self.status(of: repository, addresses: addresses))
            case .signal(.terminate), .signal(.interrupt):
                failure.cancel()
                let drain = Drain(
                    signals: signals, server: server, service: service, manager: manager, metrics: metrics, log: log)
                return await drain.run(settings: current)
            }
        }
    }

    private static func repository(
        of plan: ServicePlan, metrics: ServiceMetrics, log: Log
    ) throws -> ModelRepository {
        let repository = ModelRepository(
            folders: plan.folders, configuration: plan.modelConfiguration, defaultPolicy: plan.loadPolicy
        ) { event in
            metrics.count(event)
            ModelEvents.log(event, to: log)
        }
        do throws(RepositoryError) {
            try repository.discover()
        } catch {
            throw StartupError(error.message)
        }
        guard !repository.names.isEmpty else {
            throw StartupError(
                "no models in \(plan.folders.joined(separator: ", ")): each entry should be a folder with model.json, a folder of "
                    + "numbered versions, or a model file (.onnx, .tflite, .xml)")
        }
        return repository
    }

    /// One line for `systemctl status`.
    private static func status(of repository: ModelRepository, addresses: [String]) -> String {
        let records = repository.records
        let ready = records.count { $0.model != nil }
        let failed = records.filter { if case .failed = $0.state { true } else { false } }.map(\.name)
        return "serving \(ready) of \(records.count) models on \(addresses.joined(separator: ", "))"
            + (failed.isEmpty ? "" : "; failed: \(failed.joined(separator: ", "))")
    }
}

extension Settings {
    /// The level as the log has it.
    var level: Log.Level { Log.Level.allCases.first { $0.name == logLevel } ?? .info }
    /// The form as the log has it.
    var format: Log.Format { logFormat == "json" ? .json : .text }
}

extension ServicePlan {
    /// When models are loaded that do not say it themselves.
    var loadPolicy: LoadPolicy { LoadPolicy(rawValue: settings.load) ?? .eager }
}

extension AccessControl {
    /// What the settings ask for. Reads the tokens' file: blocks.
    static func configured(by settings: Settings, log: Log) throws(StartupError) -> AccessControl {
        guard !settings.tokensFile.isEmpty else { return .open }
        let file = TokenFile(path: settings.tokensFile)
        guard file.problems.isEmpty else { throw StartupError(file.problems.joined(separator: "; ")) }
        for warning in file.warnings { log.warning(warning) }
        return AccessControl(file)
    }
}

extension ServiceManager {
    /// Does something that may take long, and asks the service manager for patience as long as it does.
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

internal import FlowControl
internal import FoundationEssentials
internal import HTTPServer
internal import Inference

/// The daemon's life: start, serve, drain, end.
package enum Daemon {
    /// Serves until a signal ends it.
    /// - Returns: the process's exit status: 0 when everything that was accepted has been answered.
    package static func run(_ settings: Settings) async throws -> Int32 {
        let start = MonotonicInstant.now
        let log = Log(
            level: Log.Level.allCases.first { $0.name == settings.logLevel } ?? .info,
            format: settings.logFormat == "json" ? .json : .text)
        let signals = SignalReader([.terminate, .interrupt, .hangUp])
        let plan = ServicePlan(settings: settings, environment: ProcessInfo.processInfo.environment)
        guard !plan.folders.isEmpty else {
            throw StartupError(
                "no models: give a folder with --models DIR (the models that come with Ocelli are not beside this binary)"
            )
        }
        let repository = ModelRepository(
            folders: plan.folders, configuration: plan.modelConfiguration,
            defaultPolicy: LoadPolicy(rawValue: settings.load) ?? .eager
        ) { event in ModelEvents.log(event, to: log) }
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
        let metrics = ServiceMetrics()
        let service = Service(repository: repository, settings: settings, metrics: metrics, log: log)
        let server = HTTPServer(
            configuration: try plan.serverConfiguration(), responder: service,
            observer: settings.accessLog ? AccessLog(log) : nil)
        let addresses: [String]
        do throws(HTTPServerError) {
            addresses = try server.start()
        } catch {
            throw StartupError("\(error)")
        }
        StartupSummary(plan: plan, addresses: addresses).log(to: log)
        // Listening comes first: the port is taken and health is answered while models load; /readyz says when they have.
        await repository.loadEager()
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

        let status = await serve(until: signals, server: server, service: service, repository: repository, log: log)
        guard status == nil else { return status ?? 1 }
        return await drain(signals: signals, server: server, service: service, settings: settings, log: log)
    }

    /// Waits for a signal that ends the daemon; SIGHUP looks for new models meanwhile.
    /// - Returns: an exit status when the daemon must end without draining; nil when it is to drain.
    private static func serve(
        until signals: SignalReader, server: HTTPServer, service: Service, repository: ModelRepository, log: Log
    ) async -> Int32? {
        let failure = Task { await server.waitUntilFailure() }
        defer { failure.cancel() }
        Task {
            let error = await failure.value
            if !Task.isCancelled { signals.fail("\(error)") }
        }
        while true {
            switch await signals.next() {
            case .failure(let reason):
                log.error("a listener has died: \(reason); ending, so that the service manager starts Ocelli anew")
                return 1
            case .signal(.hangUp):
                log.notice("SIGHUP: looking for new and changed models")
                await reload(repository, log: log)
            case .signal(.terminate), .signal(.interrupt):
                return nil
            }
        }
    }

    private static func reload(_ repository: ModelRepository, log: Log) async {
        do throws(RepositoryError) {
            try repository.discover()
        } catch {
            log.error("reload: \(error.message); nothing has changed")
            return
        }
        await repository.reloadAll()
        log.notice("reload: done")
    }

    private static func drain(
        signals: SignalReader, server: HTTPServer, service: Service, settings: Settings, log: Log
    ) async -> Int32 {
        service.beginDraining()
        server.beginLameDuck()
        log.notice("draining: requests under way are finished (a second signal ends at once)")
        let work = Task { () -> Int32 in
            if settings.drainDelay > 0 { try? await Task.sleep(for: .seconds(settings.drainDelay)) }
            let report = await server.shutdown(within: .seconds(settings.drainTimeout))
            if report.lostRequests > 0 {
                log.error("ended with \(report.lostRequests) requests unanswered")
                return 3
            }
            log.notice("ended: everything was answered")
            return 0
        }
        Task {
            while case .signal(let signal) = await signals.next() {
                guard signal != .hangUp else { continue }
                log.error("a second signal: ending at once")
                Process.exit(130)
            }
        }
        return await work.value
    }
}

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
        if ending.isLoading || Model.isCompilingForRequests { Process.exit(ending.status) }
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

    /// Starts in stages, each of which uses the results of those before it; then serves until the end.
    private static func serve(
        _ settings: Settings, reload: @escaping @Sendable () throws -> Settings, signals: SignalRelay, log: Log
    ) async throws -> Ending {
        let start = MonotonicInstant.now
        let environment = ProcessInfo.processInfo.environment
        let plan = ServicePlan(settings: settings, environment: environment)
        let metrics = ServiceMetrics()
        let parts = try ConfiguredParts(plan, environment: environment, metrics: metrics, log: log)
        let taught = taughtModels(parts, settings, metrics, log)
        let kept = parts.kept.map { store in
            PictureKeeper(store, settings: settings) { taught?.owns($0) ?? false }
        }
        let live = LiveSettings(
            settings: settings, access: parts.access, answerBytes: plan.answerBudget.value)
        let service = Service(
            repository: parts.repository, taught: taught, settings: live,
            listenerRoutes: ListenerRoutes(classes: parts.listening.routes), vertex: parts.vertex, kept: kept,
            metrics: metrics, log: log)
        let accessLog = AccessLog(log, isEnabled: settings.accessLog)
        let server = try server(
            for: service, plan, parts, ExchangeObserver(metrics: metrics, accessLog: accessLog), log)
        service.watch(server)
        let addresses = try await listen(server, signals)
        report(plan, parts, addresses: addresses, environment: environment, to: log)
        taught?.begin()
        service.beginWatching()
        let reloader = Reloader(
            source: reload, environment: environment, repository: parts.repository, service: service,
            limits: LimitsWatch(plan, server: server, log: log), accessLog: accessLog,
            compiledModels: parts.compiledModels, metrics: metrics, log: log)
        let lifecycle = Lifecycle(
            plan: plan, addresses: addresses, start: start, server: server, service: service,
            repository: parts.repository, reloader: reloader, manager: ServiceManager(environment: environment),
            signals: signals, metrics: metrics, log: log)
        return try await lifecycle.run()
    }

    /// The taught models, which the repository's events reach from now on; nil without a folder for them.
    private static func taughtModels(
        _ parts: ConfiguredParts, _ settings: Settings, _ metrics: ServiceMetrics, _ log: Log
    ) -> TaughtModels? {
        let taught = parts.store.map {
            TaughtModels(store: $0, repository: parts.repository, metrics: metrics, log: log)
        }
        taught?.use(settings)
        parts.relay.attach(taught)
        return taught
    }

    /// The server of a service. It does not listen yet.
    private static func server(
        for service: Service, _ plan: ServicePlan, _ parts: ConfiguredParts, _ observer: ExchangeObserver, _ log: Log
    ) throws(CommandError) -> HTTPServer {
        let listening = parts.listening
        if !listening.replaced.isEmpty {
            log.notice(
                "listening on the sockets passed by the service manager, instead of "
                    + "\(listening.replaced.joined(separator: ", ")); add \"systemd\" to `listen` to use both")
        }
        let configuration = plan.serverConfiguration(listening, trustedProxies: parts.proxies)
        // Each event loop has an epoll, a mailbox, a reserve, and a socket for each address.
        try OpenFilesLimit.check(sockets: configuration.eventLoops * (3 + configuration.listeners.count))
        if parts.proxies.isEmpty, let version = listening.listeners.lazy.compactMap(\.proxyHeader).first {
            log.warning(
                "listen: proxy=\(version.rawValue) without trusted_proxies: the log has the proxy's address for every client"
            )
        }
        return HTTPServer(configuration: configuration, responder: service, observer: observer)
    }

    /// Listens. Requests accepted from here on are answered before the end.
    /// - Returns: the addresses.
    private static func listen(_ server: HTTPServer, _ signals: SignalRelay) async throws -> [String] {
        await openTimers()
        signals.hold()
        do throws(HTTPServerError) {
            return try server.start()
        } catch {
            throw StartupAdvice.error(error)
        }
    }

    /// Logs the started daemon, with warnings about settings that work and are rarely meant.
    private static func report(
        _ plan: ServicePlan, _ parts: ConfiguredParts, addresses: [String], environment: [String: String], to log: Log
    ) {
        let settings = plan.settings
        let eager = parts.repository.records.count { $0.policy == .eager }
        StartupSummary(plan: plan, addresses: addresses, listening: parts.listening, eagerModels: eager).log(to: log)
        if settings.listensByVertex {
            log.notice("listen is not set: the port of AIP_HTTP_PORT is used, on all addresses (dialects has vertex)")
        }
        if settings.dialects.contains(.vertex) {
            log.info(
                "Vertex AI's routes: health \(parts.vertex.health ?? "none"), predictions \(parts.vertex.predict ?? "none")"
            )
        }
        if let warning = GracePeriod.warning(settings, environment: environment) { log.warning(warning) }
        IgnoredEntries.log(parts.repository, to: log)
    }
}

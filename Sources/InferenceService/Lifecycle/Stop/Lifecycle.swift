internal import CSystem
internal import FlowControl
internal import Glibc
internal import HTTPServer
internal import Inference
internal import Repository
internal import ServiceCore
internal import ServicePlanning
internal import Settings
internal import Synchronization
internal import SystemSupport
internal import WireFormats

/// Runs the daemon from listening to the end, by the decisions of ``LifecycleMachine``. Thread-safe.
final class Lifecycle: Sendable {
    private let plan: ServicePlan
    private let addresses: [String]
    private let start: MonotonicInstant
    private let server: HTTPServer
    private let service: Service
    private let repository: ModelRepository
    private let reloader: Reloader
    private let manager: ServiceManager
    private let signals: SignalRelay
    private let metrics: ServiceMetrics
    private let log: Log
    private let watch: RepositoryWatch

    private let machine = Mutex(LifecycleMachine())
    /// The settings in force.
    private let settings: Mutex<Settings>
    /// A stream with one value: the end of the daemon.
    private let ending: (stream: AsyncStream<Daemon.Ending>, continuation: AsyncStream<Daemon.Ending>.Continuation)

    // Wide: the parts of the daemon, each under its name; only Daemon.serve puts them together.
    init(
        plan: ServicePlan, addresses: [String], start: MonotonicInstant, server: HTTPServer, service: Service,
        repository: ModelRepository, reloader: Reloader, manager: ServiceManager, signals: SignalRelay,
        metrics: ServiceMetrics, log: Log
    ) {
        self.plan = plan
        self.addresses = addresses
        self.start = start
        self.server = server
        self.service = service
        self.repository = repository
        self.reloader = reloader
        self.manager = manager
        self.signals = signals
        self.metrics = metrics
        self.log = log
        settings = Mutex(plan.settings)
        watch = RepositoryWatch(repository, every: plan.repositoryPoll, log: log)
        ending = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Loads the models and serves until the end.
    func run() async throws -> Daemon.Ending {
        signals.attach(
            deliver: { self.handle($0 == .hangUp ? .reload(.everything) : .terminate($0, at: .now)) },
            fail: { self.handle(.failed($0)) })
        Task { handle(.failed("a listener failed: \(await server.waitUntilFailure())")) }
        Task {
            await load()
            handle(.started)
            Task { await watch.run { self.handle(.reload(.changedModels)) } }
            Task { await watchLimits() }
            Task { await watchReadiness() }
            await watchIdleModels()
        }
        var ending = Daemon.Ending(status: 1, isLoading: true)
        for await value in self.ending.stream { ending = value }
        return ending
    }

    private func handle(_ event: LifecycleMachine.Event) {
        // Perform under the lock, so that the actions keep the order of the decisions. No action waits.
        machine.withLock { machine in
            for action in machine.handle(event) { perform(action) }
        }
    }

    private func perform(_ action: LifecycleMachine.Action) {
        switch action {
        case .announce: manager.ready(status)
        case .reload(.changedModels):
            Task {
                await watch.applyChanges()
                await reloader.compiledModels.keep()
                DefaultModelLog.resolve(repository, settings.withLock { $0 }, log)
                handle(.reloaded)
            }
        case .reload(.limits):
            Task {
                await reloader.followLimits(with: settings.withLock { $0 })
                handle(.reloaded)
            }
        case .reload(.everything):
            manager.reloading()
            Task {
                let before = settings.withLock { $0 }
                let after = await manager.extendingTimeout("reloading") { await self.reloader.reload(from: before) }
                settings.withLock { $0 = after }
                handle(.reloaded)
            }
        case .drain:
            Task {
                let drain = Drain(server: server, service: service, manager: manager, metrics: metrics, log: log)
                handle(.drained(await drain.run(settings: settings.withLock { $0 })))
            }
        case .end(let status, let isLoading): end(status, isLoading)
        case .fail(let reason, let isLoading):
            log.error("\(reason); exiting, so that the service manager restarts Ocelli")
            manager.stopping(reason)
            end(1, isLoading)
        case .abort:
            log.error("second signal: exiting at once")
            log.flushBlocking(within: .milliseconds(200))
            Process.exit(130)
        }
    }

    private func end(_ status: Int32, _ isLoading: Bool) {
        ending.continuation.yield(Daemon.Ending(status: status, isLoading: isLoading))
        ending.continuation.finish()
    }

    // MARK: Start

    private func load() async {
        // The server listens already: the port is taken and /healthz is answered while models load; /readyz answers 503
        // until then.
        await manager.extendingTimeout("loading models") { await self.repository.loadEager() }
        await reloader.compiledModels.keep()
        DefaultModelLog.warn(plan.settings, repository.names + service.taughtNames, log)
        repository.resolveDefault()
        DefaultModelLog.tell(repository, plan.settings, log)
        let missing = repository.missing(for: plan.settings.readyCondition)
        if missing.isEmpty {
            logReady()
        } else {
            let rest = repository.missing(for: .any).isEmpty ? "the others are served" : "no model is served"
            log.error(
                "not every model is ready: /readyz answers 503 (\(ServiceError(notReady: missing).message)), /v1/models gives the "
                    + "reasons; \(rest)")
        }
        let watchdog = Watchdog(manager: manager, repository: repository, metrics: metrics, log: log)
        // Runs until the process ends, so that the watchdog also ends a drain that hangs.
        Task { await watchdog.run() }
    }

    private func watchIdleModels() async {
        var idleMemory = IdleMemory(), grownMemory = GrownMemory()
        while !Task.isCancelled {
            try? await Task.sleep(for: repository.idleInterval)
            repository.unloadIdle()
            let isIdle = idleMemory.shouldRelease(lastActivity: repository.lastActivity, now: .now)
            if isIdle {
                repository.releaseMemory()
                HTTPServer.releaseMemory()
            }
            guard grownMemory.shouldRelease(resident: Process.residentBytes) || isIdle else { continue }
            // It takes some milliseconds: not on a thread of the pool, which new requests may need.
            await LoaderThread.run { csys_release_free_memory() }
        }
    }

    private func logReady() {
        let time = Units.decimal(Double(MonotonicInstant.now.nanoseconds(since: start)) / 1e9, places: 2)
        log.notice("ready after \(time) s")
    }

    /// Logs each change of the answer of /readyz.
    private func watchReadiness() async {
        var wasReady = repository.isReady(when: plan.settings.readyCondition)
        while !Task.isCancelled {
            // A daemon that is ready and idle should wake up seldom.
            try? await Task.sleep(for: .seconds(wasReady ? 10 : 1))
            let missing = repository.missing(for: settings.withLock { $0 }.readyCondition)
            guard missing.isEmpty != wasReady else { continue }
            wasReady = missing.isEmpty
            if wasReady {
                logReady()
            } else {
                log.warning("/readyz answers 503: \(ServiceError(notReady: missing).message)")
            }
        }
    }

    /// Checks every minute whether the limits of the process have changed.
    private func watchLimits() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: LimitsWatch.interval)
            if await reloader.limitsHaveChanged(with: settings.withLock { $0 }) { handle(.reload(.limits)) }
        }
    }

    /// One line for `systemctl status`.
    private var status: String {
        let records = repository.records
        let ready = records.count { $0.model != nil }
        let failed = records.filter { if case .failed = $0.state { true } else { false } }.map(\.name)
        return "serving \(ready) of \(records.count) models on \(addresses.joined(separator: ", "))"
            + (failed.isEmpty ? "" : "; failed: \(failed.joined(separator: ", "))")
    }
}

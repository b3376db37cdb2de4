internal import FlowControl
internal import Inference
package import Repository
package import ServiceCore
internal import ServicePlanning
package import Settings
internal import SystemSupport

/// Reloads the configuration, the tokens and the models, after SIGHUP.
///
/// The whole configuration is checked before anything changes; then the settings are replaced as a whole, and the new
/// models are loaded while the old ones serve.
package struct Reloader: Sendable {
    let source: @Sendable () throws -> Settings
    let environment: [String: String]
    let repository: ModelRepository
    let service: Service
    let limits: LimitsWatch
    let accessLog: AccessLog
    let compiledModels: CompiledModelsLimit
    let metrics: ServiceMetrics
    let log: Log

    // Wide: the parts that a reload changes, each under its name; only Daemon.serve puts them together.
    package init(
        source: @escaping @Sendable () throws -> Settings, environment: [String: String], repository: ModelRepository,
        service: Service, limits: LimitsWatch, accessLog: AccessLog, compiledModels: CompiledModelsLimit,
        metrics: ServiceMetrics, log: Log
    ) {
        self.source = source
        self.environment = environment
        self.repository = repository
        self.service = service
        self.limits = limits
        self.accessLog = accessLog
        self.compiledModels = compiledModels
        self.metrics = metrics
        self.log = log
    }

    /// Reloads everything. If the configuration is invalid, logs the errors and changes nothing.
    /// - Returns: the settings that are now in effect.
    package func reload(from current: Settings) async -> Settings {
        log.notice("SIGHUP: reloading the configuration and the models")
        let next: Next
        do throws(CommandError) {
            next = try await LoaderThread.run { read(from: current) }.get()
        } catch {
            metrics.add(.reloadsFailed)
            metrics.set(.lastReloadSucceeded, 0)
            log.error("reload: \(error); nothing has changed")
            return current
        }
        // Nothing fails after this point.
        let settings = next.plan.settings
        service.use(LiveSettings(settings: settings, access: next.access, answerBytes: next.plan.answerBudget.value))
        limits.use(next.plan)
        if let warning = GracePeriod.warning(settings, environment: environment) { log.warning(warning) }
        log.use(level: settings.logLevel, format: settings.logFormat)
        accessLog.use(isEnabled: settings.accessLog)
        if !next.ignored.isEmpty {
            log.warning("reload: changed, but takes effect after a restart: \(next.ignored.joined(separator: ", "))")
        }
        await LoaderThread.run {
            if let advice = ReplacedProgram.advice { log.warning(advice) }
            IgnoredEntries.log(repository, to: log)
        }
        await repository.reloadAll()
        compiledModels.use(next.plan)
        await compiledModels.keep()
        DefaultModelLog.warn(settings, repository.names + service.taughtNames, log)
        DefaultModelLog.resolve(repository, settings, log)
        metrics.add(.reloadsSucceeded)
        metrics.set(.lastReloadSucceeded, 1)
        log.notice("reload: done")
        return settings
    }

    /// Applies changed limits. Blocks no request: models with new numbers of threads or queue lengths are loaded while
    /// the old ones serve.
    func followLimits(with settings: Settings) async {
        let result: Result<ServicePlan, CommandError> = await LoaderThread.run {
            let plan = ServicePlan(settings: settings, environment: environment)
            do {
                try reconfigure(plan)
                return .success(plan)
            } catch {
                return .failure(CommandError("\(error)"))
            }
        }
        switch result {
        case .failure(let error):
            log.error("the limits have changed and could not be applied: \(error) (will be retried)")
        case .success(let plan):
            limits.use(plan)
            await repository.reloadAll()
        }
    }

    /// True if the limits have changed. Reads the control group, on a thread that may block.
    func limitsHaveChanged(with settings: Settings) async -> Bool {
        await LoaderThread.run { limits.differs(from: ServicePlan(settings: settings, environment: environment)) }
    }

    private func reconfigure(_ plan: ServicePlan) throws(RepositoryError) {
        try repository.reconfigure(
            folders: plan.folders, named: plan.named, configuration: plan.servingConfiguration,
            defaultPolicy: plan.settings.load, loadsAtOnce: plan.settings.maxLoads)
    }

    /// The valid configuration that a reload has read.
    private struct Next: Sendable {
        let plan: ServicePlan
        let access: AccessControl
        /// Changed settings that take effect only after a restart.
        let ignored: [String]
    }

    /// Reads the files and scans the folders: blocks. On an error, nothing has changed.
    private func read(from current: Settings) -> Result<Next, CommandError> {
        do {
            let (wanted, ignored) = SettingsTable.merge(try source(), into: current)
            let access = try AccessControl.configured(by: wanted) { log.warning($0) }
            let plan = ServicePlan(settings: wanted, environment: environment)
            try wanted.checkModels()
            try reconfigure(plan)
            return .success(Next(plan: plan, access: access, ignored: ignored))
        } catch {
            return .failure(CommandError("\(error)"))
        }
    }
}

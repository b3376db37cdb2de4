internal import Inference

/// What SIGHUP does: reads the configuration, the tokens and the models anew.
///
/// Everything that can be wrong with the configuration is found before anything is changed; then the settings are swapped
/// whole, and the models are loaded beside those that serve.
struct Reloader: Sendable {
    let source: @Sendable () throws -> Settings
    let environment: [String: String]
    let repository: ModelRepository
    let service: Service
    let accessLog: AccessLog
    let metrics: ServiceMetrics
    let log: Log

    /// - Returns: the settings in force from now on.
    func reload(from current: Settings) async -> Settings {
        log.notice("SIGHUP: reading the configuration and the models anew")
        let settings: Settings, plan: ServicePlan
        do {
            let (wanted, ignored) = SettingsTable.merge(try source(), into: current)
            let access = try AccessControl.configured(by: wanted, log: log)
            plan = ServicePlan(settings: wanted, environment: environment)
            try adopt(plan)
            // From here on nothing fails.
            settings = wanted
            service.use(LiveSettings(settings: wanted, access: access))
            log.use(level: wanted.level, format: wanted.format)
            accessLog.use(isEnabled: wanted.accessLog)
            if !ignored.isEmpty {
                log.warning("reload: changed, but needing a restart: \(ignored.joined(separator: ", "))")
            }
        } catch {
            metrics.add(.reloadsFailed)
            metrics.set(.lastReloadSucceeded, 0)
            log.error("reload: \(Self.message(of: error)); nothing has changed")
            return current
        }
        LeftOut.log(repository, to: log)
        await repository.reloadAll()
        CompiledModelsLimit.keep(plan, log)
        DefaultModel.warn(settings, repository.names, log)
        metrics.add(.reloadsSucceeded)
        metrics.set(.lastReloadSucceeded, 1)
        log.notice("reload: done")
        return settings
    }

    private func adopt(_ plan: ServicePlan) throws(RepositoryError) {
        try repository.reconfigure(
            folders: plan.folders, configuration: plan.servingConfiguration, defaultPolicy: plan.loadPolicy)
        try repository.discover()
    }

    private static func message(of error: any Error) -> String {
        (error as? RepositoryError)?.message ?? "\(error)"
    }
}

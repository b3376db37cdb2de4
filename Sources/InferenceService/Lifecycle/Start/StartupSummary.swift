internal import FlowControl
internal import Glibc
internal import HTTPServer
internal import ServiceCore
internal import ServicePlanning
internal import Settings
internal import SystemSupport

/// Logs a summary when the daemon starts: models, addresses, and the derived limits.
struct StartupSummary {
    let plan: ServicePlan
    let addresses: [String]
    let listening: ListenPlan
    /// The number of models that are loaded at start.
    let eagerModels: Int

    func log(to log: Log) {
        let settings = plan.settings
        log.notice("ocelli \(OcelliVersion.number), listening on \(addresses.joined(separator: ", "))")
        if let page { log.notice("the page to try pictures is at \(page)") }
        if isUnderSystemd, settings.listen.contains(where: Self.isOpen) {
            log.notice(
                "the packaged unit allows connections from this machine only: if other clients time out, extend IPAddressAllow "
                    + "(`systemctl edit ocelli`)")
        }
        log.info("models from \(plan.places)")
        let report = LimitsReport(plan)
        let values = Dictionary(report.rows.map { ($0.name, $0.value) }) { first, _ in first }
        func value(_ name: String) -> String { values[name] ?? "?" }
        log.info(
            "limits: \(value("processors")) processors, \(value("memory")) of memory, body \(value("max_body")), all bodies "
                + "\(value("max_total_body")), picture \(value("max_pixels")) pixels, \(value("max_connections")) connections, "
                + "per model \(value("max_in_flight")) in flight and \(value("queue_length")) waiting for at most "
                + "\(Units.duration(settings.queueWait)), deadline \(Units.duration(settings.deadline)) "
                + "(`ocelli limits` gives the reasons)")
        if let problem = plan.resources.topology.problem {
            log.warning("the NUMA nodes of this machine are treated as one: \(problem)")
        } else if let nodes = plan.resources.topology.summary {
            log.info(
                "NUMA nodes: \(nodes); models run in \(value("streams")) streams on \(value("threads")) threads, "
                    + "single-stream requests on \(value("lone_threads"))")
        }
        for row in report.rows where row.isLowered {
            log.warning("\(row.name) is \(row.value), less than configured: \(row.reason)")
        }
        // The engine has a thread for each stream, and one for callbacks.
        let neededThreads = eagerModels * ((plan.settings.streams ?? plan.sizing.streams.value) + 1)
        let allowed = plan.resources.threads
        if neededThreads + Self.ownThreads > allowed.value {
            log.warning(
                "\(eagerModels) models are loaded at start and take about \(neededThreads) threads, more than the limit "
                    + "(\(allowed.reason)): raise the limit (TasksMax in the unit), set streams to 1, or load models on "
                    + "demand (load, idle_unload)")
        }
        if let folder = plan.unusableCache {
            log.warning(
                "cannot cache compiled models in \(folder) (cache_dir): this user cannot create it or write to it; "
                    + "models are compiled at every start until that is fixed or cache_dir is another folder")
        } else {
            log.info(
                plan.cacheDirectory.map {
                    plan.isCacheWritable
                        ? "compiled models are cached in \($0)"
                        : "compiled models are read from \($0), which is not writable: other models are compiled at every start"
                }
                    ?? "compiled models are not cached: set cache_dir"
            )
        }
    }

    /// The address of the page for a browser on this machine: the first one that serves it over plain HTTP; nil without
    /// one.
    private var page: String? {
        for (index, address) in addresses.enumerated() where !address.hasPrefix("unix:") {
            guard index < listening.listeners.count, listening.listeners[index].proxyHeader == nil,
                listening.routes[index]?.isSuperset(of: [.infer, .read]) ?? true,
                let colon = address.lastIndex(of: ":")
            else { continue }
            let host = address[..<colon]
            return "http://" + (["0.0.0.0", "[::]"].contains(host) ? "localhost" : host) + address[colon...] + "/"
        }
        return nil
    }

    /// Threads other than the engine's: event loops, the pool of tasks, log, signals.
    private static let ownThreads = 16

    /// True if systemd started this process; its unit may restrict clients by address.
    private var isUnderSystemd: Bool { getenv("INVOCATION_ID") != nil }

    /// True if an address can be reached from other machines.
    private static func isOpen(_ address: String) -> Bool {
        !["127.", "localhost:", "[::1]", "unix:", "systemd"].contains { address.hasPrefix($0) }
    }
}

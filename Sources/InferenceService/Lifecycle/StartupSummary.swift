/// What the daemon says of itself when it starts: what it serves, where, and the limits it derived.
struct StartupSummary {
    let plan: ServicePlan
    let addresses: [String]

    func log(to log: Log) {
        let settings = plan.settings
        log.notice("ocelli \(OcelliVersion.number), listening on \(addresses.joined(separator: ", "))")
        log.info("models from \(plan.folders.joined(separator: ", "))")
        log.info(
            "may use \(Units.decimal(plan.resources.cpus, places: 1)) processors (\(plan.resources.cpuReason)) and "
                + "\(Units.bytes(Int(clamping: plan.resources.memoryBytes))) of memory (\(plan.resources.memoryReason))"
        )
        log.info(
            "limits: body \(Units.bytes(settings.maxBody)), all bodies \(Units.bytes(plan.maxTotalBody)), picture "
                + "\(settings.maxPixels) pixels, \(settings.maxConnections) connections, per model "
                + "\(settings.maxInFlight.map(String.init) ?? "instances + 2") in flight and \(settings.queueLength) waiting for at most "
                + "\(Units.duration(settings.queueWait)), deadline \(Units.duration(settings.deadline))")
        log.info(
            "compiled models are kept in \(plan.cacheDirectory ?? "no place: each start compiles anew (set cache_dir)")"
        )
    }
}

internal import Inference

/// What happens to models, as log lines.
enum ModelEvents {
    static func log(_ event: ModelRepository.Event, to log: Log) {
        switch event {
        case .loaded(let name, let version, let report):
            let time = Units.decimal(Double(report.total) / 1e6, places: 0)
            log.info(
                "model \(name) version \(version) is ready: loaded in \(time) ms "
                    + "(\(report.isCached ? "from the cache of compiled models" : "compiled anew")) on \(report.device)"
            )
        case .failed(let name, let version, let reason):
            log.error("model \(name) version \(version) could not be loaded: \(reason)")
        case .unchanged(let name, let version): log.info("model \(name) version \(version) is unchanged")
        case .unloaded(let name, let version, let why):
            log.notice("model \(name) version \(version) was unloaded: \(why)")
        }
    }
}

internal import Inference
internal import JSON
internal import Repository
internal import ServiceCore
internal import Settings

/// Writes the events of models as log lines. The lines of a load are short; their details are lines of the level debug,
/// and in the output of `ocelli check`.
enum ModelEvents {
    static func log(_ event: ModelRepository.Event, to log: Log) {
        switch event {
        case .loaded(let name, let version, let report):
            let time = Units.decimal(Double(report.total) / 1e6, places: 0)
            let check = Units.decimal(Double(report.loadCheck) / 1e6, places: 0)
            log.info(
                "model \(name) version \(version) is ready: loaded in \(time) ms "
                    + "(\(report.isCached ? "from the cache of compiled models" : "not cached")"
                    + (report.wasTried ? ", \(check) ms of it a load check in a separate process" : "")
                    + ") on \(report.device)")
            for treatment in report.treatment { log.debug("model \(name) version \(version): \(treatment)") }
            if let engine = report.engine, let reason = engine.reason {
                brief(.notice, "model \(name) version \(version) runs on \(engine.version): \(reason)", to: log)
            }
            // A pipeline has no engine: the lines of its models say whether their answers are confirmed.
            if report.engine != nil {
                let isConfirmed = report.confirmation.by != nil || report.confirmation == .trusted
                brief(
                    isConfirmed ? .info : .warning,
                    "model \(name) version \(version): its answers are \(report.confirmation.text)", to: log)
            }
            if let provenance = report.provenance { self.log(provenance, of: "\(name) version \(version)", to: log) }
            if !report.undecided.isEmpty {
                log.warning(
                    "model \(name) version \(version): model.json has values to decide, and is not used by requests that "
                        + "name no model: \(report.undecided.joined(separator: "; "))")
            }
            for advice in report.advice { log.warning("model \(name) version \(version): \(advice)") }
            if let problem = report.loadCheckProblem {
                log.warning("model \(name) was loaded without a load check in a separate process: \(problem)")
            }
        case .singleStreamVariant(let name, let version, let report):
            self.log(report, of: "\(name) version \(version)", to: log)
        case .failed(let name, let version, let reason, let problems):
            log.error("model \(name) version \(version) could not be loaded: \(reason)") { writer in
                guard !problems.isEmpty else { return }
                writer.member("problems", problems.map(\.description))
            }
        case .advice(let name, let version, let text):
            log.warning("model \(name) version \(version): \(text)")
        case .unchanged(let name, let version): log.info("model \(name) version \(version) is unchanged")
        case .keptUnreadable(let name, let version, let why):
            log.warning("model \(name) version \(version) was not reloaded: \(why)")
        case .manuallyUnloaded(let name, let version):
            log.notice(
                "model \(name) version \(version) stays unloaded, as requested: POST /v2/repository/models/\(name)/load brings "
                    + "it back")
        case .incompleteBundle(let name, let reason):
            log.warning("model \(name) is not retried until its files change: \(reason)")
        case .rollout(let name, let state, let text):
            log.line(
                state == "rolled_back" || state == "failed" ? .warning : .notice,
                message: { $0.add("rollout of model \(name): \(text)") }
            ) { $0.member("rollout", state) }
        case .unloaded(let name, let version, let why):
            log.notice("model \(name) version \(version) was unloaded: \(why)")
        }
    }

    /// Logs the sources of the derived values, and the values that could not be derived.
    private static func log(_ provenance: ModelProvenance, of model: String, to log: Log) {
        if !provenance.lines.isEmpty {
            var sources: [String] = []
            for line in provenance.lines where !sources.contains(line.source) { sources.append(line.source) }
            brief(
                .info,
                "model \(model) has no model.json: \(provenance.lines.count) values from \(sources.joined(separator: ", "))",
                to: log)
        }
        for line in provenance.lines {
            log.debug("model \(model): \(line.name) \(line.value) from \(line.source) (\(line.key))")
        }
        for remark in provenance.remarks { brief(.notice, "model \(model): \(remark)", to: log) }
        // Files that only have tensors need no explanation about pictures.
        if !provenance.lines.isEmpty, let explanation = provenance.explanation {
            brief(.notice, "model \(model) is served as tensors: \(explanation)", to: log)
        }
    }

    /// The maximum length of a line of a load.
    private static let maximumLength = 200

    /// Writes a line, cut off between words if it is long; the whole line has the level debug then.
    private static func brief(_ level: LogLevel, _ text: String, to log: Log) {
        let rest = "... (`ocelli check` gives the rest)"
        var line = text
        if text.count > maximumLength {
            let start = text.prefix(maximumLength - rest.count)
            line = start[..<(start.lastIndex(of: " ") ?? start.endIndex)] + rest
            log.debug(text)
        }
        switch level {
        case .warning: log.warning(line)
        case .notice: log.notice(line)
        default: log.info(line)
        }
    }

    private static func log(_ variant: SingleStreamReport, of model: String, to log: Log) {
        switch variant.state {
        case .ready:
            let time = Units.decimal(Double(variant.load) / 1e6, places: 0)
            log.info(
                "model \(model): single-stream requests use \(variant.threads) threads: compiled for them in \(time) ms "
                    + "(\(variant.isCached ? "from the cache of compiled models" : "not cached"))")
        case .notCompiled:
            log.info("model \(model): released the variant for single-stream requests: no such requests arrived")
        case .failed(let reason):
            log.warning("model \(model): single-stream requests run like all others: \(reason)")
        case .compiling: break
        }
    }
}

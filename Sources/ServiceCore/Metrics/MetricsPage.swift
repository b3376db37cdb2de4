internal import FlowControl
package import HTTPServer
package import Inference
package import Repository
internal import Rollout
package import Settings
internal import SystemSupport

/// The whole of `GET /metrics`: all counters, and the current state of the service.
///
/// The page always has every family, and every label value that is known in advance, so that rules can be written
/// before the first event.
package struct MetricsPage {
    package let metrics: ServiceMetrics
    package let records: [ModelRecord]
    /// The taught models; nil if teaching is turned off.
    package let taught: TaughtUsage?
    /// The kept pictures; nil if none are kept.
    package let kept: KeptUsage?
    /// The models with rollouts, by name.
    package let rollouts: [(name: String, view: ModelRollout.View)]
    /// The models that are watched for drift, by name.
    package let drift: [DriftUsage]
    package let server: HTTPServerStatistics
    package let decoding: DecodeBudget.Usage
    package let shared: SharedAnswersUsage
    package let texts: TextCache.Usage
    package let settings: Settings
    package let isReady: Bool
    package let suppressedLogLines: UInt64
    package let lostLogLines: UInt64

    // Wide: a record, in the order of its fields.
    package init(
        metrics: ServiceMetrics, records: [ModelRecord], taught: TaughtUsage?, kept: KeptUsage?,
        rollouts: [(name: String, view: ModelRollout.View)], drift: [DriftUsage] = [], server: HTTPServerStatistics,
        decoding: DecodeBudget.Usage, shared: SharedAnswersUsage, texts: TextCache.Usage, settings: Settings,
        isReady: Bool,
        suppressedLogLines: UInt64, lostLogLines: UInt64
    ) {
        self.metrics = metrics
        self.records = records
        self.taught = taught
        self.kept = kept
        self.rollouts = rollouts
        self.drift = drift
        self.server = server
        self.decoding = decoding
        self.shared = shared
        self.texts = texts
        self.settings = settings
        self.isReady = isReady
        self.suppressedLogLines = suppressedLogLines
        self.lostLogLines = lostLogLines
    }

    /// The page in Prometheus's text format.
    package var text: [UInt8] {
        var text = MetricsText()
        writeBuild(to: &text)
        writeModels(to: &text)
        writeFallbacks(to: &text)
        writeTaught(to: &text)
        writeKept(to: &text)
        writeRollouts(to: &text)
        writeDrift(to: &text)
        writeFlow(to: &text)
        writeDecoding(to: &text)
        writeSharing(to: &text)
        writeStages(to: &text)
        writePipelines(to: &text)
        writeReaders(to: &text)
        writeRequests(to: &text)
        writeConnections(to: &text)
        writeLife(to: &text)
        writeProcess(to: &text)
        return text.bytes
    }

    // MARK: Build

    private func writeBuild(to text: inout MetricsText) {
        text.family("ocelli_build_info", .gauge, "Always 1; the labels have the version.")
        text.sample(
            "ocelli_build_info", [("version", OcelliVersion.number), ("arch", Self.architecture)], 1)
        text.single(
            "ocelli_ready", .gauge, "1 when every eager model is ready and the daemon is not draining.",
            isReady ? 1 : 0)
    }

    private static var architecture: String {
        #if arch(x86_64)
            "x86_64"
        #elseif arch(arm64)
            "aarch64"
        #else
            "other"
        #endif
    }

    // MARK: Models

    private func writeModels(to text: inout MetricsText) {
        text.family("ocelli_model_state", .gauge, "1 for the state that a version of a model is in.")
        for record in records {
            for state in ["loading", "ready", "unloaded", "failed"] {
                text.sample(
                    "ocelli_model_state",
                    [("model", record.name), ("version", record.version), ("state", state)],
                    record.state.name == state ? 1 : 0)
            }
        }
        text.family(
            "ocelli_model_stale", .gauge,
            "1 for a loaded version that does not match its files or settings: its last load failed, or its files cannot be read."
        )
        for record in records {
            text.sample(
                "ocelli_model_stale", [("model", record.name), ("version", record.version)],
                record.staleReason == nil ? 0 : 1)
        }
        text.family("ocelli_model_instances", .gauge, "Infer requests of a loaded model.")
        for (record, model) in ready {
            text.sample(
                "ocelli_model_instances", [("model", record.name), ("version", record.version)], model.instances)
        }
        text.family("ocelli_model_engine", .gauge, "1 for the engine and the device that a loaded model runs on.")
        for (record, model) in ready {
            let report = model.loadReport
            text.sample(
                "ocelli_model_engine",
                [
                    ("model", record.name), ("version", record.version), ("engine", report.engine?.name ?? "openvino"),
                    ("device", report.device),
                ], 1)
        }
        let known = metrics.models.all { $0[.pictures] > 0 }
        text.family(
            "ocelli_model_load_seconds", .summary,
            "Successful loads of a model, and their time; cached: whether the compiled model was in the cache.")
        for (name, model) in known {
            for cached in [true, false] {
                let labels: [MetricsText.Label] = [("model", name), ("cached", cached ? "true" : "false")]
                text.sample(
                    "ocelli_model_load_seconds_sum", labels,
                    nanoseconds: model[cached ? .loadCachedNanoseconds : .loadUncachedNanoseconds])
                text.sample("ocelli_model_load_seconds_count", labels, model[cached ? .loadsCached : .loadsUncached])
            }
        }
        perModel("ocelli_model_load_failures_total", "Failed loads of a model.", .loadFailures, known, &text)
        perModel(
            "ocelli_goldens_failed_total",
            "Versions of a model whose answers differed from their goldens, at a load or later.",
            .goldensFailed, known, &text)
        perModel("ocelli_model_unloads_total", "Unloads of a model.", .unloads, known, &text)
        writeFound(known, to: &text)
    }

    /// Writes the numbers of pictures, detections and lines of each model.
    private func writeFound(_ known: [(label: String, metric: ModelMetrics)], to text: inout MetricsText) {
        perModel(
            "ocelli_pictures_total", "Successful predictions; each picture or item of a batch counts.",
            .pictures, known, &text)
        perModel(
            "ocelli_detections_total", "Detections, segments and keypoints that were found in pictures.", .detections,
            known, &text)
        perModel("ocelli_lines_total", "Lines of text in the answers of read.", .lines, known, &text)
        perModel(
            "ocelli_lines_skipped_total", "Regions of text that were not read because of a limit (max_lines).",
            .linesSkipped, known, &text)
    }

    private func writeFallbacks(to text: inout MetricsText) {
        text.family(
            "ocelli_model_fallbacks_total", .counter,
            "Inferences of a loaded model that the runtime of its format ran, because its engine refuses the inputs.")
        for (record, model) in ready {
            text.sample(
                "ocelli_model_fallbacks_total", [("model", record.name), ("version", record.version)],
                model.statistics.fallbacks)
        }
    }

    private func writeRollouts(to text: inout MetricsText) {
        text.family("ocelli_rollout_state", .gauge, "1 for the state that the rollout of a model is in.")
        for (name, view) in rollouts {
            for state in RolloutMachine.State.allCases {
                text.sample(
                    "ocelli_rollout_state", [("model", name), ("state", state.rawValue)],
                    view.machine.state == state ? 1 : 0)
            }
        }
        func gauge(_ family: String, _ help: String, _ value: (Comparison) -> Int) {
            text.family(family, .gauge, help)
            for (name, view) in rollouts {
                text.sample(family, [("model", name)], view.comparison.map(value) ?? 0)
            }
        }
        gauge("ocelli_rollout_compared", "Items that both versions of a model's rollout have answered.") { $0.compared }
        gauge("ocelli_rollout_agreed", "Items that both versions answered in the same way.") { $0.agreed }
        gauge("ocelli_rollout_skipped", "Items that were not compared because the comparison was busy.") { $0.skipped }
    }

    private func writeDrift(to text: inout MetricsText) {
        text.family(
            "ocelli_drift_evidence", .gauge,
            "Evidence that a signal of a model's pictures has changed since the reference; about the number of pictures since if it has not."
        )
        for model in drift {
            for (signal, value) in model.evidence {
                text.sample(
                    "ocelli_drift_evidence", [("model", model.model), ("signal", signal)],
                    text: value == value.rounded() && value < 1e15 ? String(Int64(value)) : value.description)
            }
        }
        text.family("ocelli_drifted", .gauge, "1 for a model of which a signal has drifted.")
        for model in drift { text.sample("ocelli_drifted", [("model", model.model)], model.hasDrifted ? 1 : 0) }
    }

    private var ready: [(ModelRecord, Model)] {
        records.compactMap { record in record.model.map { (record, $0) } }
    }

    private func perModel(
        _ name: String, _ help: String, _ counter: ModelMetrics.Counter,
        _ known: [(label: String, metric: ModelMetrics)],
        _ text: inout MetricsText
    ) {
        text.family(name, .counter, help)
        for (model, metric) in known { text.sample(name, [("model", model)], metric[counter]) }
    }

    // MARK: Taught models

    private func writeTaught(to text: inout MetricsText) {
        let taught = taught ?? TaughtUsage()
        text.single("ocelli_taught_models", .gauge, "Taught models.", taught.models)
        text.single("ocelli_taught_examples", .gauge, "Examples of all taught models.", taught.examples)
        text.single("ocelli_taught_bytes", .gauge, "Size of the files of all taught models.", taught.bytes)
        text.single(
            "ocelli_taught_stale", .gauge, "Taught models whose embedder has changed or is not served.",
            taught.stale)
        for (name, help, counter) in [
            (
                "ocelli_taught_changes_total",
                "Changes of taught models: created, taught, forgotten, chosen, rebuilt, deleted.",
                ServiceMetrics.Counter.taughtChanges
            ),
            ("ocelli_taught_new_examples_total", "Examples that were new to their taught model.", .taughtExamples),
            ("ocelli_taught_evaluations_total", "Evaluations of taught models that ended.", .taughtEvaluations),
        ] {
            text.family(name, .counter, help)
            text.sample(name, [], metrics[counter])
        }
    }

    // MARK: Kept pictures

    private func writeKept(to text: inout MetricsText) {
        text.single("ocelli_kept_pictures", .gauge, "Pictures that are kept (keep_dir).", kept?.pictures ?? 0)
        text.single("ocelli_kept_bytes", .gauge, "Size of the files of kept pictures.", kept?.bytes ?? 0)
        text.family("ocelli_kept_total", .counter, "Pictures that were kept, by model and reason.")
        if kept != nil {
            for (model, metrics) in metrics.models.all(where: { $0[.pictures] > 0 }) {
                for (why, count) in metrics.kept.all(where: { $0[0] > 0 }) {
                    text.sample("ocelli_kept_total", [("model", model), ("why", why)], count[0])
                }
            }
        }
        text.family(
            "ocelli_kept_dropped_total", .counter, "Pictures that could not be kept, by reason.")
        for (reason, count) in metrics.notKept.all(where: { $0[0] > 0 }) {
            text.sample("ocelli_kept_dropped_total", [("reason", reason)], count[0])
        }
    }

    // MARK: Flow control

    private func writeFlow(to text: inout MetricsText) {
        let states = ready.map { record, model in
            (
                labels: [("model", record.name), ("version", record.version)] as [MetricsText.Label],
                limiter: model.limiter.snapshot
            )
        }
        func gauge(_ name: String, _ help: String, _ value: (LimiterSnapshot) -> Int) {
            text.family(name, .gauge, help)
            for state in states { text.sample(name, state.labels, value(state.limiter)) }
        }
        gauge("ocelli_in_flight", "Requests of a model that hold a slot.") { $0.inFlight }
        gauge("ocelli_in_flight_limit", "Maximum number of requests of a model that hold a slot.") { $0.limit }
        gauge("ocelli_queue_depth", "Requests of a model that wait for a slot.") { $0.waiting }
        gauge("ocelli_queue_limit", "Maximum number of requests of a model that wait.") { $0.queueCapacity }
        text.family(
            "ocelli_predicted_wait_seconds", .gauge, "Predicted wait of a new request for a slot.")
        for state in states {
            text.sample(
                "ocelli_predicted_wait_seconds", state.labels,
                nanoseconds: MonotonicInstant(nanoseconds: 0).advanced(by: state.limiter.predictedWait).nanoseconds)
        }
        text.family(
            "ocelli_refused_total", .counter, "Requests refused before any work was done, by reason (503 and 504).")
        for (reason, count) in metrics.refusals.all(where: { $0[0] > 0 }) {
            text.sample("ocelli_refused_total", [("reason", reason)], count[0])
        }
        text.family(
            "ocelli_cancelled_total", .counter,
            "Requests cancelled because the client disconnected, by the stage that they had reached.")
        for (stage, count) in metrics.cancelled { text.sample("ocelli_cancelled_total", [("stage", stage)], count) }
    }

    private func writeDecoding(to text: inout MetricsText) {
        text.single(
            "ocelli_decode_bytes", .gauge,
            "Memory of pictures that are being decoded, in bytes; small pictures do not count.", decoding.used)
        text.single(
            "ocelli_decode_bytes_limit", .gauge, "Maximum memory of pictures that are being decoded.", decoding.total)
        text.single(
            "ocelli_decodes_waiting", .gauge, "Pictures that wait to be decoded because of that limit.",
            decoding.waiting)
    }

    private func writeSharing(to text: inout MetricsText) {
        let name = "ocelli_shared_answers_total"
        text.family(
            name, .counter,
            "Predictions by how they were answered: hit (a kept answer), collapsed (waited for that of an equal request), "
                + "miss (computed).")
        for (result, count) in [("hit", shared.hits), ("collapsed", shared.collapsed), ("miss", shared.misses)] {
            text.sample(name, [("result", result)], count)
        }
        text.single("ocelli_kept_answers", .gauge, "Answers that are kept (answer_cache).", shared.answers)
        text.single("ocelli_kept_answer_bytes", .gauge, "Memory of the answers that are kept, in bytes.", shared.bytes)
        text.single("ocelli_kept_answer_bytes_limit", .gauge, "Maximum memory of kept answers.", settings.answerCache)
        text.single(
            "ocelli_text_cache_hits_total", .counter, "Texts and labels with a vector that was kept (text_cache).",
            texts.hits)
        text.single("ocelli_text_cache_misses_total", .counter, "Texts and labels that were embedded.", texts.misses)
        text.single("ocelli_text_cache_bytes", .gauge, "Memory of the vectors that are kept, in bytes.", texts.bytes)
    }

    private func writeStages(to text: inout MetricsText) {
        text.family(
            "ocelli_stage_duration_seconds", .histogram,
            "Time of each stage of a prediction: recv (first to last byte of the request), load (the wait for a model that is "
                + "not loaded), queue, decode, infer, postprocess (boxes, masks and points), encode, and total.")
        for (name, model) in metrics.models.all(where: { $0[.pictures] > 0 }) {
            for stage in Stage.allCases {
                text.histogram(
                    "ocelli_stage_duration_seconds", [("model", name), ("stage", stage.name)], model[stage])
            }
        }
    }

    private func writePipelines(to text: inout MetricsText) {
        let known = metrics.models.all { $0[.pictures] > 0 }
        let stages = known.flatMap { name, model in
            model.pipelineStages.all().map { one in
                (labels: [("model", name), ("stage", one.label)] as [MetricsText.Label], stage: one.metric)
            }
        }
        text.family(
            "ocelli_pipeline_crops_total", .counter,
            "Crops that a stage of a pipeline looked at, with those that failed.")
        for (labels, stage) in stages { text.sample("ocelli_pipeline_crops_total", labels, stage.crops) }
        text.family(
            "ocelli_pipeline_crop_failures_total", .counter,
            "Crops of a pipeline's stage without an answer: the find has the error in its place.")
        for (labels, stage) in stages { text.sample("ocelli_pipeline_crop_failures_total", labels, stage.failures) }
        text.family(
            "ocelli_pipeline_skipped_total", .counter,
            "Finds that a pipeline left without stages because of a limit (most, max_crops).")
        for (name, model) in known where !model.pipelineStages.all().isEmpty {
            text.sample("ocelli_pipeline_skipped_total", [("model", name)], model[.skipped])
        }
        text.family(
            "ocelli_pipeline_stage_duration_seconds", .histogram,
            "Time of a pipeline's stage for one picture, from the begin of its first crop to the end of its last.")
        for (labels, stage) in stages {
            text.histogram("ocelli_pipeline_stage_duration_seconds", labels, stage.duration)
        }
    }

    private func writeReaders(to text: inout MetricsText) {
        let name = "ocelli_reader_stage_duration_seconds"
        text.family(
            name, .histogram,
            "Time of a reader's stage for one picture: find, turn (lines that stand on their heads), read.")
        for (model, metrics) in metrics.models.all(where: { $0[.pictures] > 0 }) {
            for stage in metrics.readerStages.all() {
                text.histogram(name, [("model", model), ("stage", stage.label)], stage.metric)
            }
        }
    }

    // MARK: HTTP

    private func writeRequests(to text: inout MetricsText) {
        let routes = metrics.routes.all { !$0.counts.isEmpty }.filter { !$0.metric.counts.isEmpty }
        text.family(
            "ocelli_http_requests_total", .counter,
            "Finished requests, by route, method and status; code \"none\": the client disconnected before the answer."
        )
        for (route, metric) in routes {
            for (method, code, count) in metric.counts {
                text.sample(
                    "ocelli_http_requests_total", [("route", route), ("method", method), ("code", code)], count)
            }
        }
        text.family(
            "ocelli_http_request_duration_seconds", .histogram,
            "Time from the first byte of a request to the last byte of its answer.")
        for (route, metric) in routes {
            text.histogram("ocelli_http_request_duration_seconds", [("route", route)], metric.duration)
        }
        text.family("ocelli_http_received_bytes_total", .counter, "Bytes of request bodies.")
        for (route, metric) in routes {
            text.sample("ocelli_http_received_bytes_total", [("route", route)], metric.bytesReceived)
        }
        text.family("ocelli_http_sent_bytes_total", .counter, "Bytes of answer bodies.")
        for (route, metric) in routes {
            text.sample("ocelli_http_sent_bytes_total", [("route", route)], metric.bytesSent)
        }
        text.family("ocelli_errors_total", .counter, "Error answers, by code and reason.")
        for (key, count) in metrics.errors.all(where: { $0[0] > 0 }) {
            let parts = key.split(separator: "/", maxSplits: 1).map(String.init)
            text.sample(
                "ocelli_errors_total", [("code", parts.first ?? ""), ("reason", parts.last ?? "")], count[0])
        }
        labelled(
            "ocelli_http_protocol_errors_total", "Requests that were malformed or over a limit, by reason.",
            server.protocolErrors, &text)
        labelled(
            "ocelli_http_timeouts_total", "Requests refused because the client sent too slowly, by reason.",
            server.timeouts, &text)
    }

    private func labelled(_ name: String, _ help: String, _ counts: [String: Int], _ text: inout MetricsText) {
        text.family(name, .counter, help)
        for (label, count) in counts.sorted(by: { $0.key < $1.key }) {
            text.sample(name, [("reason", label)], count)
        }
    }

    private func writeConnections(to text: inout MetricsText) {
        text.single("ocelli_connections_open", .gauge, "Open connections.", server.openConnections)
        text.single(
            "ocelli_connections_idle", .gauge, "Open connections that wait for a request.", server.idleConnections)
        text.single("ocelli_connections_limit", .gauge, "Maximum number of open connections.", server.connectionsLimit)
        text.single(
            "ocelli_connections_accepted_total", .counter, "Connections accepted.", server.acceptedConnections)
        text.single(
            "ocelli_connections_refused_total", .counter, "Connections closed because no descriptor was free.",
            server.refusedConnections)
        text.single(
            "ocelli_connections_evicted_total", .counter,
            "Connections closed to make room for new ones: idle ones, and slow ones.",
            server.evictedConnections)
        text.single(
            "ocelli_connections_idle_timeouts_total", .counter, "Connections closed because they were idle.",
            server.idleTimeouts)
        text.single(
            "ocelli_connections_slow_readers_total", .counter,
            "Connections reset because the client did not read the answer.",
            server.slowReaders)
        text.single("ocelli_handlers_running", .gauge, "Requests that are being handled.", server.runningHandlers)
        text.single("ocelli_body_bytes", .gauge, "Bytes of bodies in memory.", server.bodyBytes)
        text.single(
            "ocelli_body_bytes_limit", .gauge, "Maximum number of bytes of bodies in memory.", server.bodyBytesLimit)
        text.single(
            "ocelli_bodies_waiting", .gauge, "Connections that are not read because bodies are at their limit.",
            server.bodiesWaiting)
        text.single(
            "ocelli_bodies_evicted_total", .counter,
            "Bodies refused because they were the slowest when the memory for bodies was full.", server.evictedBodies)
        text.single(
            "ocelli_answer_bytes", .gauge, "Bytes of answers that clients have not read yet.", server.answerBytes
        )
        text.single(
            "ocelli_answer_socket_bytes", .gauge,
            "Bytes of answers that clients have not read yet and the kernel holds in socket buffers; up to a second old.",
            server.socketBytes)
        text.single(
            "ocelli_answer_bytes_limit", .gauge, "Maximum number of bytes of answers that clients have not read yet.",
            server.answerBytesLimit)
        text.single(
            "ocelli_answers_shed_total", .counter, "Connections reset because answers were at their limit.",
            server.shedReaders)
    }

    // MARK: Life cycle

    private func writeLife(to text: inout MetricsText) {
        text.single("ocelli_draining", .gauge, "1 while the daemon is draining.", metrics[.draining])
        text.single(
            "ocelli_drain_lost_requests_total", .counter,
            "Requests that were not answered before the end of the drain.",
            metrics[.drainLost])
        text.family("ocelli_reloads_total", .counter, "Reloads of configuration and models (SIGHUP), by result.")
        text.sample("ocelli_reloads_total", [("result", "ok")], metrics[.reloadsSucceeded])
        text.sample("ocelli_reloads_total", [("result", "failed")], metrics[.reloadsFailed])
        text.single(
            "ocelli_last_reload_successful", .gauge, "1 if the last reload succeeded, or if there was no reload.",
            metrics[.lastReloadSucceeded])
        text.family(
            "ocelli_canaries_total", .counter, "Predictions made for the service manager's watchdog, by result.")
        text.sample("ocelli_canaries_total", [("result", "ok")], metrics[.canariesSucceeded])
        text.sample("ocelli_canaries_total", [("result", "failed")], metrics[.canariesFailed])
        text.single(
            "ocelli_log_lines_suppressed_total", .counter, "Log lines left out because they repeated.",
            Int(clamping: suppressedLogLines))
        text.single(
            "ocelli_log_lines_dropped_total", .counter,
            "Log lines lost because standard error was not read fast enough.", Int(clamping: lostLogLines))
    }

    private func writeProcess(to text: inout MetricsText) {
        let process = ProcessStatistics()
        text.family("process_cpu_seconds_total", .counter, "Processor time of the process, in seconds.")
        text.sample("process_cpu_seconds_total", text: "\(process.cpuSeconds)")
        text.single(
            "process_resident_memory_bytes", .gauge, "Resident memory of the process.", process.residentBytes)
        text.single("process_virtual_memory_bytes", .gauge, "Address space of the process.", process.virtualBytes)
        text.single("process_open_fds", .gauge, "Open file descriptors.", process.openDescriptors)
        text.single("process_max_fds", .gauge, "Maximum number of open file descriptors.", process.maximumDescriptors)
        text.single("process_threads", .gauge, "Threads of the process.", process.threads)
        text.family("process_start_time_seconds", .gauge, "When the process was started, since 1970.")
        text.sample("process_start_time_seconds", text: Units.decimal(process.startSeconds, places: 2))
    }
}

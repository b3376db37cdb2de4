internal import FlowControl
package import HTTPServer
internal import HTTPWire
package import Inference
package import Repository
internal import Synchronization
internal import SystemSupport
package import WireFormats

/// The counters of the service: always on, and without a lock on the path of a request.
///
/// Label values come from bounded sets only: routes, models of the repository, reasons in the code. They never contain
/// data from a client.
package final class ServiceMetrics: Sendable {
    /// The stage at which a request was cancelled or its client disconnected; the label `stage`.
    enum CancelStage: Int, CaseIterable {
        case head, body, queue, decode, infer, postprocess, answer
    }
    /// The reasons for refusing a request before any work on it.
    static let refusalReasons = [
        "queue_full", "overloaded", "wait_timed_out", "deadline_exceeded", "deadline_unreachable", "displaced",
        "draining",
        "model_not_ready", "shutting_down",
    ]

    /// Numbers of the whole process.
    package enum Counter: Int, CaseIterable {
        case reloadsSucceeded, reloadsFailed, drainLost, canariesSucceeded, canariesFailed
        case lastReloadSucceeded, draining
        case taughtChanges, taughtExamples, taughtEvaluations
    }

    package let models = LabelledList { ModelMetrics() }
    /// The most frequent routes come first, where they are found sooner. Only used routes are reported.
    package let routes = LabelledList(["/healthz", "/readyz", "/v1/classify"]) { RouteMetrics() }
    /// Error answers by code and reason: `overloaded/queue_full`. The ones used in alerts begin at 0: Prometheus's
    /// increase() does not notice a counter that begins at 1.
    package let errors = LabelledList([
        "internal/engine", "internal/internal", "engine_output_invalid/engine_output_invalid",
    ]) { AtomicCounters(1) }
    package let refusals = LabelledList(ServiceMetrics.refusalReasons) { AtomicCounters(1) }
    /// Pictures that were not kept, by reason.
    package let notKept = LabelledList([
        "disk_full", "failed", "no_picture", "queue_full", "rate", "too_large",
    ]) { AtomicCounters(1) }
    private let cancellations = AtomicCounters(CancelStage.allCases.count)
    private let counters = AtomicCounters(Counter.allCases.count)

    package init() {
        counters.set(1, at: Counter.lastReloadSucceeded.rawValue)
    }

    package func add(_ counter: Counter, _ amount: UInt64 = 1) { counters.add(amount, at: counter.rawValue) }
    package func set(_ counter: Counter, _ value: UInt64) { counters.set(value, at: counter.rawValue) }
    package subscript(counter: Counter) -> UInt64 { counters[counter.rawValue] }

    // MARK: Pictures

    /// Records the stages of one picture, in nanoseconds. `total` is from the request's first byte to its encoded
    /// answer; the default is the stages' sum.
    @inline(never)  // so that a profile shows its cost (Benchmarks/overhead/instructions)
    package func record(_ times: StageTimes, recv: UInt64, encode: UInt64, model: String, total: UInt64? = nil) {
        models.with(model) { metrics in
            metrics.add(.pictures)
            metrics[.recv].record(recv)
            if times.load > 0 { metrics[.load].record(times.load) }
            metrics[.queue].record(times.queue)
            metrics[.decode].record(times.decode)
            metrics[.infer].record(times.inference)
            if times.postprocess > 0 { metrics[.postprocess].record(times.postprocess) }
            metrics[.encode].record(encode)
            metrics[.total].record(total ?? recv &+ times.sum &+ encode)
        }
    }

    /// Counts the detections, or the lines of text, in one picture.
    package func found(_ count: Int, task: ObservationTask, model: String) {
        switch task {
        case .detect: models[model].add(.detections, UInt64(clamping: count))
        case .read: models[model].add(.lines, UInt64(clamping: count))
        case .segment, .keypoints, .embed: break
        }
    }

    /// Counts the stages of a reader's answer for one picture.
    /// - Parameter skipped: the regions that were not read because of a limit.
    package func record(_ stages: [StageTimes.Stage], skipped: Int, ofReader model: String) {
        models[model].record(stages, skipped: skipped)
    }

    /// Counts the stages of a pipeline's answer for one picture.
    package func record(_ note: PipelineNote, model: String) { models[model].record(note) }

    /// Counts a picture that is kept.
    package func kept(model: String, why: String) { models[model].kept[why].add(at: 0) }

    /// Counts a picture that is not kept, by the reason.
    package func notKept(_ reason: String) { notKept[reason].add(at: 0) }

    /// Counts a prediction that was cancelled.
    package func cancelled(_ stage: InferenceError.Stage) {
        switch stage {
        // A wait for the model counts as one for a slot.
        case .load, .queue: cancelled(at: .queue)
        case .decode: cancelled(at: .decode)
        case .inference: cancelled(at: .infer)
        case .postprocess: cancelled(at: .postprocess)
        }
    }

    private func cancelled(at stage: CancelStage) { cancellations.add(at: stage.rawValue) }

    /// Cancellations by stage.
    package var cancelled: [(stage: String, count: UInt64)] {
        CancelStage.allCases.map { ("\($0)", cancellations[$0.rawValue]) }
    }

    // MARK: Answers

    /// Counts an error answer.
    package func failed(_ error: ServiceError) {
        errors["\(error.code.rawValue)/\(error.label)"].add(at: 0)
        switch error.code {
        case .overloaded, .deadlineExceeded, .shuttingDown, .modelNotReady:
            // A cancelled request was not refused.
            if !error.label.hasPrefix("cancelled") { refusals[error.label].add(at: 0) }
        default: break
        }
    }

    /// Counts a finished request.
    package func ended(_ record: ExchangeRecord, route: String) {
        routes.with(route) { metrics in
            metrics.record(
                method: record.method?.rawValue ?? "other", code: record.status?.code ?? 0,
                received: record.bodyBytesReceived, sent: record.bodyBytesSent)
            metrics.duration.record(record.end.nanoseconds(since: record.firstByte))
        }
        guard case .clientGone(let stage) = record.outcome else { return }
        switch stage {
        case .head: cancelled(at: .head)
        case .body: cancelled(at: .body)
        case .answering: cancelled(at: .answer)
        // The handler counts its own stage.
        case .handling: break
        }
    }

    // MARK: Models

    /// Counts an event of a model.
    package func count(_ event: ModelRepository.Event) {
        switch event {
        case .loaded(let name, _, let report):
            models[name].loaded(cached: report.isCached, nanoseconds: report.total)
        case .failed(let name, _, _, let problems):
            models[name].add(.loadFailures)
            if problems.contains(where: \.isOfGoldens) { models[name].add(.goldensFailed) }
        case .rollout, .singleStreamVariant, .advice, .unchanged, .keptUnreadable, .manuallyUnloaded, .incompleteBundle:
            break
        case .unloaded(let name, _, _): models[name].add(.unloads)
        }
    }
}

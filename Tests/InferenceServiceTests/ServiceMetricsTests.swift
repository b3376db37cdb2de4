import FlowControl
import HTTPServer
import HTTPWire
import Inference
import InferenceService
internal import Repository
internal import ServiceCore
import SystemSupport
import Testing
internal import WireFormats

/// The counter of each event: refusals, cancellations, requests, stages.
@Suite struct ServiceMetricsTests {
    private func record(
        _ outcome: ExchangeRecord.Outcome, status: HTTPStatus? = .ok, method: HTTPMethod? = .post, received: Int = 3,
        sent: Int = 5
    ) -> ExchangeRecord {
        ExchangeRecord(
            requestID: "r", remote: "x", method: method, head: nil, status: status, tag: "", note: nil,
            bodyBytesReceived: received, bodyBytesSent: sent, firstByte: MonotonicInstant(nanoseconds: 1_000),
            bodyEnd: MonotonicInstant(nanoseconds: 0), responseReady: MonotonicInstant(nanoseconds: 0),
            end: MonotonicInstant(nanoseconds: 61_000), outcome: outcome)
    }

    private func refused(_ metrics: ServiceMetrics) -> [String: UInt64] {
        let all = metrics.refusals.all { $0[0] > 0 }.filter { $0.metric[0] > 0 }
        return Dictionary(all.map { ($0.label, $0.metric[0]) }) { $1 }
    }

    private func cancelled(_ metrics: ServiceMetrics) -> [String: UInt64] {
        Dictionary(metrics.cancelled.filter { $0.count > 0 }.map { ($0.stage, $0.count) }) { $1 }
    }

    /// A cancelled request was not refused, although its answer, which no client reads, is the same.
    @Test("cancelled requests are not counted as refusals")
    func cancellationsAreNotRefusals() {
        let metrics = ServiceMetrics()
        for stage in InferenceError.Stage.allCases {
            metrics.failed(ServiceError(InferenceError.cancelled(stage: stage)))
        }
        metrics.failed(ServiceError(AdmissionError.cancelled))
        #expect(refused(metrics).isEmpty)
        #expect(metrics.errors.all().filter { $0.label.hasPrefix("shutting_down/cancelled") }.count == 5)
    }

    @Test("refusals are counted by reason, and errors by code and reason")
    func refusalsByReason() {
        let metrics = ServiceMetrics()
        let wait = Duration.seconds(1)
        let errors: [AdmissionError] = [
            .queueFull(predictedWait: wait), .queueFull(predictedWait: wait),
            .overloaded(predictedWait: wait, retryAfter: wait), .waitTimedOut(wait), .deadlineExceeded,
            .deadlineUnreachable(predictedWait: wait), .displaced(predictedWait: wait),
        ]
        for error in errors { metrics.failed(ServiceError(error)) }
        metrics.failed(ServiceError(AdmissionError.draining))
        metrics.failed(ServiceError(InferenceError.modelNotReady(name: "m", reason: "r")))
        metrics.failed(ServiceError(.badRequest, "m"))
        #expect(
            refused(metrics) == [
                "queue_full": 2, "overloaded": 1, "wait_timed_out": 1, "deadline_exceeded": 1,
                "deadline_unreachable": 1, "displaced": 1, "shutting_down": 1, "model_not_ready": 1,
            ])
        let counted = metrics.errors.all().filter { $0.metric[0] > 0 }
        #expect(counted.first { $0.label == "bad_request/bad_request" }?.metric[0] == 1)
        #expect(counted.first { $0.label == "overloaded/queue_full" }?.metric[0] == 2)
    }

    @Test("cancellations are counted by the stage that the request was in, each once")
    func stagesOfCancellations() {
        let metrics = ServiceMetrics()
        for stage in InferenceError.Stage.allCases { metrics.cancelled(stage) }
        metrics.ended(record(.clientGone(.head), status: nil), route: "/a")
        metrics.ended(record(.clientGone(.body), status: nil), route: "/a")
        metrics.ended(record(.clientGone(.body), status: nil), route: "/a")
        metrics.ended(record(.clientGone(.answering)), route: "/a")
        // The handler has already counted its own stage.
        metrics.ended(record(.clientGone(.handling), status: nil), route: "/a")
        metrics.ended(record(.answered), route: "/a")
        // A wait for a model counts as one for a slot.
        #expect(
            cancelled(metrics) == [
                "head": 1, "body": 2, "queue": 2, "decode": 1, "infer": 1, "postprocess": 1, "answer": 1,
            ])
    }

    @Test("requests are counted by route, method and status, with bytes and durations")
    func requestsByRouteMethodAndStatus() {
        let metrics = ServiceMetrics()
        metrics.ended(record(.answered), route: "/a")
        metrics.ended(record(.answered, status: .notFound, method: .get), route: "/a")
        metrics.ended(
            record(.answered, status: HTTPStatus(code: 299), method: HTTPMethod(rawValue: "BREW")), route: "/a")
        metrics.ended(record(.clientGone(.head), status: nil, method: nil, received: 0, sent: 0), route: "none")
        let route = metrics.routes["/a"]
        #expect(
            route.counts.map { "\($0.method) \($0.code) \($0.count)" } == ["GET 404 1", "POST 200 1", "other other 1"])
        #expect(metrics.routes["none"].counts.map { "\($0.method) \($0.code) \($0.count)" } == ["other none 1"])
        #expect(route.bytesReceived == 9 && route.bytesSent == 15)
        // 60 µs each: above the first bound.
        #expect(route.duration.buckets[1] == 3 && route.duration.sum == 180_000)
    }

    @Test("each picture's stage times are summed per model, and detections are counted")
    func stagesOfAPicture() {
        let metrics = ServiceMetrics()
        var times = StageTimes()
        (times.queue, times.decode, times.inference) = (1, 2, 3)
        metrics.record(times, recv: 10, encode: 20, model: "m")
        metrics.record(times, recv: 10, encode: 20, model: "m", total: 100)
        (times.postprocess, times.load) = (7, 4)
        metrics.record(times, recv: 0, encode: 0, model: "m")
        let model = metrics.models["m"]
        #expect(model[.pictures] == 3)
        let sums = Stage.allCases.map { model[$0].sum }
        #expect(sums == [20, 4, 3, 6, 9, 7, 40, 36 + 100 + 17])
        for stage in [Stage.postprocess, .load] {
            #expect(model[stage].buckets.reduce(0, +) == 1, "only where there is such a stage: \(stage)")
        }
        metrics.found(4, task: .detect, model: "m")
        metrics.found(4, task: .embed, model: "m")
        #expect(model[.detections] == 4)
    }

    @Test("load failures and unloads are counted per model")
    func lifeOfModels() {
        let metrics = ServiceMetrics()
        metrics.count(.failed(name: "m", version: "1", reason: "r"))
        metrics.count(.unloaded(name: "m", version: "1", why: "w"))
        metrics.count(.unloaded(name: "m", version: "1", why: "w"))
        metrics.count(.unchanged(name: "m", version: "1"))
        #expect(metrics.models["m"][.loadFailures] == 1 && metrics.models["m"][.unloads] == 2)
        #expect(metrics[.lastReloadSucceeded] == 1, "there was none that failed")
    }

    // MARK: Text

    private func text(_ write: (inout MetricsText) -> Void) -> String {
        var text = MetricsText()
        write(&text)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    @Test("metric label values are escaped, and families have help and type lines")
    func labelsAreEscaped() {
        #expect(
            text { $0.sample("a", [("b", "x\"y\\z\n"), ("c", "é")], UInt64(7)) }
                == "a{b=\"x\\\"y\\\\z\\n\",c=\"é\"} 7\n")
        #expect(text { $0.sample("a", [], UInt64(7)) } == "a 7\n")
        #expect(text { $0.family("a", .gauge, "h") } == "# HELP a h\n# TYPE a gauge\n")
    }

    @Test(
        "nanoseconds are written as exact decimal seconds",
        arguments: [
            (0, "0"), (1, "0.000000001"), (50_000, "0.00005"), (1_000_000_000, "1"), (2_500_000_000, "2.5"),
            (999_999_999, "0.999999999"), (UInt64.max, "18446744073.709551615"),
        ])
    func nanosecondsAsSeconds(_ nanoseconds: UInt64, _ expected: String) {
        #expect(MetricsText.seconds(nanoseconds) == expected)
    }

    @Test("histogram buckets are written cumulatively, with sum and count")
    func bucketsAreCumulated() {
        let histogram = Histogram()
        for value: UInt64 in [1, 60_000, 60_000, 40_000_000_000] { histogram.record(value) }
        let lines = text { $0.histogram("h", [("a", "b")], histogram) }.split(separator: "\n").map(String.init)
        #expect(lines.first == "h_bucket{a=\"b\",le=\"0.00005\"} 1")
        #expect(lines[1] == "h_bucket{a=\"b\",le=\"0.0001\"} 3")
        #expect(
            lines.suffix(4) == [
                "h_bucket{a=\"b\",le=\"30\"} 3", "h_bucket{a=\"b\",le=\"+Inf\"} 4", "h_sum{a=\"b\"} 40.000120001",
                "h_count{a=\"b\"} 4",
            ])
    }
}

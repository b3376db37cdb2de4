internal import FoundationEssentials

extension BenchReport {
    /// The report as a JSON object; times in milliseconds.
    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(Document(self)), as: UTF8.self)
    }

    private struct Document: Encodable {
        let url: String
        let date: String
        let loop: String
        let keep_alive: Bool
        let pictures: [Picture]
        let processors: Double
        let load_average_before: Double?
        let slo: Objective?
        let steps: [Step]
        let warnings: [String]

        init(_ report: BenchReport) {
            url = report.url
            date = report.date
            loop = report.isOpenLoop ? "open" : "closed"
            keep_alive = report.keepAlive
            pictures = report.pictures.map { Picture(name: $0.name, bytes: $0.bytes) }
            processors = report.processors
            load_average_before = report.loadBefore
            slo = report.objective.flatMap { objective in
                report.verdict.map {
                    Objective(objective: objective.text, holds: $0.holds, rate: $0.rate, text: $0.text)
                }
            }
            steps = report.steps.map { Step($0) }
            warnings = report.warnings
        }
    }

    private struct Objective: Encodable {
        let objective: String
        let holds: Bool
        let rate: Double?
        let text: String
    }

    private struct Picture: Encodable {
        let name: String
        let bytes: Int
    }

    private struct Step: Encodable {
        let rate: Double?
        let connections: Int
        let connections_peak: Int
        let connections_opened: Int
        let seconds: Double
        let due: Int
        let sent: Int
        let answers_per_second: Double
        let statuses: [String: Int]
        let failures: [String: Int]
        let first_trouble: String?
        let latency_ms: Distribution
        let service_ms: Distribution
        let generator_lateness_ms: Distribution
        let generator_cpu: Double
        let waited_for_connection: Int
        let warnings: [String]

        init(_ step: StepResult) {
            rate = step.offeredRate
            connections = step.plan.connections
            connections_peak = step.peakConnections
            connections_opened = step.opened
            seconds = step.measuredSeconds
            due = step.due
            sent = step.sent
            answers_per_second = step.successRate
            statuses = Dictionary(uniqueKeysWithValues: step.statuses.map { (String($0.key), $0.value) })
            failures = Dictionary(uniqueKeysWithValues: step.failures.map { ($0.key.rawValue, $0.value) })
            first_trouble = step.firstTrouble
            latency_ms = Distribution(step.latency)
            service_ms = Distribution(step.service)
            generator_lateness_ms = Distribution(step.lateness)
            generator_cpu = step.generatorCPU
            waited_for_connection = step.waitedForConnection
            warnings = StepWarnings.about(step).map(\.text)
        }
    }

    private struct Distribution: Encodable {
        let count: UInt64
        let mean: Double
        let least: Double
        let p50: Double
        let p90: Double
        let p99: Double
        let p999: Double
        let max: Double

        init(_ histogram: LatencyHistogram) {
            func milliseconds(_ nanoseconds: UInt64) -> Double { Double(nanoseconds / 1000) / 1000 }
            count = histogram.count
            mean = milliseconds(UInt64(histogram.mean))
            least = milliseconds(histogram.minimum)
            p50 = milliseconds(histogram.percentile(50))
            p90 = milliseconds(histogram.percentile(90))
            p99 = milliseconds(histogram.percentile(99))
            p999 = milliseconds(histogram.percentile(99.9))
            max = milliseconds(histogram.greatest)
        }
    }
}

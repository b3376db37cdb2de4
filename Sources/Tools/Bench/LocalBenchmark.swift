internal import FlowControl
internal import FoundationEssentials
internal import HTTPServer
internal import Inference
internal import LoadGenerator
internal import ServicePlanning
package import Settings

/// Measures the limits of engine, decoder, pipeline and server on this machine: `ocelli bench`.
///
/// Everything runs in one process with one loaded model, in rounds in which every side takes a turn, so that a
/// disturbance of the machine affects all sides. The load generator has its own thread, whose processor time is
/// measured and counted separately. The kernel's work for the server's sockets while the generator sends counts as the
/// generator's.
package struct LocalBenchmark: Sendable {
    private let request: LocalBenchmarkRequest
    private let settings: Settings
    private let start: BenchmarkServer.Start
    private let progress: @Sendable (String) -> Void

    /// Measures. Returns the text of the report.
    /// - Parameter start: starts the daemon's server in this process.
    package static func run(
        _ request: LocalBenchmarkRequest, settings: Settings, start: @escaping BenchmarkServer.Start,
        progress: @escaping @Sendable (String) -> Void
    ) async throws -> String {
        defer { progress("") }
        let report = try await LocalBenchmark(request: request, settings: settings, start: start, progress: progress)
            .measure()
        return request.isJSON ? report.json : report.text
    }

    private func measure() async throws -> LocalBenchmarkReport {
        var report = LocalBenchmarkReport()
        report.loadBefore = ProcessFigures.loadAverage
        let pictures = try SentPictures(files: request.pictures, maximum: settings.maxBody)
        report.pictures = pictures.pictures.map { ($0.name, $0.bytes.count) }
        report.concurrency = request.concurrency
        progress("loading the model...")
        let found = try BenchModel(request.model, settings: settings)
        let model = try await found.load()
        report.model = found.name
        report.path = found.path
        let task = model.isImageClassifier ? nil : model.tasks.first
        report.route = "/v1/" + (task?.rawValue ?? "classify")
        report.processors = found.plan.resources.cpus.value
        report.instances = model.instances

        let server = try start(found.plan, found.repository)
        do {
            let target = try LoadTarget(parsing: "http://\(server.address)\(report.route)")
            let loads = try LocalBenchmarkLoads(
                model: model, task: task, pictures: pictures, concurrency: request.concurrency,
                threads: max(1, Int(report.processors.rounded(.up))), address: ServerAddress(of: target),
                requests: pictures.pictures.map {
                    RequestBytes(target: target, body: $0.bytes, keepAlive: true)
                },
                tensors: PredictionLoad.inputs(of: model))
            report.rounds = try await rounds(loads)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
        return report
    }

    private func rounds(_ loads: LocalBenchmarkLoads) async throws -> [[LocalBenchmarkSide: LocalBenchmarkRound]] {
        let count = max(3, min(20, Int(request.seconds)))
        let seconds = request.seconds / Double(count)
        // The first turn is not measured: it creates caches, pools and threads.
        for side in LocalBenchmarkSide.allCases {
            progress("warming up: \(side.rawValue)...")
            _ = try await loads.run(side, seconds: min(seconds, 0.5))
        }
        var rounds: [[LocalBenchmarkSide: LocalBenchmarkRound]] = []
        for number in 1...count {
            var round: [LocalBenchmarkSide: LocalBenchmarkRound] = [:]
            // Alternate the order of the sides: a machine that becomes slower or faster then affects all sides equally.
            let sides = number % 2 == 1 ? LocalBenchmarkSide.allCases : LocalBenchmarkSide.allCases.reversed()
            for side in sides {
                progress("round \(number) of \(count): \(side.rawValue)...")
                round[side] = try await loads.run(side, seconds: seconds)
            }
            rounds.append(round)
        }
        return rounds
    }
}

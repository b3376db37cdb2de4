internal import CSystem
internal import FlowControl
internal import Inference
internal import LoadGenerator
internal import SystemSupport

/// Keeps one side busy for a time, and counts its requests.
struct LocalBenchmarkLoads: Sendable {
    let model: Model
    /// The task for a model that does not classify.
    let task: ObservationTask?
    let pictures: SentPictures
    let concurrency: Int
    /// The number of threads of the decoding side.
    let threads: Int
    /// The address of the listener.
    let address: ServerAddress
    let requests: [RequestBytes]
    let tensors: DictionaryFeatureProvider

    func run(_ side: LocalBenchmarkSide, seconds: Double) async throws -> LocalBenchmarkRound {
        let pictures = pictures.pictures
        switch side {
        case .engine:
            // One task per slot, so that no infer request ever waits for its next input.
            return try await repeated(max(1, model.limiter.snapshot.limit), seconds: seconds) { _ in
                var options = PredictionOptions()
                options.usesTensors = true
                let slot = try await model.limiter.acquire()
                defer { slot.release() }
                try await model.tensors(from: tensors, options: options, slot: slot) { _, _ in }
            }
        case .decode:
            return try await repeated(threads, seconds: seconds) { index in
                let picture = pictures[index % pictures.count]
                do throws(InferenceError) {
                    try model.decode(EncodedImage(picture.bytes))
                } catch {
                    throw CommandError("\(picture.name): \(error)")
                }
            }
        case .pipeline:
            let top = min(5, model.description.classLabels?.count ?? 1)
            return try await repeated(concurrency, seconds: seconds) { index in
                let picture = pictures[index % pictures.count]
                do throws(InferenceError) {
                    if let task {
                        _ = try await model.observations(
                            of: EncodedImage(picture.bytes), request: ObservationRequest(task: task))
                    } else {
                        _ = try await model.classification(of: EncodedImage(picture.bytes), top: top)
                    }
                } catch {
                    throw CommandError("\(picture.name): \(error)")
                }
            }
        case .socket: return try await throughSocket(seconds)
        }
    }

    private func repeated(
        _ tasks: Int, seconds: Double, _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> LocalBenchmarkRound {
        let loop = try await CallLoop.run(tasks: tasks, seconds: seconds, body)
        var round = LocalBenchmarkRound()
        round.requests = loop.latencies.count
        round.seconds = Double(loop.time) / 1e9
        round.cpuSeconds = Double(loop.processorTime) / 1e9
        return round
    }

    private func throughSocket(_ seconds: Double) async throws -> LocalBenchmarkRound {
        var round = LocalBenchmarkRound()
        let plan = LoadPlan(loop: .closed, connections: concurrency, seconds: seconds, warmUp: 0)
        let cpu = csys_process_cpu()
        let start = MonotonicInstant.now
        let result = try await LoadThread.run(plan, to: address, requests: requests)
        round.seconds = Double(MonotonicInstant.now.nanoseconds(since: start)) / 1e9
        round.cpuSeconds = Double(csys_process_cpu() - cpu) / 1e9 - result.totalCPUSeconds
        round.generatorSeconds = result.totalCPUSeconds
        round.requests = result.successes
        guard result.failed == 0, result.refused == 0 else {
            throw CommandError(
                "through the socket, \(result.refused) answers were errors and \(result.failed) requests were not answered: "
                    + (result.firstTrouble ?? "no reason was given"))
        }
        return round
    }
}

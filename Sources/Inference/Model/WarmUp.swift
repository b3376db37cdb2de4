internal import FlowControl
internal import FoundationEssentials
internal import Glibc
internal import ImagePipeline
internal import Synchronization

/// What a model is run on before it is called ready: the pictures that its bundle names, as the tensors that they become, or
/// zeros.
struct WarmUp: Sendable {
    /// The contents of the one image input, for each picture; empty for zeros.
    let tensors: [[UInt8]]
    /// How often each runs on each infer request.
    let runs: Int

    /// A picture's file may be this large.
    private static let largestFile = 64 << 20

    /// Decodes the pictures; everything that is wrong with them is a problem.
    init(_ request: ModelRuntime.WarmUp?, plan: ModelPlan, problems: ProblemList) {
        runs = request?.runs ?? 1
        tensors = Self.tensors(of: request?.pictures ?? [], plan: plan, problems: problems)
    }

    private static func tensors(
        of pictures: [(path: String, file: String)], plan: ModelPlan, problems: ProblemList
    ) -> [[UInt8]] {
        guard let first = pictures.first else { return [] }
        guard plan.inputs.count == 1, let input = plan.inputs.first, case .image(let pipeline) = input.kind else {
            problems.add(first.path, "is for models with one image input: this one runs on zeros, without \"image\"")
            return []
        }
        var tensors: [[UInt8]] = []
        for (path, file) in pictures {
            do throws(ImageError) {
                tensors.append(try Self.tensor(of: file, pipeline: pipeline))
            } catch {
                let name = file.split(separator: "/").last.map(String.init) ?? file
                problems.add(path, "\"\(name)\" cannot be used: \(error.message)")
            }
        }
        return tensors
    }

    private static func tensor(of file: String, pipeline: ImagePipeline) throws(ImageError) -> [UInt8] {
        var status = stat()
        let isRead = stat(file, &status) == 0 && status.st_size <= largestFile
        let data = isRead ? FileManager.default.contents(atPath: file) ?? Data() : Data()
        var tensor = [UInt8](repeating: 0, count: pipeline.spec.byteCount)
        let outcome = tensor.withUnsafeMutableBytes { destination in
            data.withUnsafeBytes { bytes -> Result<ImageInfo, ImageError> in
                do throws(ImageError) {
                    return .success(
                        try pipeline.prepare(
                            bytes, into: destination, options: ImageDecodeOptions(), isCancelled: { false }))
                } catch {
                    return .failure(error)
                }
            }
        }
        _ = try outcome.get()
        return tensor
    }
}

extension Model {
    /// Runs every infer request: what an engine puts off until the first inference is then done before a client waits for it,
    /// and a model that cannot run at all does not become ready.
    func warmUp(_ warmUp: WarmUp) async throws(InferenceError) {
        // Inputs of open shape have no zeros to be made of: their first prediction is their warm-up.
        guard hasZeros, warmUp.runs > 0 else { return }
        let start = MonotonicInstant.now
        // All are taken before the first is given back: the pool hands out first what came back last.
        var taken: [RequestPool.PooledRequest] = []
        defer { for pooled in taken { requests.release(pooled) } }
        do throws(AdmissionError) {
            for _ in 0..<requests.count { taken.append(try await requests.acquire(deadline: nil)) }
        } catch {
            throw .cancelled(stage: .queue)
        }
        do throws(EngineError) {
            let filled = try tensors.take()
            for tensor in filled.tensors {
                for index in tensor.bytes.indices { tensor.bytes[index] = 0 }
            }
            for round in 0..<max(1, warmUp.tensors.count) {
                if round < warmUp.tensors.count, let tensor = filled.tensors.first,
                    tensor.bytes.count == warmUp.tensors[round].count
                {
                    tensor.bytes.copyBytes(from: warmUp.tensors[round])
                }
                for pooled in taken {
                    for (position, input) in plan.inputs.enumerated() {
                        try pooled.request.setInput(input.index, to: filled.tensors[position])
                    }
                    for _ in 0..<warmUp.runs {
                        try await Self.infer(pooled.request)
                        load.withLock {
                            $0.firstPrediction = $0.firstPrediction ?? MonotonicInstant.now.nanoseconds(since: start)
                        }
                    }
                }
            }
            tensors.giveBack(filled)
        } catch {
            throw .engine(error)
        }
        let time = MonotonicInstant.now.nanoseconds(since: start)
        load.withLock { $0.warmUp = time }
    }
}

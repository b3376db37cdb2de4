internal import FlowControl
internal import FoundationEssentials
internal import ImagePipeline
internal import Synchronization
internal import SystemSupport

/// The inputs that a model is run on before it is called ready: the pictures that its bundle names, as the tensors that they
/// become, or zeros.
struct WarmUp: Sendable {
    /// The contents of the one image input, for each picture; empty for zeros.
    let tensors: [[UInt8]]
    /// The number of runs of each on each infer request.
    let runs: Int

    /// The largest file of a picture, in bytes.
    private static let largestFile = 64 << 20

    /// Decodes the pictures; everything that is wrong with them is a problem.
    init(_ request: ModelRuntime.WarmUpSettings?, plan: ModelPlan, problems: ProblemList) {
        runs = request?.runs ?? 1
        tensors = Self.tensors(of: request?.pictures ?? [], plan: plan, problems: problems)
    }

    private static func tensors(
        of pictures: [(path: String, file: String)], plan: ModelPlan, problems: ProblemList
    ) -> [[UInt8]] {
        guard let first = pictures.first else { return [] }
        guard plan.inputs.count == 1, let input = plan.inputs.first, case .image(let pipeline) = input.kind else {
            problems.add(
                first.path, "is for models with one image input: remove \"image\", and this model runs on zeros")
            return []
        }
        var tensors: [[UInt8]] = []
        for (path, file) in pictures {
            let name = file.split(separator: "/").last.map(String.init) ?? file
            switch BundleFile.read(file, most: largestFile) {
            case .failure(let problem): problems.add(path, "\"\(name)\" \(problem.reason)")
            case .success(let data):
                do throws(ImageError) {
                    tensors.append(try Self.tensor(of: data, pipeline: pipeline))
                } catch {
                    problems.add(path, "\"\(name)\" cannot be used: \(error.message)")
                }
            }
        }
        return tensors
    }

    private static func tensor(of data: Data, pipeline: ImagePipeline) throws(ImageError) -> [UInt8] {
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
        // All are taken before the first is released: the pool hands out first what came back last.
        var taken: [RequestPool.PooledRequest] = []
        defer { for pooled in taken { pooled.release() } }
        do throws(AdmissionError) {
            for _ in 0..<requests.count { taken.append(try await requests.acquire(deadline: nil)) }
        } catch {
            throw .cancelled(stage: .queue)
        }
        do throws(EngineError) {
            let filled = try tensors.take()
            for tensor in filled.tensors { tensor.zero() }
            for round in 0..<max(1, warmUp.tensors.count) {
                if round < warmUp.tensors.count, let tensor = filled.tensors.first,
                    tensor.bytes.count == warmUp.tensors[round].count
                {
                    tensor.bytes.copyBytes(from: warmUp.tensors[round])
                }
                for pooled in taken {
                    try setInputs(of: pooled.request, to: filled.tensors)
                    for run in 0..<warmUp.runs {
                        try await Self.inferAnything(pooled.request)
                        load.withLock {
                            $0.firstPrediction = $0.firstPrediction ?? MonotonicInstant.now.nanoseconds(since: start)
                        }
                        if run == 0 { try lookAtScores(of: pooled.request) }
                    }
                }
            }
            tensors.giveBack(filled)
        } catch {
            throw .engine(error)
        }
        if let batch { try await self.warmUp(batch, on: warmUp.tensors.first) }
        let time = MonotonicInstant.now.nanoseconds(since: start)
        load.withLock { $0.warmUp = time }
    }

    /// Runs every infer request for batches once, with as many items as there may be: what compiles need not run, and the
    /// first full batch is too late to find out.
    /// - Parameter item: the contents of the one input for each of the items; nil for zeros.
    private func warmUp(_ batch: BatchVariant, on item: [UInt8]?) async throws(InferenceError) {
        let wholes = try tensors(of: batch, count: batch.limit)
        for whole in wholes {
            for index in 0..<batch.limit {
                let part = BatchItemTensor(index, of: batch.limit, in: whole)
                if let item, item.count == part.bytes.count {
                    part.bytes.copyBytes(from: item)
                } else {
                    part.zero()
                }
            }
        }
        var taken: [RequestPool.PooledRequest] = []
        defer { for pooled in taken { pooled.release() } }
        do throws(AdmissionError) {
            for _ in 0..<batch.requests.count { taken.append(try await batch.requests.acquire(deadline: nil)) }
        } catch {
            throw .cancelled(stage: .queue)
        }
        do throws(EngineError) {
            for pooled in taken {
                try setInputs(of: pooled.request, to: wholes)
                try await Self.inferAnything(pooled.request)
                let last = BatchItemOutputs(request: pooled.request, item: batch.limit - 1, count: batch.limit)
                for output in plan.outputs { try last.withOutput(output.index) { _, _ in } }
            }
        } catch {
            let reason = "is \(batch.limit), but the model does not run on \(batch.limit) items: \(error.message)"
            throw .invalidBundle(
                name: description.name, problems: [BundleProblem(path: "runtime.batch", reason: reason)])
        }
    }
}

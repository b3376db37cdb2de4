internal import FoundationEssentials
internal import ImagePipeline
internal import SystemSupport

/// The inputs that a model runs before it becomes ready: the pictures that its bundle names, as tensors, or zeros.
struct WarmUp: Sendable {
    /// The contents of the image input for each picture; empty for zeros.
    let tensors: [[UInt8]]
    /// The number of runs of each input on each infer request.
    let runs: Int

    /// The maximum size of a picture's file in bytes.
    private static let largestFile = 64 << 20

    /// Decodes the pictures; each error is added to the problems.
    init(_ request: ModelRuntime.WarmUpSettings?, plan: ModelPlan, problems: ProblemList) {
        runs = request?.runs ?? 1
        tensors = Self.tensors(of: request?.pictures ?? [], plan: plan, problems: problems)
    }

    private static func tensors(
        of pictures: [(path: String, file: String)], plan: ModelPlan, problems: ProblemList
    ) -> [[UInt8]] {
        guard let first = pictures.first else { return [] }
        guard plan.inputs.count == 1, let input = plan.inputs.first, case .image(let pipeline) = input.kind,
            pipeline.spec.openSize == nil
        else {
            problems.add(
                first.path,
                "is for models with one image input of a fixed size: remove \"image\", and "
                    + (plan.hasZeros ? "this model runs on zeros" : "the first request warms this model up"))
            return []
        }
        var tensors: [[UInt8]] = []
        for (path, file) in pictures {
            let name = FilePath.name(of: file) ?? file
            switch BundleFile.read(file, maximum: largestFile) {
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
                Result { () throws(ImageError) in
                    try pipeline.prepare(
                        bytes, into: destination, options: ImageDecodeOptions(), isCancelled: { false })
                }
            }
        }
        _ = try outcome.get()
        return tensor
    }
}

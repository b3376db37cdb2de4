internal import FlowControl
public import ImagePipeline
internal import SystemSupport

/// A picture in the form that a model gets.
public struct PreprocessedImage: Sendable {
    /// The preprocessing steps.
    public let report: PreprocessingReport
    /// The resulting tensor's specification.
    public let spec: ImageTensorSpec
    /// The tensor, exactly as the engine would read it.
    public let tensor: [UInt8]
    /// The sizes among which requests may choose; nil for a tensor of one size, or of the picture's.
    package var sizes: OpenSize?

    /// The tensor as a file that `numpy.load` reads.
    public func npy() throws(ImageError) -> [UInt8] {
        try tensor.lent { (raw) throws(ImageError) in
            try NPYEncoder.encode(raw, shape: spec.shape, element: spec.element)
        }
    }

    /// The tensor as a picture: the model's view, but without normalization.
    public func png() throws(ImageError) -> [UInt8] {
        try tensor.lent { (raw) throws(ImageError) in try PixelReconstruction(undoing: spec).png(raw) }
    }
}

extension Model {
    /// The specification of the tensor for a picture; nil for a model that does not take one.
    package var imageSpec: ImageTensorSpec? {
        description.imageInput.flatMap { pictureInput($0.name)?.pipeline.spec }
    }

    /// Prepares a picture as for a prediction, and returns the tensor instead of running the model. Use it to compare
    /// with the pipeline that the model was trained with.
    ///
    /// Takes no slot. Computes on the calling thread.
    /// - Parameter input: the name of the input; nil for the only one that takes pictures.
    public func preprocess(
        _ image: EncodedImage, of input: String? = nil, options: PredictionOptions = PredictionOptions()
    ) throws(InferenceError) -> PreprocessedImage {
        try preprocess(image, of: input, options: options) { Task.isCancelled }
    }

    /// Preprocesses on a separate thread of low priority, because it is rarely requested.
    package func preprocess(
        lowPriority image: EncodedImage, of input: String? = nil, options: PredictionOptions
    ) async throws(InferenceError) -> PreprocessedImage {
        guard let plan = pictureInput(input)?.plan else { return try preprocess(image, of: input, options: options) }
        let ready = try await ready(.image(image), plan: plan, options: options)
        defer { ready.room?.release() }
        guard case .image(let image) = ready.value else {
            return try preprocess(image, of: input, options: options)
        }
        let result: Result<PreprocessedImage, InferenceError> = await LongDecoding.run { isCancelled in
            Result { () throws(InferenceError) in
                try self.preprocess(image, of: input, options: options, isStopped: isCancelled)
            }
        }
        return try result.get()
    }

    private func preprocess(
        _ image: EncodedImage, of input: String?, options: PredictionOptions, isStopped: @escaping () -> Bool
    ) throws(InferenceError) -> PreprocessedImage {
        guard let (input, pipeline) = pictureInput(input) else {
            throw .unsupported(model: description.name, reason: "does not take one image")
        }
        let decoding = image.decoding(options)
        let deadline = options.deadline
        let isCancelled = { isStopped() || deadline.hasPassed }
        do throws(ImageError) {
            let image = try image.decodedHere(pipeline, page: options.page, isCancelled: isCancelled)
            let sizes = pipeline.spec.openSize.flatMap { $0.usual == nil ? nil : $0 }
            let pipeline = pipeline.resolved(for: try pipeline.checked(image), options: decoding)
            var tensor = [UInt8](repeating: 0, count: pipeline.spec.byteCount)
            let outcome = tensor.withUnsafeMutableBytes { destination -> Result<ImageInfo, ImageError> in
                Result { () throws(ImageError) in
                    try image.prepare(pipeline, into: destination, options: decoding, isCancelled: isCancelled)
                }
            }
            _ = try outcome.get()
            return PreprocessedImage(
                report: try image.explain(pipeline, options: decoding), spec: pipeline.spec, tensor: tensor,
                sizes: sizes)
        } catch {
            if case .cancelled = error { throw .stopped(at: .decode) }
            throw .image(error, input: input.description.name)
        }
    }
}

extension [UInt8] {
    /// Calls `body` with the bytes, and rethrows its typed errors, unlike the standard library's method.
    fileprivate func lent<R>(_ body: (UnsafeRawBufferPointer) throws(ImageError) -> R) throws(ImageError) -> R {
        let result = withUnsafeBytes { raw -> Result<R, ImageError> in
            Result { () throws(ImageError) in try body(raw) }
        }
        return try result.get()
    }
}

internal import FlowControl
internal import ImagePipeline
internal import SystemSupport

/// Checks the values of a model's inputs, and writes them into tensors.
extension Model {
    /// Refuses names that the model does not have, which would otherwise be silently ignored.
    func checkNames(_ features: some FeatureProvider) throws(InferenceError) {
        let known = plan.inputs.map(\.description.name)
        for name in features.featureNames where !known.contains(name) {
            throw .invalidInput(name: name, reason: "the model has no input of this name; it has \(known.listed)")
        }
    }

    /// The shapes of inputs that the model leaves open, by position.
    func dynamicShapes(_ features: some FeatureProvider) throws(InferenceError) -> [Int: Shape] {
        var shapes: [Int: Shape] = [:]
        for (position, input) in plan.inputs.enumerated() where !input.description.shape.isStatic {
            let shape: Shape
            switch features.featureValue(for: input.description.name) {
            case .multiArray(let array)?: shape = array.shape
            case .borrowedArray(let array)?: shape = array.shape
            case .strings(let array)?: shape = array.shape
            case .string?: shape = Shape(input.description.shape.dimensions.map { $0 == Shape.dynamic ? 1 : $0 })
            default: continue
            }
            let expected = input.description.shape.dimensions, found = shape.dimensions
            let fits =
                expected.count == found.count
                && zip(expected, found).allSatisfy { $0 == Shape.dynamic || $0 == $1 }
            guard fits else {
                throw .invalidInput(
                    name: input.description.name,
                    reason: "expected shape \(input.description.shape), found \(shape)")
            }
            if let limits = input.description.shapeLimits, !limits.allows(shape) {
                throw .invalidInput(
                    name: input.description.name, reason: "expected \(limits.description), found \(shape)")
            }
            shapes[position] = shape
        }
        return shapes
    }

    /// The value of an input.
    static func value(
        of input: InputPlan, in features: some FeatureProvider
    ) throws(InferenceError) -> FeatureValue? {
        guard let value = features.featureValue(for: input.description.name) else {
            if input.fallback != nil { return nil }
            throw .invalidInput(name: input.description.name, reason: "is missing")
        }
        return value
    }

    /// The input that takes pictures, or the one with a name; nil if no input matches, or several do and no name is
    /// given.
    func pictureInput(_ name: String? = nil) -> (plan: InputPlan, pipeline: ImagePipeline)? {
        var found: (plan: InputPlan, pipeline: ImagePipeline)?
        for input in plan.inputs {
            guard case .image(let pipeline) = input.kind, name == nil || input.description.name == name else {
                continue
            }
            if found != nil { return nil }
            found = (input, pipeline)
        }
        return found
    }

    /// The picture with its header read, so that the cost of decoding it is known.
    /// - Parameter input: the name of the input; nil for the only one that takes pictures.
    package func reading(_ image: EncodedImage, of input: String? = nil) -> EncodedImage {
        guard image.demand == nil, let (input, pipeline) = pictureInput(input) else { return image }
        var image = image
        image.demand = pipeline.demand(of: image)
        image.inferenceTime = inferenceTime(of: image, input)
        return image
    }

    /// The expected nanoseconds of work on the pictures among some values: of decoding, and of inference if that
    /// depends on their size.
    package func pictureTime(of features: some FeatureProvider) -> UInt64 {
        plan.inputs.reduce(0) { sum, input in
            guard case .image(let image)? = features.featureValue(for: input.description.name) else { return sum }
            return sum &+ FeatureValue.image(image).decodingTime(input) &+ inferenceTime(of: image, input)
        }
    }

    /// Fills an input's tensor; a long decoding runs on its own thread.
    func fill(
        _ tensor: any EngineTensor, with value: FeatureValue, plan: InputPlan, options: PredictionOptions
    ) async throws(InferenceError) -> ImageInfo? {
        let deadline = options.deadline
        guard value.decodingTime(plan) >= Claim.long else {
            let filler = InputFiller(options: options) {
                Task.isCancelled || deadline.hasPassed
            }
            return try filler.fill(tensor, with: value, plan: plan)
        }
        let result: Result<ImageInfo?, InferenceError> = await LongDecoding.run { isCancelled in
            let filler = InputFiller(options: options) {
                isCancelled() || deadline.hasPassed
            }
            return Result { () throws(InferenceError) in try filler.fill(tensor, with: value, plan: plan) }
        }
        return try result.get()
    }

    /// Reserves memory for decoding an input's value if it is a picture; release it when the picture is decoded.
    /// Otherwise nil.
    func decodeRoom(
        for value: FeatureValue?, plan: InputPlan, options: PredictionOptions, keeping kept: Int = 0,
        more: (ImageInfo) -> Int = { _ in 0 }
    ) async throws(InferenceError) -> DecodeBudget.Room? {
        guard case .image(let pipeline) = plan.kind, case .image(let image)? = value else { return nil }
        var bytes = pipeline.demand(of: image).memory
        // If the header cannot be read, or is over a limit, the decoder refuses the picture before it takes memory.
        if kept > 0 || pipeline.spec.openSize != nil, let info = try? pipeline.checked(image) {
            bytes = Self.memory(
                bytes + pipeline.openTensorBytes(info, image.decoding(options)) + more(info), of: info, keeping: kept)
        }
        return try await Self.room(bytes, options, of: plan.description.name)
    }

    /// Reserves memory for decoding, and waits for it until the deadline.
    /// - Parameter input: the name of the input in the error if the budget is too small for it; nil for several.
    static func room(
        _ bytes: Int, _ options: PredictionOptions, of input: String?
    ) async throws(InferenceError) -> DecodeBudget.Room? {
        let total = DecodeBudget.shared.usage.total
        guard bytes <= total || bytes < DecodeBudget.free else {
            throw .image(
                .tooMuchMemory(bytes: bytes, limit: total, reason: "more than max_total_decode"), input: input)
        }
        do throws(AdmissionError) {
            return try await DecodeBudget.shared.take(bytes, for: options.claim, until: options.deadline)
        } catch {
            if case .cancelled = error { throw .cancelled(stage: .queue) }
            throw .refused(error)
        }
    }
}

internal import FlowControl
internal import ImagePipeline

/// Puts the values of a prediction into the engine's input memory.
struct InputFiller {
    let options: PredictionOptions
    /// Asked between batches of scanlines.
    let isCancelled: () -> Bool

    /// Fills the tensor of one input; for pictures tells what was decoded.
    func fill(
        _ tensor: any EngineTensor, with value: FeatureValue, plan: InputPlan
    ) throws(InferenceError) -> ImageInfo? {
        let name = plan.description.name
        switch (plan.kind, value) {
        case (.image(let pipeline), .image(let image)):
            return try decode(image, into: tensor, pipeline: pipeline)
        case (.image, .multiArray(let array)):
            // Pixels that a client has prepared itself, in the tensor's own form.
            try copy(array, into: tensor, name: name)
        case (.array(let linear), .multiArray(let array)):
            if linear == nil, array.elementType == tensor.elementType {
                try copy(array, into: tensor, name: name)
            } else {
                try convert(array, into: tensor, linear: linear, name: name)
            }
        case (.array(let linear), .double(let number)):
            try single(number, into: tensor, linear: linear, name: name)
        case (.array(let linear), .int64(let number)):
            try single(Double(number), into: tensor, linear: linear, name: name)
        case (.bytes, .multiArray(let array)):
            try copyBytes(array.bytes, into: tensor, name: name)
        case (.bytes, .string(let text)):
            try copyBytes(Array(text.utf8), into: tensor, name: name)
        case (.image, _):
            throw .invalidInput(name: name, reason: "expected an image, found \(value.kind)")
        default:
            throw .invalidInput(
                name: name,
                reason:
                    "expected numbers of shape \(tensor.shape) of \(tensor.elementType.rawValue), found \(value.kind)")
        }
        return nil
    }

    private func decode(
        _ image: EncodedImage, into tensor: any EngineTensor, pipeline: ImagePipeline
    ) throws(InferenceError) -> ImageInfo {
        var decoding = ImageDecodeOptions()
        decoding.cropAndScale = options.cropAndScale
        decoding.ignoreOrientation = options.ignoresOrientation
        do throws(ImageError) {
            return try image.withUnsafeBytes { (bytes) throws(ImageError) -> ImageInfo in
                try pipeline.prepare(bytes, into: tensor.bytes, options: decoding, isCancelled: isCancelled)
            }
        } catch {
            throw .image(error)
        }
    }

    private func copy(_ array: MultiArray, into tensor: any EngineTensor, name: String) throws(InferenceError) {
        guard array.elementType == tensor.elementType, array.bytes.count == tensor.bytes.count else {
            throw .invalidInput(
                name: name,
                reason: "expected shape \(tensor.shape) of \(tensor.elementType.rawValue), "
                    + "found shape \(array.shape) of \(array.elementType.rawValue)")
        }
        tensor.bytes.copyBytes(from: array.bytes)
    }

    private func copyBytes(_ bytes: [UInt8], into tensor: any EngineTensor, name: String) throws(InferenceError) {
        guard bytes.count == tensor.bytes.count else {
            throw .invalidInput(
                name: name,
                reason: "expected \(tensor.bytes.count) bytes (shape \(tensor.shape) of "
                    + "\(tensor.elementType.rawValue)), found \(bytes.count)")
        }
        tensor.bytes.copyBytes(from: bytes)
    }

    private func convert(
        _ array: MultiArray, into tensor: any EngineTensor, linear: LinearTransform?, name: String
    ) throws(InferenceError) {
        guard let count = tensor.shape.elementCount, array.count == count else {
            throw .invalidInput(
                name: name,
                reason:
                    "expected \(tensor.shape.elementCount ?? 0) numbers (shape \(tensor.shape)), found \(array.count)")
        }
        array.bytes.withUnsafeBytes { raw in
            ElementConversion.read(raw, as: array.elementType) { index, value in
                ElementConversion.write(linear?(value) ?? value, at: index, as: tensor.elementType, to: tensor.bytes)
            }
        }
    }

    private func single(
        _ number: Double, into tensor: any EngineTensor, linear: LinearTransform?, name: String
    ) throws(InferenceError) {
        guard tensor.shape.elementCount == 1 else {
            throw .invalidInput(
                name: name,
                reason: "expected \(tensor.shape.elementCount ?? 0) numbers (shape \(tensor.shape)), found one")
        }
        ElementConversion.write(linear?(number) ?? number, at: 0, as: tensor.elementType, to: tensor.bytes)
    }
}

internal import ImagePipeline

/// Takes the values of a prediction out of the engine's output memory.
enum OutputReader {
    /// The value of one output, as the bundle describes it.
    static func value(
        of plan: OutputPlan, shape: Shape, raw: UnsafeRawBufferPointer
    ) throws(InferenceError) -> FeatureValue {
        let type = plan.description.elementType
        switch plan.kind {
        case .image(let image, let width, let height):
            return .image(try png(of: image, width: width, height: height, type: type, raw: raw))
        case .bytes:
            return .multiArray(try MultiArray(elementType: type, shape: shape, bytes: [UInt8](raw)))
        case .array, .scalar:
            if let labels = plan.description.labels {
                let reader = ScoreReader(elementType: type, linear: plan.linear, activation: plan.activation)
                return reader.withScores(raw) { scores in
                    .dictionary(zip(labels, scores).map { LabeledValue(label: $0, value: Double($1)) })
                }
            }
            guard plan.linear != nil || plan.activation != nil else {
                return .multiArray(try MultiArray(elementType: type, shape: shape, bytes: [UInt8](raw)))
            }
            let reader = ScoreReader(elementType: type, linear: plan.linear, activation: plan.activation)
            let floats = reader.withScores(raw) { Array($0) }
            return .multiArray(try MultiArray(shape: shape, floats: floats))
        }
    }

    /// A picture that the model made, as PNG: pixel = (value + bias) * scale, rounded and clamped to a byte.
    private static func png(
        of image: ModelManifest.ImageLayer, width: Int, height: Int, type: ElementType, raw: UnsafeRawBufferPointer
    ) throws(InferenceError) -> EncodedImage {
        let channels = image.scale.count
        let plane = width * height
        guard raw.count == plane * channels * type.byteCount else {
            throw .engine(
                EngineError(
                    kind: .failure, operation: "read a picture",
                    detail: "\(raw.count) bytes are not \(width)x\(height)x\(channels) of \(type.rawValue)"))
        }
        var pixels = [UInt8](repeating: 0, count: plane * channels)
        ElementConversion.read(raw, as: type) { index, value in
            let pixel = image.layout == .nhwc ? index / channels : index % plane
            let stored = image.layout == .nhwc ? index % channels : index / plane
            let channel = image.channelOrder == .bgr ? 2 - stored : stored
            let byte = ((value + image.bias[channel]) * image.scale[channel]).rounded(.toNearestOrAwayFromZero)
            pixels[pixel * channels + channel] = byte >= 0 ? UInt8(min(byte, 255)) : 0
        }
        do throws(ImageError) {
            let png = pixels.withUnsafeBytes { raw -> Result<[UInt8], ImageError> in
                do throws(ImageError) {
                    return .success(
                        try PNGEncoder.encode(width: width, height: height, channels: channels, pixels: raw))
                } catch {
                    return .failure(error)
                }
            }
            return EncodedImage(try png.get())
        } catch {
            throw .image(error)
        }
    }
}

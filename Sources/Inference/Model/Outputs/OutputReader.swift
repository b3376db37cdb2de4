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
        case .feature:
            throw .engine(
                EngineError(
                    kind: .failure, operation: "read output \"\(plan.description.name)\"", detail: "it gave no value"))
        case .classLabel(let labels):
            let reader = ScoreReader(elementType: plan.scoreType, linear: plan.linear, activation: plan.activation)
            let best = reader.withScores(raw) { TopK.select($0, count: 1, threshold: -.infinity).first?.index }
            guard let label = labels.value(at: best ?? 0) else {
                throw .engine(
                    EngineError(kind: .failure, operation: "read the class label", detail: "there are too few labels"))
            }
            return label
        case .array, .scalar:
            if let labels = plan.description.labels, !labels.isEmpty, type.byteCount > 0,
                case let count = raw.count / type.byteCount, count > labels.count, count % labels.count == 0
            {
                // A row of scores for each item.
                let size = labels.count * type.byteCount
                var rows: [FeatureValue] = []
                for start in stride(from: 0, to: raw.count, by: size) {
                    let row = UnsafeRawBufferPointer(rebasing: raw[start..<start + size])
                    rows.append(try value(of: plan, shape: [labels.count], raw: row))
                }
                return .sequence(rows)
            }
            if let labels = plan.description.labels, type == .float64, plan.linear == nil, plan.activation == nil {
                var values: [Double] = []
                ElementConversion.read(raw, as: type) { values.append($1) }
                return .dictionary(zip(labels, values).map { LabeledValue(label: $0, value: $1) })
            }
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
        guard let element = type.pixelElement else {
            throw .engine(
                EngineError(
                    kind: .failure, operation: "read a picture",
                    detail: "it holds \(type.rawValue), which cannot become pixels"))
        }
        let reconstruction = PixelReconstruction(
            width: width, height: height, channelOrder: image.channelOrder, layout: image.layout, element: element,
            scale: image.scale.map { Float($0) }, bias: image.bias.map { Float($0) })
        do throws(ImageError) {
            return EncodedImage(try reconstruction.png(raw))
        } catch {
            throw .image(error)
        }
    }
}

extension ElementType {
    /// The type as one that pictures can be put into and read from; nil for the others.
    var pixelElement: PixelElement? {
        switch self {
        case .uint8: .uint8
        case .int8: .int8
        case .float16: .float16
        case .float32: .float32
        default: nil
        }
    }
}

import ImagePipeline

/// Reads the values of a prediction from the engine's output memory.
enum OutputReader {
    /// The value of one output, as the bundle describes it.
    static func value(
        of plan: OutputPlan, shape: Shape, raw: UnsafeRawBufferPointer
    ) throws(InferenceError) -> FeatureValue {
        let type = plan.description.elementType
        switch plan.kind {
        case .image(let image, let width, let height):
            let form = try form(of: image, width: width, height: height, type: type, shape: shape, count: raw.count)
            do throws(ImageError) { return .image(EncodedImage(try form.png(raw))) } catch { throw .image(error) }
        case .bytes:
            return .multiArray(try MultiArray(elementType: type, shape: shape, bytes: [UInt8](raw)))
        case .depth: throw .unsupported(model: plan.description.name, reason: "is a depth map, which needs its picture")
        case .feature:
            throw .engine(
                EngineError(
                    kind: .failure, operation: "read output \"\(plan.description.name)\"", detail: "it gave no value"))
        case .classLabel(let labels):
            let reader = ScoreReader(elementType: plan.scoreType, linear: plan.linear, activation: plan.activation)
            guard let best = reader.withScores(raw, { TopK.select($0, count: 1, threshold: -.infinity) }) else {
                throw reader.notNumbers(plan.description.name)
            }
            guard let label = labels.value(at: best.first?.index ?? 0) else {
                throw .engine(
                    EngineError(kind: .failure, operation: "read the class label", detail: "there are too few labels"))
            }
            return label
        case .array, .scalar:
            if let labels = plan.description.labels, !labels.isEmpty, type.byteCount > 0,
                case let count = raw.count / type.byteCount, count > labels.count, count % labels.count == 0
            {
                // Each item has a row of scores.
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

    /// The form of a picture of the size that the inference has determined; nil for another output.
    static func openForm(
        of plan: OutputPlan, shape: Shape, count: Int
    ) throws(InferenceError) -> PixelReconstruction? {
        guard case .image(let image, let width, let height) = plan.kind, [width, height].contains(Shape.dynamic) else {
            return nil
        }
        return try form(
            of: image, width: width, height: height, type: plan.description.elementType, shape: shape, count: count)
    }

    /// The conversion of elements to pixels: pixel = (value + bias) * scale, rounded and clamped to a byte.
    private static func form(
        of image: ModelManifest.ImageLayer, width: Int, height: Int, type: ElementType, shape: Shape, count: Int
    ) throws(InferenceError) -> PixelReconstruction {
        func failure(_ detail: String) -> InferenceError {
            .engine(EngineError(kind: .failure, operation: "read a picture", detail: detail))
        }
        guard let element = type.pixelElement else {
            throw failure("it holds \(type.rawValue), which cannot become pixels")
        }
        // An open side takes the size that the inference has determined.
        let sides = Array(shape.dimensions.suffix(image.layout == .nhwc ? 3 : 2).prefix(2))
        guard sides.count == 2 else { throw failure("expected a shape with a height and a width, found \(shape)") }
        let form = PixelReconstruction(
            width: width == Shape.dynamic ? sides[1] : width, height: height == Shape.dynamic ? sides[0] : height,
            channelOrder: image.channelOrder, layout: image.layout, element: element,
            scale: image.scale.map { Float($0) }, bias: image.bias.map { Float($0) })
        let values = form.channelOrder.channels * element.byteCount
        guard form.width > 0, form.height > 0,
            Shape([form.width, form.height, values]).elementCount == count
        else {
            throw failure(
                "\(form.width) x \(form.height) pixels of \(form.channelOrder.rawValue) do not fill its shape \(shape)")
        }
        return form
    }
}

extension EngineOutputs {
    /// Calls `body` with an output's memory; throws the engine's errors and those of `body`.
    func reading<R>(
        _ index: Int,
        _ body: (Shape, UnsafeRawBufferPointer) throws(InferenceError) -> R
    ) throws(InferenceError) -> R {
        let result: Result<R, InferenceError>
        do throws(EngineError) {
            result = try withOutput(index) { shape, raw in
                Result { () throws(InferenceError) in try body(shape, raw) }
            }
        } catch {
            throw .engine(error)
        }
        return try result.get()
    }
}

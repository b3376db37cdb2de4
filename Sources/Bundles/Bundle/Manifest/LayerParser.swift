internal import EngineAPI
internal import ImagePipeline
internal import JSON
internal import ModelFacts

/// Reads one entry of a manifest's `inputs` or `outputs`.
struct LayerParser {
    let object: ManifestObject
    let isInput: Bool
    let labels: (_ file: String, _ path: String) -> [String]?
    /// True if the model file describes the layer, and the object states only the differences.
    var isPartial = false

    private var problems: ProblemList { object.problems }

    private enum Kind: String, CaseIterable {
        case array, image, string, scalar, depth
    }

    /// Keys that only pictures have.
    private static let pictureMembers = [
        "format", "normalize", "crop_and_scale", "resampler", "resize_shorter_side", "decode_margin", "fill_color",
        "background_color",
    ]

    func parse() -> ModelManifest.Layer {
        var layer = ModelManifest.Layer(path: object.path, name: object.requiredString("name"), kind: .array, shape: [])
        let kind = object.choice("type", Kind.self)
        if kind == .depth {
            // The shape comes from the model file; the key is accepted but ignored.
            _ = object.value("shape")
            layer.isAsInFile = true
            if isInput { problems.add(object.path(of: "type"), "is \"depth\", which is for outputs") }
        } else {
            layer.shape = shape(ofPicture: kind == .image)
        }
        layer.elementType = elementType()
        if isPartial {
            layer.given = Set(["format", "normalize"].filter(object.has))
        } else if kind == nil, !object.has("type") {
            problems.add(
                object.path(of: "type"),
                isInput
                    ? "is missing: expected \"array\", \"image\", \"string\" or \"scalar\""
                    : "is missing: expected \"array\", \"image\", \"string\", \"scalar\", \"depth\", \"boxes\", "
                        + "\"mask\", \"keypoints\", \"embedding\" or \"text\"")
        }
        switch kind ?? (isPartial && isInput && Self.pictureMembers.contains(where: object.has) ? .image : .array) {
        case .array: layer.kind = .array
        case .scalar: layer.kind = .scalar
        case .string: layer.kind = .bytes
        case .image: layer.kind = .image(image(shape: layer.shape))
        case .depth: layer.kind = .depth
        }
        switch kind {
        case .string:
            // Raw bytes are not transformed, and only the element type determines their number.
            if !object.has("dtype") {
                problems.add(
                    object.path(of: "dtype"), "is missing: expected the element type of the bytes")
            }
        case nil where isPartial && isInput: break
        case _ where isInput: layer.linear = linear("quantize")
        case .image: break
        case .depth: layer.linear = linear("dequantize")
        default:
            layer.linear = linear("dequantize")
            if let file = object.string("labels") {
                layer.labels = ImageNetLabels.named(file) ?? labels(file, object.path(of: "labels"))
            }
            layer.activation = object.choice("activation", ModelManifest.Activation.self)
        }
        if kind == .scalar, let count = Shape(layer.shape.withoutBatch).elementCount, count != 1 {
            problems.add(object.path(of: "shape"), "\(layer.shape) has \(count) elements, a scalar has one")
        }
        object.refuseUnknownKeys()
        return layer
    }

    /// - Parameter isPicture: whether axes other than the batch may be open.
    private func shape(ofPicture isPicture: Bool) -> Shape {
        guard object.has("shape") || !isPartial else { return [] }
        guard object.has("shape") else {
            problems.add(object.path(of: "shape"), "is missing: expected an array of integers")
            return []
        }
        guard let elements = object.elements("shape") else { return [] }
        if elements.isEmpty { problems.add(object.path(of: "shape"), "is empty: expected at least one extent") }
        var dimensions: [Int] = []
        for (index, element) in elements.enumerated() {
            if case .integer(let extent) = element, extent > 0 || (extent == -1 && (index == 0 || isPicture)),
                extent <= 1 << 31
            {
                dimensions.append(extent)
            } else {
                problems.add(
                    "\(object.path(of: "shape"))[\(index)]",
                    "expected a positive integer\(index == 0 ? ", or -1 for a batch of any size" : ""), found \(element.kind)"
                )
                return []
            }
        }
        return Shape(dimensions)
    }

    private func elementType() -> ElementType? {
        object.choice("dtype", ElementType.self)
    }

    // MARK: Pictures

    private func image(shape: Shape) -> ModelManifest.ImageLayer {
        let dimensions = shape.dimensions.count == 4 ? Array(shape.dimensions.dropFirst()) : shape.dimensions
        if dimensions.count != 3 || dimensions[2] < 1 {
            if !shape.dimensions.isEmpty {
                problems.add(
                    object.path(of: "shape"),
                    "expected [height, width, channels], with -1 for a side that is the picture's own, found \(shape)")
            }
        }
        if shape.dimensions.count == 4, let batch = shape.dimensions.first, batch != 1, batch != Shape.dynamic {
            problems.add(
                "\(object.path(of: "shape"))[0]", "expected 1 or -1 for the batch of a picture, found \(batch)")
        }
        let order = object.choice("format", ChannelOrder.self)
        if order == nil, !object.has("format"), !isPartial {
            problems.add(object.path(of: "format"), "is missing: expected \"RGB\", \"BGR\" or \"GRAY\"")
        }
        let channels = order == .gray ? 1 : 3
        if dimensions.count == 3, order != nil, dimensions[2] != channels {
            problems.add(
                object.path(of: "shape"),
                "has \(dimensions[2]) channels, but format \(order?.rawValue ?? "") has \(channels)")
        }
        var image = ModelManifest.ImageLayer(
            channelOrder: order ?? .rgb,
            scale: [Double](repeating: 1, count: channels),
            bias: [Double](repeating: 0, count: channels))
        if let layout = object.choice("layout", TensorLayout.self) { image.layout = layout }
        pixelTransform(into: &image, channels: channels)
        guard isInput else { return image }
        if let crop = object.choice("crop_and_scale", CropAndScale.self) { image.cropAndScale = crop }
        if let resampler = object.choice("resampler", Resampler.self) { image.resampler = resampler }
        image.openSize = OpenSizeParser(object: object, dimensions: dimensions).parse()
        if image.openSize != nil, !object.has("crop_and_scale") { image.cropAndScale = .scaleFit }
        PictureGeometryParser(object: object, dimensions: dimensions).parse(into: &image)
        if let margin = object.number("decode_margin") {
            if margin >= 1 {
                image.decodeMargin = margin
            } else {
                problems.add(object.path(of: "decode_margin"), "expected a number of at least 1, found \(margin)")
            }
        }
        if let color = color("fill_color") { image.fillColor = color }
        if let color = color("background_color") { image.backgroundColor = color }
        return image
    }

    /// Reads a color in the form `#rrggbb`.
    private func color(_ key: String) -> [UInt8]? {
        guard let text = object.string(key) else { return nil }
        let digits = text.utf8.dropFirst()
        guard text.hasPrefix("#"), digits.count == 6, !digits.contains(UInt8(ascii: "+")),
            let value = UInt32(text.dropFirst(), radix: 16)
        else {
            problems.add(object.path(of: key), "expected a colour such as \"#ffffff\", found \"\(text)\"")
            return nil
        }
        return [
            UInt8(truncatingIfNeeded: value >> 16), UInt8(truncatingIfNeeded: value >> 8),
            UInt8(truncatingIfNeeded: value),
        ]
    }

    /// Reads `normalize` of inputs (pixel * scale + bias), `denormalize` of outputs ((value + bias) * scale), and
    /// `mean`/`std`.
    private func pixelTransform(into image: inout ModelManifest.ImageLayer, channels: Int) {
        let key = isInput ? "normalize" : "denormalize"
        guard let transform = object.object(key) else { return }
        defer { transform.refuseUnknownKeys() }
        let standard = transform.choice("standard", StandardRange.self)
        let scale = transform.number("scale")
        let bias = perChannel(transform, "bias", channels: channels)
        let mean = perChannel(transform, "mean", channels: channels)
        let deviation = perChannel(transform, "std", channels: channels)
        let offset = transform.number("offset"), twice = transform.bool("divide_by_std_twice")
        for key in ["offset", "divide_by_std_twice"] where transform.has(key) && mean == nil && deviation == nil {
            problems.add(transform.path(of: key), "is for \"mean\" and \"std\", which are missing")
        }
        image.listedColors = ["bias", "mean", "std"].filter { key in
            if case .array(let numbers)? = transform.value(key) { Set(numbers).count > 1 } else { false }
        }.map(transform.path(of:))
        let hasMoments = transform.has("mean") || transform.has("std")
        if transform.has("standard"), hasMoments {
            problems.add(transform.path, "\"mean\" and \"std\" cannot be combined with \"standard\"")
        }
        if scale == 0 { problems.add(transform.path(of: "scale"), "must not be 0") }
        if let standard {
            let (scale, bias) = isInput ? standard.normalization : standard.denormalization
            image.scale = [Double](repeating: scale, count: channels)
            image.bias = [Double](repeating: bias, count: channels)
        } else if mean != nil || deviation != nil {
            guard isInput else {
                problems.add(transform.path, "\"mean\" and \"std\" are for inputs; outputs take \"scale\" and \"bias\"")
                return
            }
            // As in training code: (pixel * scale + offset - mean) / std, where scale defaults to 1/255.
            let mean = mean ?? [Double](repeating: 0, count: channels)
            let deviation = deviation ?? [Double](repeating: 1, count: channels)
            guard deviation.allSatisfy({ $0 > 0 }) else {
                problems.add(transform.path(of: "std"), "must be greater than 0")
                return
            }
            let normalization = PixelNormalization(
                rescale: scale ?? 1 / 255, offset: offset ?? 0, mean: mean, std: deviation,
                dividesTwice: twice ?? false)
            checkMean(mean, normalization, transform)
            let divisors = deviation.map { normalization.dividesTwice ? $0 * $0 : $0 }
            image.normalization = normalization
            image.scale = divisors.map { normalization.rescale / $0 }
            image.bias = zip(mean, divisors).map { (normalization.offset - $0) / $1 }
            if bias != nil { problems.add(transform.path(of: "bias"), "cannot be combined with \"mean\" and \"std\"") }
        } else {
            // A wrong value has already been reported.
            if !hasMoments, !["standard", "scale", "bias"].contains(where: transform.has) {
                problems.add(
                    transform.path, "expected \"standard\", or \"scale\" and \"bias\", or \"mean\" and \"std\"")
            }
            image.scale = [Double](repeating: scale ?? 1, count: channels)
            image.bias = bias ?? image.bias
        }
    }

    /// Reports a mean that no pixel can reach: it is in other units than the scaled pixels.
    private func checkMean(_ mean: [Double], _ normalization: PixelNormalization, _ transform: ManifestObject) {
        let reach = 255 * abs(normalization.rescale)
        guard let worst = mean.first(where: { abs($0 - normalization.offset) > 2 * reach }) else { return }
        let scale = transform.has("scale") ? "\(normalization.rescale)" : "1/255, the default"
        problems.add(
            transform.path(of: "mean"),
            "\(worst) is out of reach: a pixel times \"scale\" (\(scale)) is at most \(reach); is it in pixels? add "
                + "\"scale\": 1")
    }

    /// Reads one number for all channels, {r, g, b}, or an array with one number for each channel in RGB order.
    private func perChannel(_ object: ManifestObject, _ key: String, channels: Int) -> [Double]? {
        guard let value = object.value(key) else { return nil }
        func number(_ value: JSONValue) -> Double? {
            switch value {
            case .integer(let number): Double(number)
            case .number(let number) where number.isFinite: number
            default: nil
            }
        }
        switch value {
        case .object:
            guard let members = object.object(key) else { return nil }
            if !["r", "g", "b"].contains(where: members.has) {
                problems.add(object.path(of: key), "expected \"r\", \"g\" and \"b\", found none of them")
            }
            let values = ["r", "g", "b"].map { members.number($0) ?? 0 }
            members.refuseUnknownKeys()
            return channels == 1 ? [values[0]] : values
        case .array(let elements):
            let values = elements.compactMap(number)
            if values.count == channels, elements.count == channels { return values }
        default:
            if let single = number(value) { return [Double](repeating: single, count: channels) }
        }
        problems.add(
            object.path(of: key),
            "expected a number, {\"r\", \"g\", \"b\"}, or an array of \(channels) number\(channels == 1 ? "" : "s"), "
                + "found \(value.kind)")
        return nil
    }

    // MARK: Quantization

    private func linear(_ key: String) -> LinearTransform? {
        object.object(key).flatMap(linear)
    }

    private func linear(_ transform: ManifestObject) -> LinearTransform? {
        defer { transform.refuseUnknownKeys() }
        let standard = transform.choice("standard", StandardRange.self)
        let scale = transform.number("scale"), bias = transform.number("bias")
        if !transform.has("standard"), !transform.has("scale") || !transform.has("bias") {
            problems.add(transform.path, "expected \"standard\", or both \"scale\" and \"bias\"")
            return nil
        }
        if isInput {
            let values = standard?.quantization ?? (scale ?? 1, bias ?? 0)
            return .biasThenScale(scale: values.0, bias: values.1)
        }
        let values = standard?.dequantization ?? (scale ?? 1, bias ?? 0)
        return .scaleThenBias(scale: values.0, bias: values.1)
    }

    /// Parses the `dequantize` object of an output.
    static func dequantization(_ transform: ManifestObject) -> LinearTransform? {
        LayerParser(object: transform, isInput: false, labels: { _, _ in nil }).linear(transform)
    }
}

/// TensorIO's named ranges, with the scale and bias of each.
private enum StandardRange: String, CaseIterable {
    case zeroToOne = "[0,1]"
    case minusOneToOne = "[-1,1]"

    /// pixel * scale + bias
    var normalization: (Double, Double) {
        switch self {
        case .zeroToOne: (1 / 255, 0)
        case .minusOneToOne: (2 / 255, -1)
        }
    }

    /// (value + bias) * scale
    var denormalization: (Double, Double) { quantization }

    /// (value + bias) * scale
    var quantization: (Double, Double) {
        switch self {
        case .zeroToOne: (255, 0)
        case .minusOneToOne: (127.5, 1)
        }
    }

    /// value * scale + bias
    var dequantization: (Double, Double) { normalization }
}

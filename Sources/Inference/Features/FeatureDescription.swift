public import ImagePipeline

/// An input or output of a model.
public struct FeatureDescription: Sendable {
    /// The name that clients use: the bundle's, which for most formats is the tensor's own.
    public let name: String
    /// The type of the elements in the engine.
    public let elementType: ElementType
    /// The tensor's shape in the engine; ``Shape/dynamic`` where each prediction may choose.
    public let shape: Shape
    /// The tensor's shape in the model file, before the bundle fixed open axes: ``Shape/dynamic`` where the file leaves
    /// an axis open.
    public let fileShape: Shape
    /// Its kind in the bundle; a bare model file has only arrays.
    public let kind: FeatureKind
    /// True if numbers are put through a transform on their way in or out (`quantize`, `dequantize`, `activation`).
    public let isTransformed: Bool
    /// For pictures: how they are converted; nil for arrays.
    public let image: ImageConstraint?
    /// For classifications: one label per class; nil if the bundle names none.
    public let labels: [String]?
    /// The activation that is applied to the scores of an output: `softmax` or `sigmoid`; nil for none.
    public internal(set) var activation: String?
    /// True if a prediction may omit the input.
    public private(set) var isOptional = false
    /// The value of each element where a prediction leaves the input out; nil if it is not optional or has no number.
    public private(set) var defaultValue: Double?
    /// True if a dictionary's keys are integers.
    public private(set) var hasIntegerKeys = false
    /// The shapes that the model file allows; nil for any where axes are open. Where no axis is, predictions have one
    /// of them only.
    package private(set) var shapeLimits: ShapeLimits?
    /// The shape that the file calls its default, where it allows several.
    package private(set) var defaultShape: Shape?
    /// True if numbers may be NaN, which the model then takes for missing.
    package private(set) var takesMissing = false
    /// A value that it may have, where zeros are none: a string, a category. For measurements.
    package private(set) var sample: FeatureValue?
    /// True if the bundle opens the batch axis that the file fixes at one (`runtime.batch`).
    private(set) var opensBatch = false

    /// The same input as encoded pictures, one element each.
    package var takingPictures: FeatureDescription {
        var pictures = FeatureDescription(
            name: name, elementType: .string, shape: shape, fileShape: fileShape, kind: kind,
            isTransformed: isTransformed,
            image: image, labels: labels)
        pictures.opensBatch = opensBatch
        return pictures
    }

    /// The same, which may be left out.
    func optional(_ isOptional: Bool, value: Double? = nil) -> FeatureDescription {
        var result = self
        result.isOptional = isOptional
        // NaN stands for a missing value.
        result.defaultValue = isOptional ? value.flatMap { $0.isFinite ? $0 : nil } : nil
        return result
    }

    /// The same dictionary, whose keys are integers.
    func withIntegerKeys(_ hasIntegerKeys: Bool) -> FeatureDescription {
        var result = self
        result.hasIntegerKeys = hasIntegerKeys
        return result
    }

    /// The same with the shapes that the file allows.
    func limited(to limits: ShapeLimits?, default shape: Shape? = nil) -> FeatureDescription {
        var result = self
        result.shapeLimits = limits
        result.defaultShape = limits == nil ? nil : shape
        return result
    }

    /// True if the file allows several shapes, and predictions have one only.
    package var isFixedByUs: Bool { shape.isStatic && (shapeLimits?.allowsSeveral ?? false) }

    /// The same, whose numbers may be missing.
    func takingMissing(_ takesMissing: Bool) -> FeatureDescription {
        var result = self
        result.takesMissing = takesMissing
        return result
    }

    /// The same with a value that it may have.
    func withSample(_ sample: FeatureValue?) -> FeatureDescription {
        var result = self
        result.sample = sample
        return result
    }

    /// The same with its batch axis opened.
    var openingBatch: FeatureDescription {
        var opened = self
        opened.opensBatch = true
        return opened
    }

    /// True if the model file or the bundle has an open batch axis: clients may send any number of items, and each
    /// prediction runs one.
    public var isBatchOpen: Bool {
        (opensBatch || fileShape.dimensions.first == Shape.dynamic) && shape.dimensions.first == 1
    }
}

/// The conversion of a picture to a tensor (Core ML's `MLImageConstraint`).
public struct ImageConstraint: Sendable, Hashable {
    /// Pixels across and down; the greatest, where the tensor takes the picture's size.
    public let width: Int, height: Int
    /// The sizes of a tensor that takes the picture's; nil for a fixed one.
    public var openSize: OpenSize?
    /// The order of the colour channels in the tensor.
    public let channelOrder: ChannelOrder
    /// The axis of the channels.
    public let layout: TensorLayout
    /// The fitting of a picture of another shape.
    public let cropAndScale: CropAndScale
    /// A pixel p of 0 to 255 becomes p * scale + bias; by channel: red, green, blue, or one for gray.
    public let scale: [Float], bias: [Float]
}

extension FeatureDescription {
    /// The choices that a prediction has, in words: to leave the feature out, and the shapes that the file allows; nil
    /// if it has none.
    package var choices: String? {
        var parts: [String] = []
        if isOptional { parts.append("optional" + (defaultValue.map { " (default \(Self.rounded($0)))" } ?? "")) }
        if let limits = shapeLimits {
            let fallback = defaultShape.map { " (default \($0))" } ?? ""
            if isFixedByUs {
                parts.append("the file allows \(limits.description)\(fallback): predictions have \(shape) only")
            } else if !shape.isStatic {
                parts.append(limits.description + fallback)
            }
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// The treatment of pixels on their way in, or of scores on their way out, in words; nil if it is unknown.
    package var treatment: String? {
        if let image {
            let ranges = zip(image.scale, image.bias).map { scale, bias in
                "\(Self.rounded(bias)) to \(Self.rounded(255 * scale + bias))"
            }
            let isSame = Set(ranges).count == 1
            return ranges.first == "0 to 255" && isSame
                ? "pixels 0 to 255 unchanged"
                : "pixels 0 to 255 become \(isSame ? ranges.prefix(1).joined() : ranges.joined(separator: ", "))"
        }
        guard labels != nil else { return activation }
        return activation.map { "\($0) of the model's output" } ?? "scores as the model returns them"
    }

    /// Three digits after the point.
    private static func rounded(_ value: Float) -> String { rounded(Double(value)) }

    private static func rounded(_ value: Double) -> String {
        let text = "\((value * 1000).rounded() / 1000 + 0)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}

/// The metadata, inputs and outputs of a model (Core ML's `MLModelDescription`).
public struct ModelDescription: Sendable {
    /// The name and metadata of the bundle; empty if it has none.
    public let name: String, details: String, identifier: String, version: String, author: String, license: String
    /// The format of the model file: `tflite`, `tensorflow`, `onnx`, `openvino` or `paddle`.
    public let backend: String
    /// The inputs and outputs, in the bundle's order.
    public let inputs: [FeatureDescription], outputs: [FeatureDescription]

    /// The one image input of an image model; nil if there is none, or another input that cannot be left out.
    public var imageInput: FeatureDescription? {
        let needed = inputs.filter { !$0.isOptional }
        guard needed.count == 1, let input = needed.first, input.image != nil else { return nil }
        return input
    }

    /// The labels that `classify` returns: those of the first labelled output, or of the classes of an embedding; nil
    /// if there are none.
    public var classLabels: [String]? { classificationOutput?.labels ?? embeddingLabels }
    /// The labels of the classes that an embedding is compared with.
    var embeddingLabels: [String]?

    /// The first labelled output, which `classify` reads; nil if there is none.
    public var classificationOutput: FeatureDescription? {
        outputs.first { $0.labels != nil }
    }
}

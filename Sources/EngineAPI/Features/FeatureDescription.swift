public import ImagePipeline

/// An input or output of a model.
public struct FeatureDescription: Sendable {
    /// The name that clients use: that in the bundle, which for most formats is the tensor's own.
    public let name: String
    /// The type of the elements in the engine.
    public let elementType: ElementType
    /// The tensor's shape in the engine; an axis is ``Shape/dynamic`` if each prediction may choose its extent.
    public let shape: Shape
    /// The tensor's shape in the model file, before the bundle fixed open axes; an axis is ``Shape/dynamic`` if the
    /// file leaves it open.
    public let fileShape: Shape
    /// Its kind in the bundle; a bare model file has only arrays.
    public let kind: FeatureKind
    /// True if numbers are transformed on input or output (`quantize`, `dequantize`, `activation`).
    public let isTransformed: Bool
    /// The conversion of pictures; nil for arrays.
    public let image: ImageConstraint?
    /// The labels of a classification, one for each class; nil if the bundle has no labels.
    public let labels: [String]?
    /// The activation that is applied to the scores of an output: `softmax` or `sigmoid`; nil for none.
    public package(set) var activation: String?
    /// True if a prediction may omit the input.
    public private(set) var isOptional = false
    /// The value of each element if a prediction omits the input; nil if it is not optional or has no such number.
    public private(set) var defaultValue: Double?
    /// True if a dictionary's keys are integers.
    public private(set) var hasIntegerKeys = false
    /// The shapes that the model file allows; nil if open axes have no limits. If no axis is open, predictions use one
    /// of these shapes only.
    package private(set) var shapeLimits: ShapeLimits?
    /// The default shape in the file, if it allows several.
    package private(set) var defaultShape: Shape?
    /// True if numbers may be NaN, which the model treats as missing values.
    package private(set) var takesMissing = false
    /// A valid value for an input for which zeros are not valid: a string, a category. For measurements.
    package private(set) var sample: FeatureValue?
    /// The composition of an output that is no tensor; nil for a tensor.
    package private(set) var composition: ValueComposition?
    /// True if the bundle opens the batch axis that the file fixes at one (`runtime.batch`).
    private(set) var opensBatch = false

    // Wide: a record, in the order of its fields.
    package init(
        name: String, elementType: ElementType, shape: Shape, fileShape: Shape, kind: FeatureKind,
        isTransformed: Bool, image: ImageConstraint?, labels: [String]?
    ) {
        self.name = name
        self.elementType = elementType
        self.shape = shape
        self.fileShape = fileShape
        self.kind = kind
        self.isTransformed = isTransformed
        self.image = image
        self.labels = labels
    }

    /// The input as encoded pictures, one for each element.
    package var takingPictures: FeatureDescription {
        var pictures = FeatureDescription(
            name: name, elementType: .string, shape: shape, fileShape: fileShape, kind: kind,
            isTransformed: isTransformed,
            image: image, labels: labels)
        pictures.opensBatch = opensBatch
        return pictures
    }

    /// A copy that is optional or not.
    package func optional(_ isOptional: Bool, value: Double? = nil) -> FeatureDescription {
        var result = self
        result.isOptional = isOptional
        // NaN means a missing value, which is not a number for clients.
        result.defaultValue = isOptional ? value.flatMap { $0.isFinite ? $0 : nil } : nil
        return result
    }

    /// A copy with integer or string keys, for a dictionary.
    package func withIntegerKeys(_ hasIntegerKeys: Bool) -> FeatureDescription {
        var result = self
        result.hasIntegerKeys = hasIntegerKeys
        return result
    }

    /// A copy with the shapes that the file allows.
    package func limited(to limits: ShapeLimits?, default shape: Shape? = nil) -> FeatureDescription {
        var result = self
        result.shapeLimits = limits
        result.defaultShape = limits == nil ? nil : shape
        return result
    }

    /// True if the file allows several shapes, but predictions can use only one.
    package var isFixedByUs: Bool { shape.isStatic && (shapeLimits?.allowsSeveral ?? false) }

    /// A copy that accepts missing numbers.
    package func takingMissing(_ takesMissing: Bool) -> FeatureDescription {
        var result = self
        result.takesMissing = takesMissing
        return result
    }

    /// A copy with a sample value.
    package func withSample(_ sample: FeatureValue?) -> FeatureDescription {
        var result = self
        result.sample = sample
        return result
    }

    /// A copy of an output that is composed so.
    package func composed(_ composition: ValueComposition?) -> FeatureDescription {
        var result = self
        result.composition = composition
        return result
    }

    /// A copy with an open batch axis.
    package var openingBatch: FeatureDescription {
        var opened = self
        opened.opensBatch = true
        return opened
    }

    /// True if the model file or the bundle has an open batch axis: clients may send any number of items, and each
    /// inference runs one of them.
    public var isBatchOpen: Bool {
        (opensBatch || fileShape.dimensions.first == Shape.dynamic) && shape.dimensions.first == 1
    }
}

/// The composition of an output that is no tensor.
package enum ValueComposition: Sendable, Hashable {
    /// A sequence of tensors with elements of this type, each of its own shape.
    case tensors(ElementType)
    /// A sequence of maps from keys to numbers, one for each row.
    case maps
    /// One map from keys to numbers.
    case map
}

/// The conversion of a picture to a tensor (Core ML's `MLImageConstraint`).
public struct ImageConstraint: Sendable, Hashable {
    /// Width and height in pixels; the maximum if the tensor takes the picture's size.
    public let width: Int, height: Int
    /// The allowed sizes of a tensor that takes the picture's size; nil for a fixed size.
    public var openSize: OpenSize?
    /// The order of the color channels in the tensor.
    public let channelOrder: ChannelOrder
    /// The position of the channels' axis.
    public let layout: TensorLayout
    /// The way that a picture with another aspect ratio is fitted.
    public let cropAndScale: CropAndScale
    /// A pixel p of 0 to 255 becomes p * scale + bias. One value for each channel: red, green, blue; or one for gray.
    public let scale: [Float], bias: [Float]

    // Wide: a record, in the order of its fields.
    package init(
        width: Int, height: Int, openSize: OpenSize? = nil, channelOrder: ChannelOrder, layout: TensorLayout,
        cropAndScale: CropAndScale, scale: [Float], bias: [Float]
    ) {
        self.width = width
        self.height = height
        self.openSize = openSize
        self.channelOrder = channelOrder
        self.layout = layout
        self.cropAndScale = cropAndScale
        self.scale = scale
        self.bias = bias
    }
}

extension FeatureDescription {
    /// The choices of a prediction, in words: to omit the feature, and the shapes that the file allows; nil if it has
    /// no choices.
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

    /// The transform of pixels on input, or of scores on output, in words; nil if it is unknown.
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

    /// Formats a number with at most three decimals.
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
    /// The format of the model file: `tflite`, `tensorflow`, `onnx`, `openvino`, `paddle` or `coreml`; `pipeline` for a
    /// pipeline.
    public let backend: String
    /// The inputs and outputs, in the bundle's order.
    public let inputs: [FeatureDescription], outputs: [FeatureDescription]

    // Wide: a record, in the order of its fields.
    package init(
        name: String, details: String, identifier: String, version: String, author: String, license: String,
        backend: String, inputs: [FeatureDescription], outputs: [FeatureDescription], embeddingLabels: [String]? = nil
    ) {
        self.name = name
        self.details = details
        self.identifier = identifier
        self.version = version
        self.author = author
        self.license = license
        self.backend = backend
        self.inputs = inputs
        self.outputs = outputs
        self.embeddingLabels = embeddingLabels
    }

    /// The only required input, if it is an image; otherwise nil.
    public var imageInput: FeatureDescription? {
        let needed = inputs.filter { !$0.isOptional }
        guard needed.count == 1, let input = needed.first, input.image != nil else { return nil }
        return input
    }

    /// The labels that `classify` returns: those of the first labelled output, or of the classes of an embedding; nil
    /// if the model has no labels.
    public var classLabels: [String]? { classificationOutput?.labels ?? embeddingLabels }
    /// The labels of the classes that an embedding is compared with.
    package var embeddingLabels: [String]?

    /// The first labelled output, which `classify` reads; nil if no output has labels.
    public var classificationOutput: FeatureDescription? {
        outputs.first { $0.labels != nil }
    }
}

/// The kind of a layer in a bundle (`type` in model.json).
public enum FeatureKind: String, Sendable, CaseIterable {
    /// Numbers.
    case array
    /// A picture.
    case image
    /// Raw bytes of elements.
    case string
    /// One number.
    case scalar
    /// Strings of any length (Core ML and ONNX files).
    case text
    /// Numbers by key (Core ML files).
    case dictionary
    /// A depth for each pixel of the picture (outputs).
    case depth
}

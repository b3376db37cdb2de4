/// The strength of a value. If two sources differ, the stronger value counts, regardless of their order.
package enum FactBasis: Int, Sendable, Hashable, Comparable {
    /// No source gives the value: it is usual for files of this kind.
    case convention
    /// The default of a library or class that the source names.
    case preset
    /// A value given by a key of the source.
    case stated

    package static func < (one: FactBasis, other: FactBasis) -> Bool { one.rawValue < other.rawValue }
}

/// A value, and where it was read.
package struct Fact<Value: Sendable & Hashable>: Sendable, Hashable {
    package let value: Value
    /// The file, or the part of one: `preprocessor_config.json`, `metadata_props of model.onnx`.
    package let source: String
    /// The key in the source: `image_mean`; or the name of the default.
    package let key: String
    /// The keys of parts with their own keys: `rescale_factor` of a normalization.
    package let partKeys: [FactPart: String]
    /// The strength of the value.
    package let basis: FactBasis

    package init(
        _ value: Value, source: String, key: String, parts: [FactPart: String] = [:], basis: FactBasis = .stated
    ) {
        self.value = value
        self.source = source
        self.key = key
        self.basis = basis
        partKeys = parts
    }

    /// The key of a part of the value.
    package func key(of part: FactPart) -> String { partKeys[part] ?? key }
}

/// A part of a value that has its own key in some sources.
package enum FactPart: Sendable, Hashable {
    /// Parts of a normalization.
    case scale, offset, mean, std, secondDivision
    /// Parts of a framing: the lengths to which pictures are scaled, the size of the crop, and the side of an odd
    /// pixel.
    case resize, crop, centering
}

/// A size in pixels.
package struct FactSize: Sendable, Hashable {
    package let height: Int, width: Int

    package init(height: Int, width: Int) {
        self.height = height
        self.width = width
    }

    /// The valid sides: up to the maximum of ImagePipeline's tensors.
    static let sides = 1...16_384
}

/// The conversion of a picture's shape to the tensor's.
package struct PictureFraming: Sendable, Hashable {
    package enum Resize: Sendable, Hashable {
        /// Scales both sides to a size, whatever the picture's shape.
        case exact(FactSize)
        /// Scales both sides to the model's own input.
        case stretch
        /// Scales the shorter side to a length, and the longer one in proportion, rounded down.
        case shortest(Int)
        /// Scales both sides by one factor, so that the picture fits into a size, or covers it; sides are rounded,
        /// halves to even.
        case contain(FactSize)
        case cover(FactSize)
        /// Scales the whole picture into a size (nil: the model's own input), and fills the rest.
        case letterbox(FactSize?, topLeft: Bool)
        /// Crops the largest part of the input's shape, from the middle.
        case largest
        /// Leaves the picture unchanged.
        case none
    }

    package let resize: Resize
    /// The size to crop from the middle afterwards; nil for no crop.
    package let crop: FactSize?
    /// True if an odd pixel is left on the side before the middle (Hugging Face, Ultralytics); false if on the even
    /// side (torchvision, timm).
    package let floors: Bool

    package init(_ resize: Resize, crop: FactSize? = nil, floors: Bool = true) {
        self.resize = resize
        self.crop = crop
        self.floors = floors
    }
}

/// The names of ImagePipeline's resamplers.
package enum PictureFilter: String, Sendable, Hashable, CaseIterable {
    case nearest, lanczos, bilinear, bicubic, box, hamming, linear, area

    /// Pillow's `Resampling` numbers, in order.
    private static let pillow: [PictureFilter] = [.nearest, .lanczos, .bilinear, .bicubic, .box, .hamming]

    init?(pillow code: Int) {
        guard Self.pillow.indices.contains(code) else { return nil }
        self = Self.pillow[code]
    }
}

/// The order of a pixel's values in the tensor.
package enum PictureOrder: String, Sendable, Hashable {
    case rgb = "RGB", bgr = "BGR", gray = "GRAY"
}

/// The normalization `(pixel * rescale + offset - mean) / std` of pixels from 0 to 255. A single value of `mean` and
/// `std` applies to all channels.
package struct PictureNormalization: Sendable, Hashable {
    package var rescale = 1 / 255.0
    package var offset = 0.0
    package var mean: [Double] = [0, 0, 0]
    package var std: [Double] = [1, 1, 1]
    /// True to divide by `std` once more.
    package var dividesTwice = false

    package init() {}

    /// True if both give the same values, to a part in a million.
    func isSame(as other: PictureNormalization) -> Bool {
        func lines(_ form: PictureNormalization) -> [(Double, Double)] {
            (0..<3).map { channel in
                let mean = form.mean[min(channel, form.mean.count - 1)]
                let std = form.std[min(channel, form.std.count - 1)]
                let divisor = form.dividesTwice ? std * std : std
                return (form.rescale / divisor, (form.offset - mean) / divisor)
            }
        }
        guard !mean.isEmpty, !std.isEmpty, !other.mean.isEmpty, !other.std.isEmpty else { return false }
        return zip(lines(self), lines(other)).allSatisfy { mine, theirs in
            abs(mine.0 - theirs.0) <= 1e-6 * max(abs(mine.0), 1e-3)
                && abs(mine.1 - theirs.1) <= 1e-5 * max(abs(mine.1), 1)
        }
    }
}

/// The last operation of a graph on an output.
package enum GraphEnding: String, Sendable, Hashable {
    /// Probabilities that sum to 1.
    case softmax
    /// Independent probabilities.
    case sigmoid
    /// Any other operation; a classifier's output is then logits.
    case none
}

/// The pooling of the vectors of a picture's tokens, or of a map's cells.
package enum VectorPooling: String, Sendable, Hashable {
    /// The first token's vector; the mean of all vectors.
    case cls, mean
    /// An unsupported pooling.
    case other
}

/// The meaning of a model's outputs, by the library that decodes them.
package enum ModelHead: String, Sendable, Hashable {
    /// Ultralytics' exports with a task.
    case ultralytics = "Ultralytics"
    /// Exports of Ultralytics with names of classes but no task: YOLOv5's, and YOLOv8's first ones.
    case unspecifiedYOLO = "YOLO"
    /// transformers: logits with a last class for no object, and boxes by their centers.
    case detr = "DETR"
    /// transformers: independent logits, and boxes by their centers.
    case focalDETR = "RT-DETR"
    /// transformers: logits for each position.
    case semanticMap = "semantic segmentation"
    /// transformers: a distance for each position.
    case depthMap = "depth estimation"
    /// timm: a model without its classifier.
    case features
    /// OpenVINO Model API: final detections, in one tensor or several.
    case modelAPISSD = "SSD of Model API"
    /// OpenVINO Model API: the outputs of Ultralytics' exports.
    case modelAPIYOLO = "YOLO of Model API"
    /// OpenVINO Model API: YOLOX.
    case modelAPIYOLOX = "YOLOX of Model API"
    /// OpenVINO Model API: scores for each position; the first class has no label.
    case modelAPISegmentation = "segmentation of Model API"
    /// An unsupported meaning.
    case other

    /// True for outputs of Ultralytics' exports, under any name.
    package var isYOLO: Bool { self == .ultralytics || self == .unspecifiedYOLO || self == .modelAPIYOLO }
}

/// The mapping of a tensor of integers to real numbers: `(value - zeroPoint) * scale`.
package struct TensorQuantization: Sendable, Hashable {
    package let scale: Double
    package let zeroPoint: Int

    /// The number that model.json adds to `value * scale`.
    package var bias: Double { -Double(zeroPoint) * scale }

    package init(scale: Double, zeroPoint: Int) {
        self.scale = scale
        self.zeroPoint = zeroPoint
    }
}

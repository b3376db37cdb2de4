/// The firmness of a value. Of two sources that differ, the one with the firmer value counts, whatever their order.
package enum FactBasis: Int, Sendable, Hashable, Comparable {
    /// Nothing in the source says it: files of this kind are usually used so.
    case convention
    /// The source names the library or class whose default it is.
    case preset
    /// A key of the source says it.
    case stated

    package static func < (one: FactBasis, other: FactBasis) -> Bool { one.rawValue < other.rawValue }
}

/// A value, and where it was read.
package struct Fact<Value: Sendable & Hashable>: Sendable, Hashable {
    package let value: Value
    /// The file, or the part of one: `preprocessor_config.json`, `metadata_props of model.onnx`.
    package let source: String
    /// The key there: `image_mean`; or whose default it is.
    package let key: String
    /// The keys of parts that have one of their own: `rescale_factor` of a normalization.
    package let partKeys: [FactPart: String]
    /// The firmness of the value.
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

    /// The key that a part of the value was read from.
    package func key(of part: FactPart) -> String { partKeys[part] ?? key }
}

/// A part of a value that sources write under a key of its own.
package enum FactPart: Sendable, Hashable {
    /// Of a normalization.
    case scale, offset, mean, std, secondDivision
    /// Of a framing: the lengths that pictures are scaled to, the size that is cut out, and where an odd pixel goes.
    case resize, crop, centering
}

/// A size in pixels.
package struct FactSize: Sendable, Hashable {
    package let height: Int, width: Int

    package init(height: Int, width: Int) {
        self.height = height
        self.width = width
    }

    /// The largest side that is believed: that of ImagePipeline's tensors.
    static let sides = 1...16_384
}

/// The conversion of a picture's shape to the tensor's.
package struct PictureFraming: Sendable, Hashable {
    package enum Resize: Sendable, Hashable {
        /// Both sides to a size, whatever the picture's shape.
        case exact(FactSize)
        /// Both sides to the model's own input.
        case stretch
        /// The shorter side to a length; the longer in proportion, rounded down.
        case shortest(Int)
        /// Both sides by one factor, so that the picture lies within a size, or covers it; sides are rounded, halves to
        /// even.
        case contain(FactSize)
        case cover(FactSize)
        /// The whole picture into a size (nil: the model's own input), the rest filled.
        case letterbox(FactSize?, topLeft: Bool)
        /// The largest part of the input's shape, from the middle.
        case largest
        /// The picture as it is.
        case none
    }

    package let resize: Resize
    /// The size that is then cut from the middle.
    package let crop: FactSize?
    /// True if an odd pixel goes before the middle (Hugging Face, Ultralytics); false if to the even side (torchvision,
    /// timm).
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

/// `(pixel * rescale + offset - mean) / std`, pixels 0 to 255. One value of `mean` and `std` stands for all channels.
package struct PictureNormalization: Sendable, Hashable {
    package var rescale = 1 / 255.0
    package var offset = 0.0
    package var mean: [Double] = [0, 0, 0]
    package var std: [Double] = [1, 1, 1]
    /// Divided by `std` once more.
    package var dividesTwice = false

    package init() {}

    /// True if the two give the same values, to a part in a million.
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
    /// A probability each.
    case sigmoid
    /// Anything else: logits, where it classifies.
    case none
}

/// The way in which the vectors of a picture's tokens, or of a map's places, become one.
package enum VectorPooling: String, Sendable, Hashable {
    /// The first token's; the mean of all.
    case cls, mean
    /// A way that is not known here.
    case other
}

/// The meaning of a model's outputs, by the library that decodes them.
package enum ModelHead: String, Sendable, Hashable {
    /// Ultralytics' exports of a named task.
    case ultralytics = "Ultralytics"
    /// Exports of Ultralytics that name classes but no task: YOLOv5's, and YOLOv8's first ones.
    case untoldYOLO = "YOLO"
    /// transformers: logits with a class for nothing at the end, and centre boxes.
    case detr = "DETR"
    /// transformers: logits of which each stands alone, and centre boxes.
    case focalDETR = "RT-DETR"
    /// transformers: logits for each place.
    case semanticMap = "semantic segmentation"
    /// transformers: a distance for each place.
    case depthMap = "depth estimation"
    /// timm: a model without its classifier.
    case features
    /// OpenVINO Model API: final detections, in one tensor or several.
    case modelAPISSD = "SSD of Model API"
    /// OpenVINO Model API: what Ultralytics exports.
    case modelAPIYOLO = "YOLO of Model API"
    /// OpenVINO Model API: YOLOX.
    case modelAPIYOLOX = "YOLOX of Model API"
    /// OpenVINO Model API: scores for each place, the first class of which has no label.
    case modelAPISegmentation = "segmentation of Model API"
    /// Something that is not decoded here.
    case other

    /// True for what Ultralytics exports, by whatever name.
    package var isYOLO: Bool { self == .ultralytics || self == .untoldYOLO || self == .modelAPIYOLO }
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

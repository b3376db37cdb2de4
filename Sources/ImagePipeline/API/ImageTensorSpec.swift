/// The tensor that a model takes for a picture, and how a picture is converted to it.
///
/// The tensor has `height * width * channels` elements in `layout`; each is `pixel * scale + bias` for a pixel value of
/// 0 to 255 after resampling (which rounds to whole levels, as in training pipelines that resize 8-bit pictures). For
/// integer elements the result is rounded, halves away from zero, and clamped.
public struct ImageTensorSpec: Sendable, Hashable, Codable {
    /// Columns of the tensor, at least 1.
    public var width: Int
    /// Rows of the tensor, at least 1.
    public var height: Int
    /// The order of channels in the tensor.
    public var channelOrder: ChannelOrder
    /// The order of axes.
    public var layout: TensorLayout
    /// The type of elements.
    public var element: PixelElement
    /// The factor of each channel: red, green, blue, whatever the order in the tensor; one value for gray.
    public var scale: [Float]
    /// The summand of each channel, in the order of `scale`.
    public var bias: [Float]
    /// Mean and standard deviation instead of `scale` and `bias`, computed as in training code.
    public var normalization: PixelNormalization?
    /// The fit of a picture of another shape to the tensor.
    public var cropAndScale: CropAndScale
    /// The resampling filter.
    public var resampler: Resampler
    /// With `centerCrop`: scale the picture so that its shorter side has this many pixels, then crop the tensor's size
    /// from the center, like torchvision's `Resize(256)`, `CenterCrop(224)`. Nil: as much of the picture as the shape
    /// allows.
    public var resizeShorterSide: Int?
    /// With `centerCrop`: scale both sides to this size, regardless of the picture's shape, then crop the tensor's size
    /// from the center.
    public var resizeExactly: ImageSize?
    /// With `centerCrop`: scale both sides by the same factor to a size, then crop the tensor's size from the center.
    public var resizeKeepingShape: ProportionalResize?
    /// With `centerCrop`: crop the tensor's size from the center without scaling.
    public var keepsSize: Bool
    /// The place of the odd pixel when a crop, or the picture of `scaleFit`, is centred.
    public var centering: Centering
    /// The position of the picture with `scaleFit`.
    public var alignment: FitAlignment
    /// The colour behind transparent pixels.
    public var background: RGBColor
    /// The colour of the margin with `scaleFit`, and with `centerCrop` if the scaled picture is smaller than the
    /// tensor.
    public var fill: RGBColor

    /// The minimum size at which libjpeg may decode a JPEG reduced, as a multiple of the needed pixels along each axis.
    /// With 3, the default, results hardly differ from full decoding: no confidence in the test data changes by more
    /// than 0.01. With 1.2 a large picture costs half as much and its pixels change by about a level, to which
    /// sensitive models react (a SqueezeNet's confidence by 0.11). With infinity, JPEGs are always decoded in full.
    /// From 2 on, a picture is also decoded in full if its first rows show that its colours would change (fine
    /// saturated patterns).
    public var decodeMargin: Double

    /// The possible sizes of the tensor, for a model that takes pictures of their own size; `width` and `height` are
    /// then the maximum.
    public var openSize: OpenSize?
    /// True if it is the specification for one picture, with the mode of that picture's request.
    var isSettled = false

    /// Creates a specification.
    ///
    /// Wide: all but the size have defaults. Empty `scale` and `bias` mean ones and zeros. `ImagePipeline.init`
    /// validates it.
    public init(
        width: Int, height: Int, channelOrder: ChannelOrder = .rgb, layout: TensorLayout = .nhwc,
        element: PixelElement = .uint8, scale: [Float] = [], bias: [Float] = [],
        cropAndScale: CropAndScale = .centerCrop, resampler: Resampler = .bilinear, resizeShorterSide: Int? = nil,
        background: RGBColor = .white, fill: RGBColor = .black, decodeMargin: Double = 3
    ) {
        self.width = width
        self.height = height
        self.channelOrder = channelOrder
        self.layout = layout
        self.element = element
        self.scale = scale.isEmpty ? Array(repeating: 1, count: channelOrder.channels) : scale
        self.bias = bias.isEmpty ? Array(repeating: 0, count: channelOrder.channels) : bias
        self.cropAndScale = cropAndScale
        self.resampler = resampler
        self.resizeShorterSide = resizeShorterSide
        self.background = background
        self.fill = fill
        normalization = nil
        resizeExactly = nil
        resizeKeepingShape = nil
        keepsSize = false
        centering = .halfEven
        alignment = .center
        self.decodeMargin = decodeMargin
        openSize = nil
    }

    /// The crop and scale mode for a request that may ask for another.
    func mode(_ requested: CropAndScale?) -> CropAndScale { isSettled ? cropAndScale : requested ?? cropAndScale }

    /// The number of values per pixel: 3 or 1.
    public var channels: Int { channelOrder.channels }

    /// The number of elements of the tensor. Meaningful only for a specification that a pipeline has accepted.
    public var elementCount: Int { width &* height &* channels }

    /// The number of bytes of the tensor. Meaningful only for a specification that a pipeline has accepted.
    public var byteCount: Int { elementCount &* element.byteCount }

    /// The maximum side of a tensor.
    package static let maximumSide = 16_384

    /// Throws `invalidSpec` if the specification is inconsistent.
    func validate() throws(ImageError) {
        for (name, side) in [("width", width), ("height", height)] where !(1...Self.maximumSide).contains(side) {
            throw .invalidSpec("\(name) is \(side), expected 1 to \(Self.maximumSide)")
        }
        for (name, values) in [("scale", scale), ("bias", bias)] {
            guard values.count == channels else {
                throw .invalidSpec(
                    "\(name) has \(values.count) values, expected \(channels) for \(channelOrder.rawValue)")
            }
            guard values.allSatisfy(\.isFinite) else { throw .invalidSpec("\(name) has a value that is not finite") }
        }
        if let normalization {
            for (name, values) in [("mean", normalization.mean), ("std", normalization.std)]
            where values.count != channels {
                throw .invalidSpec(
                    "\(name) has \(values.count) values, expected \(channels) for \(channelOrder.rawValue)")
            }
            let (scale, bias) = normalization.linear
            guard (scale + bias).allSatisfy(\.isFinite) else {
                throw .invalidSpec("the normalization has a value that is not finite")
            }
        }
        for size in [resizeExactly, resizeKeepingShape?.size].compactMap({ $0 }) {
            for (name, side) in [("width", size.width), ("height", size.height)]
            where !(1...Self.maximumSide).contains(side) {
                throw .invalidSpec("the scaled \(name) is \(side), expected 1 to \(Self.maximumSide)")
            }
        }
        if let problem = openSize?.problem { throw .invalidSpec(problem) }
        guard decodeMargin >= 1 else { throw .invalidSpec("the decode margin is \(decodeMargin), expected 1 or more") }
        if let side = resizeShorterSide, !(1...Self.maximumSide).contains(side) {
            throw .invalidSpec("the shorter side is \(side), expected 1 to \(Self.maximumSide)")
        }
    }
}

/// A resize that keeps the aspect ratio, like timm's `ResizeKeepRatio`. Both sides are rounded half to even.
public struct ProportionalResize: Sendable, Hashable, Codable {
    /// The target size.
    public var size: ImageSize
    /// True if the picture covers `size`; false if it fits into it.
    public var covers: Bool

    /// A resize to `size`.
    public init(_ size: ImageSize, covers: Bool) {
        self.size = size
        self.covers = covers
    }
}

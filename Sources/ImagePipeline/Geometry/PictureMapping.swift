/// Maps points of the displayed picture to points of the tensor, and back: it converts a model's boxes to the
/// picture's.
///
/// Points lie between pixels: 0 is the first pixel's outer edge, the width is the last one's. The picture is the one
/// that is displayed, after orientation, at its full size.
public struct PictureMapping: Sendable, Hashable {
    /// One axis: `tensor = picture * scale + offset`.
    public struct Axis: Sendable, Hashable {
        /// Tensor pixels per picture pixel; greater than 0.
        public let scale: Double
        /// The position of the picture's edge in the tensor, in tensor pixels; negative if it is cropped.
        public let offset: Double
        /// Pixels of the displayed picture.
        public let length: Int

        /// From the picture to the tensor.
        public func forward(_ position: Double) -> Double { position * scale + offset }

        /// From the tensor to the picture. Not clamped: what lies in the letterbox's margin is outside the picture.
        public func inverse(_ position: Double) -> Double { (position - offset) / scale }
    }

    /// Columns.
    public let x: Axis
    /// Rows.
    public let y: Axis

    /// For a displayed picture of this size; each side is at least 1.
    public init(width: Int, height: Int, spec: ImageTensorSpec, cropAndScale: CropAndScale? = nil) {
        self.init(
            Framing(
                width: max(1, width), height: max(1, height), spec: spec,
                cropAndScale: spec.mode(cropAndScale)))
    }

    private init(_ framing: Framing) {
        x = Self.axis(framing.x)
        y = Self.axis(framing.y)
    }

    /// For a picture by its header.
    public init(_ info: ImageInfo, spec: ImageTensorSpec, options: ImageDecodeOptions = ImageDecodeOptions()) {
        let transposes = Orientation(exif: options.ignoreOrientation ? 1 : info.orientation).transposes
        self.init(
            Framing(
                width: max(1, transposes ? info.height : info.width),
                height: max(1, transposes ? info.width : info.height), spec: spec, options: options))
    }

    private static func axis(_ framing: AxisFraming) -> Axis {
        let scale = Double(framing.scaledLength) / framing.length
        let offset =
            Double(framing.destination - framing.outputs.lowerBound) - framing.source.lowerBound * scale
        return Axis(scale: scale, offset: offset, length: framing.wholeLength)
    }
}

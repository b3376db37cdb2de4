/// Maps points of the displayed picture to points of the tensor, and back, to convert a model's boxes to the picture's.
///
/// Coordinates are those of borders between pixels: 0 is the first pixel's outer edge, the width is the last one's. The
/// picture is the displayed one, after orientation, at its full size.
public struct PictureMapping: Sendable, Hashable {
    /// One axis: `tensor = picture * scale + offset`.
    public struct Axis: Sendable, Hashable {
        /// Tensor pixels per picture pixel; greater than 0.
        public let scale: Double
        /// The position of the picture's edge in the tensor, in tensor pixels; negative if the picture is cropped.
        public let offset: Double
        /// The number of pixels of the displayed picture.
        public let length: Int

        /// Maps a position in the picture to the tensor.
        public func forward(_ position: Double) -> Double { position * scale + offset }

        /// Maps a position in the tensor to the picture. Not clamped: the letterbox's margin is outside the picture.
        public func inverse(_ position: Double) -> Double { (position - offset) / scale }
    }

    /// The mapping of columns.
    public let x: Axis
    /// The mapping of rows.
    public let y: Axis

    /// The mapping for a displayed picture of this size; a side of less than 1 counts as 1.
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

    /// The mapping for a picture with this header.
    public init(_ info: ImageInfo, spec: ImageTensorSpec, options: ImageDecodeOptions = ImageDecodeOptions()) {
        let transposes = Orientation(exif: info.oriented(options.orientation).orientation).transposes
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

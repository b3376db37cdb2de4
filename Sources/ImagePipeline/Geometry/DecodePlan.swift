/// The decisions made before a pixel is decoded: the needed part of the picture, its size, and its position in the
/// tensor.
struct DecodePlan {
    let orientation: Orientation
    let framing: Framing
    /// The scale at which a JPEG is decoded, in eighths; 8 for other formats.
    let scale: Int
    /// The error, in levels of 255, because of which a JPEG is decoded in full instead of reduced; nil if there was no
    /// such reason.
    var distortion: Double?
    /// The size of the whole decoded picture.
    let decodedWidth: Int
    let decodedHeight: Int
    /// The decoded pixels that are needed.
    let region: Region
    /// True if the stored y axis is scaled before the stored x axis.
    let verticalFirst: Bool
    /// The weights of the stored axes; source pixels count from the region's start.
    let x: ResampleWeights
    let y: ResampleWeights

    init(header: PictureHeader, spec: ImageTensorSpec, options: ImageDecodeOptions) {
        let info = header.info
        let orientation = Orientation(exif: info.oriented(options.orientation).orientation)
        self.orientation = orientation
        framing = Framing(
            width: orientation.transposes ? info.height : info.width,
            height: orientation.transposes ? info.width : info.height, spec: spec, options: options)
        verticalFirst = Self.isVerticalFirst(framing) != orientation.transposes
        let across = orientation.transposes ? framing.y : framing.x
        let down = orientation.transposes ? framing.x : framing.y
        let scale =
            info.format == .jpeg && !options.fullDecode && !spec.resampler.samples
                && info.width * info.height >= Self.smallestScaled
            ? Self.scale(across: across, down: down, margin: spec.decodeMargin * header.chromaUnevenness) : 8
        self.scale = scale
        decodedWidth = Self.scaled(info.width, scale)
        decodedHeight = Self.scaled(info.height, scale)

        let enlarges = [across, down].contains { Double($0.scaledLength) > $0.length }
        var x = Self.weights(
            across, scale: scale, flips: orientation.flipsX, resampler: spec.resampler, enlarges: enlarges)
        // The weights of a square picture are equal along both axes, and take longer to compute than many a row.
        var y =
            down == across && orientation.flipsX == orientation.flipsY
            ? x
            : Self.weights(
                down, scale: scale, flips: orientation.flipsY, resampler: spec.resampler, enlarges: enlarges)
        region = Region(x: x.sourceRange, y: y.sourceRange)
        x.rebase(by: -region.x.lowerBound)
        y.rebase(by: -region.y.lowerBound)
        self.x = x
        self.y = y
    }

    /// The length that libjpeg gives a side at a scale.
    private static func scaled(_ length: Int, _ scale: Int) -> Int { (length * scale + 7) / 8 }

    /// The number of pixels below which a picture is decoded at full size: there is little to save, and the result is
    /// exact.
    static let smallestScaled = 500_000

    /// The smallest scale at which the needed part still has at least `margin` times the output pixels along each axis.
    ///
    /// The margin is larger for chroma that libjpeg scales down together with luma although it already has fewer
    /// samples along one axis. Only scales with vector code in libjpeg-turbo are used: 3/8 takes longer than 4/8.
    private static func scale(across: AxisFraming, down: AxisFraming, margin: Double) -> Int {
        for scale in [1, 2, 4]
        where across.length * Double(scale) >= Double(across.scaledLength * 8) * margin
            && down.length * Double(scale) >= Double(down.scaledLength * 8) * margin
        {
            return scale
        }
        return 8
    }

    /// True if Pillow scales the y axis first, which depends on the whole picture, not on the part that is kept. Both
    /// orders give the same result except for the rounding between the passes, at most one level.
    private static func isVerticalFirst(_ framing: Framing) -> Bool {
        let across = framing.x.wholeLength - framing.x.scaledLength
        let down = framing.y.wholeLength - framing.y.scaledLength
        return down > 0 && down > 2 * across
    }

    /// The weights in pixels of the whole decoded axis, as stored. Pixels next to the scaled part count at its edges,
    /// as far as the filter reaches, as in Pillow's `resize` with a box and `ImageOps.fit`.
    ///
    /// They are computed along the oriented axis and mirrored, so that they are identical for all orientations of a
    /// picture.
    private static func weights(
        _ axis: AxisFraming, scale: Int, flips: Bool, resampler: Resampler, enlarges: Bool
    ) -> ResampleWeights {
        let decoded = scaled(axis.wholeLength, scale)
        let factor = Double(scale) / 8
        // libjpeg rounds the size up, so seen from the other side the picture begins a part of a pixel later.
        let offset = flips ? Double(decoded) - Double(axis.wholeLength) * factor : 0
        // Pillow's boxes have single precision.
        let start = Float(axis.source.lowerBound)
        let length = Double(Float(axis.source.upperBound) - start)
        // At a reduced scale the ends of the part may lie within pixels.
        let isCut = axis.isCutFirst && scale == 8
        var weights = ResampleWeights(
            box: (isCut ? 0 : Double(start) * factor + offset, length * factor),
            sourceLength: isCut ? Int(length) : decoded, scaledLength: axis.scaledLength, outputs: axis.outputs,
            resampler: resampler, enlarges: enlarges)
        if isCut { weights.rebase(by: Int(start)) }
        if flips { weights.mirror(sourceLength: decoded) }
        return weights
    }
}

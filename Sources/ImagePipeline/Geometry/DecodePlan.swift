/// The plan that is made before a pixel is decoded: which part of the picture is needed, at which size, and how it is
/// placed.
struct DecodePlan {
    let orientation: Orientation
    let framing: Framing
    /// Eighths of the stored size that a JPEG is decoded at; 8 for everything else.
    let scale: Int
    /// The error of a JPEG that would otherwise be decoded smaller, in levels of 255: why it is decoded in full.
    var distortion: Double?
    /// The size of the whole decoded picture.
    let decodedWidth: Int
    let decodedHeight: Int
    /// The decoded pixels that are needed.
    let region: Region
    /// True if the stored y axis is scaled before the stored x axis.
    let verticalFirst: Bool
    /// Weights of the stored axes; source pixels are those of the region.
    let x: ResampleWeights
    let y: ResampleWeights

    init(header: PictureHeader, spec: ImageTensorSpec, options: ImageDecodeOptions) {
        let info = header.info
        let orientation = Orientation(exif: options.ignoreOrientation ? 1 : info.orientation)
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
        // Those of a square picture are the same both ways, and take longer to compute than many a row.
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

    /// The length that libjpeg gives a side.
    private static func scaled(_ length: Int, _ scale: Int) -> Int { (length * scale + 7) / 8 }

    /// Pictures with fewer pixels are decoded at their full size: there is little to save, and the result is exact.
    static let smallestScaled = 500_000

    /// The smallest scale at which the needed part still has at least `margin` times the pixels, each way, that are
    /// made of it.
    ///
    /// More for chroma that libjpeg scales down together with luma although it has fewer samples one way already.
    /// Only the scales for which libjpeg-turbo has vector code: at 3/8 it takes longer than at 4/8.
    private static func scale(across: AxisFraming, down: AxisFraming, margin: Double) -> Int {
        for scale in [1, 2, 4]
        where across.length * Double(scale) >= Double(across.scaledLength * 8) * margin
            && down.length * Double(scale) >= Double(down.scaledLength * 8) * margin
        {
            return scale
        }
        return 8
    }

    /// The pass that Pillow does first: a matter of the whole picture, not of the part that is kept. Both orders give
    /// the same but for the rounding between them, by one level at most.
    private static func isVerticalFirst(_ framing: Framing) -> Bool {
        let across = framing.x.wholeLength - framing.x.scaledLength
        let down = framing.y.wholeLength - framing.y.scaledLength
        return down > 0 && down > 2 * across
    }

    /// Weights in pixels of the whole decoded axis, as stored. Pixels beside the part that is scaled count at its
    /// edges, as far as the filter reaches: so do Pillow's `resize` with a box and `ImageOps.fit`.
    ///
    /// They are computed along the oriented axis and mirrored, so that all orientations of a picture have the very same
    /// ones.
    private static func weights(
        _ axis: AxisFraming, scale: Int, flips: Bool, resampler: Resampler, enlarges: Bool
    ) -> ResampleWeights {
        let decoded = scaled(axis.wholeLength, scale)
        let factor = Double(scale) / 8
        // libjpeg rounds the size up: seen from the other side, the picture begins a part of a pixel later.
        let offset = flips ? Double(decoded) - Double(axis.wholeLength) * factor : 0
        // Pillow's boxes are of single precision.
        let start = Float(axis.source.lowerBound)
        let length = Double(Float(axis.source.upperBound) - start)
        // At a smaller scale the part's ends fall anywhere.
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

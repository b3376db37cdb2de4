/// Everything that is decided before a pixel is decoded: what of the picture is needed, at which size, and what becomes of it.
struct DecodePlan {
    let orientation: Orientation
    let framing: Framing
    /// Eighths of the stored size that a JPEG is decoded at; 8 for everything else.
    let scale: Int
    /// The size of the whole decoded picture.
    let decodedWidth: Int
    let decodedHeight: Int
    /// Which decoded pixels are needed.
    let region: Region
    /// Weights of the stored axes; source pixels are those of the region.
    let x: ResampleWeights
    let y: ResampleWeights

    init(info: ImageInfo, spec: ImageTensorSpec, options: ImageDecodeOptions) {
        let orientation = Orientation(exif: options.ignoreOrientation ? 1 : info.orientation)
        self.orientation = orientation
        framing = Framing(
            width: orientation.transposes ? info.height : info.width,
            height: orientation.transposes ? info.width : info.height, spec: spec,
            cropAndScale: options.cropAndScale ?? spec.cropAndScale)
        let across = orientation.transposes ? framing.y : framing.x
        let down = orientation.transposes ? framing.x : framing.y
        let scale =
            info.format == .jpeg && !options.fullDecode && spec.resampler != .nearest
            ? Self.scale(across: across, down: down, margin: spec.decodeMargin) : 8
        self.scale = scale
        decodedWidth = Self.scaled(info.width, scale)
        decodedHeight = Self.scaled(info.height, scale)

        var x = Self.weights(
            across, length: info.width, scale: scale, flips: orientation.flipsX, resampler: spec.resampler)
        var y = Self.weights(
            down, length: info.height, scale: scale, flips: orientation.flipsY, resampler: spec.resampler)
        region = Region(x: x.sourceRange, y: y.sourceRange)
        x.rebase(by: -region.x.lowerBound)
        y.rebase(by: -region.y.lowerBound)
        self.x = x
        self.y = y
    }

    /// What libjpeg makes of a side.
    private static func scaled(_ length: Int, _ scale: Int) -> Int { (length * scale + 7) / 8 }

    /// The smallest scale at which the needed part still has at least `margin` times the pixels that are made of it.
    private static func scale(across: AxisFraming, down: AxisFraming, margin: Double) -> Int {
        for scale in [1, 2, 4]
        where across.length * Double(scale) >= Double(across.scaledLength * 8) * margin
            && down.length * Double(scale) >= Double(down.scaledLength * 8) * margin
        {
            return scale
        }
        return 8
    }

    /// Weights in pixels of the whole decoded axis, as stored.
    ///
    /// They are computed along the oriented axis and mirrored, so that all orientations of a picture have the very same ones.
    private static func weights(
        _ axis: AxisFraming, length: Int, scale: Int, flips: Bool, resampler: Resampler
    ) -> ResampleWeights {
        // Where the part lies in the stored axis, then in the decoded one, then in the pixels that it touches.
        let start = flips ? Double(length) - axis.source.upperBound : axis.source.lowerBound
        let boxStart = start * Double(scale) / 8
        let boxEnd = (start + axis.length) * Double(scale) / 8
        let low = max(0, Int(boxStart))
        let high = min(scaled(length, scale), Int(boxEnd.rounded(.up)))
        var weights = ResampleWeights(
            boxStart: flips ? Double(high) - boxEnd : boxStart - Double(low), boxLength: boxEnd - boxStart,
            sourceLength: high - low, scaledLength: axis.scaledLength, outputs: axis.outputs, resampler: resampler)
        if flips { weights.mirror(sourceLength: high - low) }
        weights.rebase(by: low)
        return weights
    }
}

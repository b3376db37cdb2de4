/// The mapping of one axis of the oriented picture: a part of it is scaled to `scaledLength` pixels, of which some are
/// computed and placed on the tensor's axis.
struct AxisFraming: Hashable {
    /// The number of pixels of the whole picture along this axis.
    var wholeLength: Int
    /// The scaled part of the source, in pixels of the full picture. The middle of a crop is that of the picture, so
    /// its ends may lie within pixels.
    var source: Range<Double>
    /// The size to which the whole part is scaled.
    var scaledLength: Int
    /// The pixels of the scaled part that are computed.
    var outputs: Range<Int>
    /// The position of the first computed pixel in the tensor.
    var destination: Int
    /// True if the part is cut out before it is scaled: no pixel outside it counts. Its ends lie between two pixels.
    var isCutFirst = false

    /// Adapts the mapping to a part of a longer axis. The mapping was made for a whole axis with the rounded length of
    /// that part.
    mutating func place(on part: Range<Double>, of length: Int) {
        // The ends of a part may lie within a pixel.
        isCutFirst = false
        let scale = (part.upperBound - part.lowerBound) / Double(wholeLength)
        source =
            max(
                0, part.lowerBound + source.lowerBound * scale)..<min(
                Double(length), part.lowerBound + source.upperBound * scale)
        wholeLength = length
    }

    /// The length of the part, in pixels of the full picture.
    var length: Double { source.upperBound - source.lowerBound }
}

/// The mapping of both axes.
struct Framing: Hashable {
    var x: AxisFraming
    var y: AxisFraming

    /// The mapping for an oriented picture of this size.
    init(width: Int, height: Int, spec: ImageTensorSpec, cropAndScale: CropAndScale) {
        switch cropAndScale {
        case .scaleFill:
            x = Self.whole(width, to: spec.width)
            y = Self.whole(height, to: spec.height)
        case .scaleFit:
            let size = Self.fittingSize(width: width, height: height, into: spec)
            x = Self.letterboxed(width, to: size.width, on: spec.width, spec: spec)
            y = Self.letterboxed(height, to: size.height, on: spec.height, spec: spec)
        case .centerCrop:
            if let size = Self.scaledSize(width: width, height: height, spec: spec) {
                x = Self.cut(width, scaledTo: size.width, to: spec.width, spec)
                y = Self.cut(height, scaledTo: size.height, to: spec.height, spec)
            } else {
                let size = Self.largestSize(width: width, height: height, ofShapeOf: spec)
                x = Self.middle(size.width, of: width, to: spec.width, spec.centering)
                y = Self.middle(size.height, of: height, to: spec.height, spec.centering)
            }
        }
    }

    /// The mapping for an oriented picture of this size, or for the part of it in the options.
    init(width: Int, height: Int, spec: ImageTensorSpec, options: ImageDecodeOptions) {
        let cropAndScale = spec.mode(options.cropAndScale)
        guard let part = options.part?.within(width: width, height: height) else {
            self.init(width: width, height: height, spec: spec, cropAndScale: cropAndScale)
            return
        }
        self.init(
            width: max(1, Int(part.width.rounded())), height: max(1, Int(part.height.rounded())), spec: spec,
            cropAndScale: cropAndScale)
        x.place(on: part.x..<part.x + part.width, of: width)
        y.place(on: part.y..<part.y + part.height, of: height)
    }

    /// The size to which the picture is scaled before the tensor's size is cut from its middle; nil if the largest part
    /// of the tensor's shape is cut first.
    private static func scaledSize(width: Int, height: Int, spec: ImageTensorSpec) -> ImageSize? {
        if spec.keepsSize { return ImageSize(width: width, height: height) }
        if let size = spec.resizeExactly { return size }
        if let resize = spec.resizeKeepingShape {
            let down = Double(height) / Double(resize.size.height), across = Double(width) / Double(resize.size.width)
            let ratio = resize.covers ? min(down, across) : max(down, across)
            func side(_ length: Int) -> Int { max(1, Int((Double(length) / ratio).rounded(.toNearestOrEven))) }
            return ImageSize(width: side(width), height: side(height))
        }
        guard let side = spec.resizeShorterSide else { return nil }
        // torchvision, timm and Hugging Face: the longer side is rounded down.
        return ImageSize(
            width: width <= height ? side : max(1, side * width / height),
            height: height <= width ? side : max(1, side * height / width))
    }

    /// True if the picture does not cover the whole tensor.
    func leavesRoom(in spec: ImageTensorSpec) -> Bool {
        x.outputs.count < spec.width || y.outputs.count < spec.height
    }

    /// The middle part of an axis. Its start is not rounded, as in Pillow's ImageOps.fit: a model can notice a shift by
    /// half a pixel. With `floor`, whole pixels are cut out, as in Model API's crop_resize_ocv and YOLOv5's CenterCrop.
    private static func middle(
        _ part: Double, of length: Int, to target: Int, _ centering: Centering
    ) -> AxisFraming {
        if centering == .floor {
            let size = max(1, min(length, Int(part))), start = (length - size) / 2
            return AxisFraming(
                wholeLength: length, source: Double(start)..<Double(start + size), scaledLength: target,
                outputs: 0..<target, destination: 0, isCutFirst: true)
        }
        let start = max(0, (Double(length) - part) / 2)
        return AxisFraming(
            wholeLength: length, source: start..<min(Double(length), start + part), scaledLength: target,
            outputs: 0..<target, destination: 0
        )
    }

    private static func whole(_ length: Int, to target: Int) -> AxisFraming {
        AxisFraming(
            wholeLength: length, source: 0..<Double(length), scaledLength: target, outputs: 0..<target, destination: 0)
    }

    private static func letterboxed(_ length: Int, to scaled: Int, on target: Int, spec: ImageTensorSpec) -> AxisFraming
    {
        let start: Int
        switch (spec.alignment, spec.centering) {
        case (.topLeft, _): start = 0
        // Half to even, as Python's round() in Pillow's ImageOps.pad.
        case (.center, .halfEven): start = Int((Double(target - scaled) / 2).rounded(.toNearestOrEven))
        // As Ultralytics' round(free / 2 - 0.1).
        case (.center, .floor): start = (target - scaled) / 2
        }
        return AxisFraming(
            wholeLength: length, source: 0..<Double(length), scaledLength: scaled, outputs: 0..<scaled,
            destination: start)
    }

    private static func cut(
        _ length: Int, scaledTo scaled: Int, to target: Int, _ spec: ImageTensorSpec
    ) -> AxisFraming {
        let whole = 0..<Double(length)
        guard scaled > target else {
            let free = target - scaled
            // torchvision pads the start by the half that is rounded down, Hugging Face by the other half.
            return AxisFraming(
                wholeLength: length, source: whole, scaledLength: scaled, outputs: 0..<scaled,
                destination: spec.alignment == .topLeft ? 0 : spec.centering == .floor ? (free + 1) / 2 : free / 2)
        }
        let start =
            spec.centering == .floor
            ? (scaled - target) / 2 : Int((Double(scaled - target) / 2).rounded(.toNearestOrEven))
        return AxisFraming(
            wholeLength: length, source: whole, scaledLength: scaled, outputs: start..<start + target, destination: 0)
    }

    /// The size of a fitted picture, as in Pillow's ImageOps.contain or Ultralytics' LetterBox: the limiting side is
    /// exact, the other one is rounded. It is at least one pixel, even for thin pictures of which Pillow leaves
    /// nothing.
    private static func fittingSize(width: Int, height: Int, into spec: ImageTensorSpec) -> (width: Int, height: Int) {
        func side(_ scaled: Double, _ maximum: Int) -> Int {
            max(1, min(maximum, Int(scaled.rounded(.toNearestOrEven))))
        }
        if spec.centering == .floor {
            let ratio = min(Double(spec.height) / Double(height), Double(spec.width) / Double(width))
            return (side(Double(width) * ratio, spec.width), side(Double(height) * ratio, spec.height))
        }
        let across = width * spec.height
        let down = height * spec.width
        if across == down { return (spec.width, spec.height) }
        if across > down {
            return (spec.width, side(Double(height) / Double(width) * Double(spec.width), spec.height))
        }
        return (side(Double(width) / Double(height) * Double(spec.height), spec.width), spec.height)
    }

    private static func largestSize(
        width: Int, height: Int, ofShapeOf spec: ImageTensorSpec
    ) -> (width: Double, height: Double) {
        let (width, height) = (Double(width), Double(height))
        // In the order of ImageOps.fit, so that the last bits are equal.
        let shape = Double(spec.width) / Double(spec.height)
        return width / height >= shape ? (shape * height, height) : (width, width / shape)
    }
}

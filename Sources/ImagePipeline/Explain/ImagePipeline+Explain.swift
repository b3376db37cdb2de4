extension ImagePipeline {
    /// The steps that `prepare` would apply to a picture. Decodes only its header, and the first rows of a JPEG.
    ///
    /// - Parameter frame: the layout of the bytes if they are a raw frame; nil for a file.
    /// - Throws: the errors of `prepare` for a header.
    public func explain(
        _ bytes: UnsafeRawBufferPointer, frame: RawFrame? = nil, options: ImageDecodeOptions = ImageDecodeOptions()
    ) throws(ImageError) -> PreprocessingReport {
        let header = try PictureHeader.read(bytes, frame: frame)
        try check(header)
        return explain(header, plan: plan(bytes, header: header, options: options), options: options)
    }

    /// The steps that `prepare` would apply to a decoded picture, or to a part of it.
    public func explain(
        _ image: PixelImage, window: PictureWindow? = nil, options: ImageDecodeOptions = ImageDecodeOptions()
    ) throws(ImageError) -> PreprocessingReport {
        try check(image.info)
        let (seen, plan) = Self.plan(of: image, window: window, spec: spec, options: options)
        // A part is upright; a whole picture is explained with the orientation in its file.
        let info = window == nil ? image.info : seen
        return explain(PictureHeader(info: info, truncation: nil), plan: plan, options: options)
    }

    private func explain(_ header: PictureHeader, plan: DecodePlan, options: ImageDecodeOptions) -> PreprocessingReport
    {
        var decoding: [String: PreprocessingValue] = [
            "format": .text(header.info.format.rawValue), "scale": .text("\(plan.scale)/8"),
            "width": .number(Double(plan.decodedWidth)), "height": .number(Double(plan.decodedHeight)),
        ]
        if let frame = header.raw {
            decoding["pixels"] = .text(frame.format.rawValue)
            decoding["stride"] = .number(Double(frame.stride))
            if frame.chromaStride > 0 { decoding["colorimetry"] = .text(frame.colorimetry.rawValue) }
        }
        if let distortion = plan.distortion {
            let levels = (distortion * 10).rounded() / 10
            decoding["in_full_because"] = .text("decoded smaller, its colours would be off by \(levels) of 255 levels")
        }
        var steps = [PreprocessingStep(operation: "decode", parameters: decoding)]
        let used = header.info.oriented(options.orientation)
        if header.info.orientation != 1 || used.orientation != 1 {
            var orienting: [String: PreprocessingValue] = ["exif": .number(Double(header.info.orientation))]
            switch options.orientation {
            case .apply: orienting["is"] = "applied"
            case .ignore: orienting["is"] = "ignored"
            default:
                orienting["is"] = "replaced"
                orienting["by"] = .number(Double(used.orientation))
            }
            steps.append(PreprocessingStep(operation: "orient", parameters: orienting))
        }
        if header.info.format != .jpeg {
            steps.append(
                PreprocessingStep(
                    operation: "composite",
                    parameters: [
                        "background": .numbers(spec.background.numbers), "where": "the picture is transparent",
                    ]))
        }
        steps.append(
            PreprocessingStep(
                operation: "convert",
                parameters: [
                    "to": .text(spec.channelOrder == .gray ? "gray (BT.601 luma), 8 bits" : "RGB, 8 bits a channel")
                ]))
        steps += geometry(plan.framing)
        steps.append(PreprocessingStep(operation: "normalize", parameters: normalization))
        steps.append(
            PreprocessingStep(
                operation: "tensor",
                parameters: [
                    "shape": .numbers(spec.shape.map(Double.init)), "layout": .text(spec.layout.rawValue),
                    "order": .text(spec.channelOrder.rawValue), "element": .text(spec.element.rawValue),
                ]))
        return PreprocessingReport(image: used, steps: steps)
    }

    private var normalization: [String: PreprocessingValue] {
        guard let normalization = spec.normalization else {
            return [
                "value": "pixel * scale + bias", "scale": .numbers(spec.scale.map(Double.init)),
                "bias": .numbers(spec.bias.map(Double.init)),
            ]
        }
        let again = normalization.dividesTwice ? " / std" : ""
        return [
            "value": .text("(pixel * rescale + offset - mean) / std\(again)"),
            "rescale": .number(normalization.rescale),
            "offset": .number(normalization.offset), "mean": .numbers(normalization.mean),
            "std": .numbers(normalization.std),
        ]
    }

    /// The steps crop, resize, cut and pad; coordinates are those of the oriented picture at its full size.
    private func geometry(_ framing: Framing) -> [PreprocessingStep] {
        let x = framing.x
        let y = framing.y
        var steps: [PreprocessingStep] = []
        if x.length < Double(x.wholeLength) || y.length < Double(y.wholeLength) {
            steps.append(
                PreprocessingStep(
                    operation: "crop",
                    parameters: [
                        "left": .number(x.source.lowerBound), "top": .number(y.source.lowerBound),
                        "width": .number(x.length), "height": .number(y.length),
                    ]))
        }
        steps.append(
            PreprocessingStep(
                operation: "resize",
                parameters: [
                    "width": .number(Double(x.scaledLength)), "height": .number(Double(y.scaledLength)),
                    "resampler": .text(spec.resampler.rawValue),
                ]))
        if x.outputs.count < x.scaledLength || y.outputs.count < y.scaledLength {
            steps.append(
                PreprocessingStep(
                    operation: "cut",
                    parameters: [
                        "left": .number(Double(x.outputs.lowerBound)), "top": .number(Double(y.outputs.lowerBound)),
                        "width": .number(Double(x.outputs.count)), "height": .number(Double(y.outputs.count)),
                    ]))
        }
        if framing.leavesRoom(in: spec) {
            steps.append(
                PreprocessingStep(
                    operation: "pad",
                    parameters: [
                        "left": .number(Double(x.destination)), "top": .number(Double(y.destination)),
                        "width": .number(Double(spec.width)), "height": .number(Double(spec.height)),
                        "fill": .numbers(spec.fill.numbers),
                    ]))
        }
        return steps
    }
}

extension RGBColor {
    fileprivate var numbers: [Double] { [Double(red), Double(green), Double(blue)] }
}

extension ImageTensorSpec {
    /// The tensor's axes: 1, height, width, channels, in the order of the layout.
    public var shape: [Int] {
        layout == .nhwc ? [1, height, width, channels] : [1, channels, height, width]
    }
}

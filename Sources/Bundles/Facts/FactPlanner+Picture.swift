internal import EngineAPI
internal import FileFormats
internal import ImagePipeline
internal import ModelFacts

/// Determines the conversion of a picture to the input.
extension FactPlanner {
    /// The reason no input takes a picture.
    func reasonWithoutPicture() -> String {
        let text = inputs.map { "\"\($0.name)\" \($0.shape)" }.joined(separator: ", ")
        return inputs.count == 1
            ? "how its input is made from one picture: \(text)"
            : "how its \(inputs.count) inputs are made from one picture: \(text)"
    }

    /// The only input, if its shape is that of a picture: channels first or last, and the two other axes larger or
    /// open.
    func picturePort() -> PicturePort? {
        guard inputs.count == 1, let port = inputs.first, port.elementType.pixelElement != nil else { return nil }
        var extents = port.shape.dimensions
        if extents.count == 4, extents[0] == 1 || extents[0] == Shape.dynamic { extents.removeFirst() }
        guard extents.count == 3 else { return nil }
        func isSide(_ extent: Int) -> Bool { extent > 4 || extent == Shape.dynamic }
        if [1, 3].contains(extents[0]), isSide(extents[1]), isSide(extents[2]) {
            return PicturePort(port: port, layout: .nchw, height: extents[1], width: extents[2], channels: extents[0])
        }
        if [1, 3].contains(extents[2]), isSide(extents[0]), isSide(extents[1]) {
            return PicturePort(port: port, layout: .nhwc, height: extents[0], width: extents[1], channels: extents[2])
        }
        // Hugging Face's exporters leave every axis open; the order is PyTorch's, in ONNX and IR files.
        if extents.allSatisfy({ $0 == Shape.dynamic }), [.onnx, .openvino].contains(ModelFormat(file: file)) {
            return PicturePort(port: port, layout: .nchw, height: -1, width: -1, channels: 3)
        }
        return nil
    }

    /// The final size of pictures, as the sources state it.
    private func finalSize(_ sheet: FactSheet) -> Fact<FactSize>? {
        guard let fact = sheet.framing else { return sheet.inputSize }
        func size(_ size: FactSize, _ part: FactPart) -> Fact<FactSize> {
            Fact(size, source: fact.source, key: fact.key(of: part))
        }
        if let crop = fact.value.crop { return size(crop, .crop) }
        switch fact.value.resize {
        case .exact(let exact): return size(exact, .resize)
        case .letterbox(.some(let whole), _): return sheet.inputSize ?? size(whole, .resize)
        default: return sheet.inputSize
        }
    }

    func inputLayer(
        _ picture: PicturePort, _ sheet: FactSheet, _ provenance: inout ModelProvenance
    ) -> ModelManifest.Layer? {
        let size = finalSize(sheet)
        let height = picture.height > 0 ? picture.height : size?.value.height ?? 0
        let width = picture.width > 0 ? picture.width : size?.value.width ?? 0
        var missing = Missing()
        if height <= 0 || width <= 0 {
            missing.add("shape", "the size of the input, which the model file leaves open (\"shape\")")
        }
        var image = ModelManifest.ImageLayer(
            channelOrder: picture.channels == 1 ? .gray : .rgb, scale: [Double](repeating: 1, count: picture.channels),
            bias: [Double](repeating: 0, count: picture.channels))
        image.layout = picture.layout
        let isOpen = picture.height <= 0 || picture.width <= 0
        if height > 0, width > 0 {
            provenance.note(
                "shape", "[\(height), \(width), \(picture.channels)]", isOpen ? size?.source ?? file : file,
                isOpen ? size?.key ?? "the input's shape" : "the input's shape")
        }
        provenance.note("layout", "\"\(picture.layout.rawValue)\"", file, "the input's shape")
        if let order = sheet.order, picture.channels == 3, order.value != .gray {
            image.channelOrder = order.value == .bgr ? .bgr : .rgb
            provenance.note("format", "\"\(order.value.rawValue)\"", order.source, order.key)
        } else if picture.channels == 1 {
            provenance.note("format", "\"GRAY\"", file, "the input's shape")
        } else {
            missing.add("format", "the order of the colours (\"format\": RGB or BGR)")
        }
        frame(&image, sheet, height: height, width: width, &provenance, &missing)
        if let filter = sheet.filter, let resampler = Resampler(rawValue: filter.value.rawValue) {
            image.resampler = resampler
            provenance.note("resampler", "\"\(filter.value.rawValue)\"", filter.source, filter.key)
        } else {
            missing.add("resampler", "how pictures are scaled (\"resampler\")")
        }
        var layer = ModelManifest.Layer(
            path: "inputs[0]", name: picture.port.name.isEmpty ? "input_0" : picture.port.name, kind: .array,
            elementType: picture.port.elementType, shape: Shape([height, width, picture.channels]))
        normalize(&image, &layer, sheet, picture, &provenance, &missing)
        for fact in sheet.unsupported {
            missing.add("unsupported", "a replacement for a step of \(fact.source): \(fact.value)")
        }
        for entry in missing.entries { provenance.leaveOpen(entry.key, entry.sentence) }
        guard missing.entries.isEmpty else { return nil }
        layer.kind = .image(image)
        return layer
    }

    // Long: one case for each way to frame a picture.
    private func frame(
        _ image: inout ModelManifest.ImageLayer, _ sheet: FactSheet, height: Int, width: Int,
        _ provenance: inout ModelProvenance, _ missing: inout Missing
    ) {
        guard let fact = sheet.framing else {
            missing.add("crop_and_scale", "how a picture's shape becomes the input's (\"crop_and_scale\")")
            return
        }
        func mismatch(_ found: FactSize) {
            missing.add(
                "crop_and_scale",
                "which size is right: \(fact.source) makes pictures of \(found.height)x\(found.width), the model file takes \(height)x\(width)"
            )
        }
        let input = FactSize(height: height, width: width)
        let framing = fact.value
        image.centering = framing.floors ? .floor : .halfEven
        if let crop = framing.crop, crop != input { return mismatch(crop) }
        var mode = CropAndScale.centerCrop
        switch framing.resize {
        case .stretch: mode = .scaleFill
        case .exact(let size) where size == input: mode = .scaleFill
        case .exact(let size):
            guard framing.crop != nil else { return mismatch(size) }
            image.resizeExactly = ImageSize(width: size.width, height: size.height)
        case .contain(let size), .cover(let size):
            let covers = if case .cover = framing.resize { true } else { false }
            image.resizeKeepingShape = ProportionalResize(
                ImageSize(width: size.width, height: size.height), covers: covers)
        case .shortest(let side): image.resizeShorterSide = side
        case .none: image.keepsSize = true
        case .largest: break
        case .letterbox(let size, let topLeft):
            // Exporters write the size that was used for training; if the shape of a file differs, that was intended,
            // and the shape is used.
            if let size, size != input {
                provenance.remarks.append(
                    "input size: \(file) takes \(height)x\(width), \(fact.source) says \(size.height)x\(size.width); \(file) wins"
                )
            }
            mode = .scaleFit
            image.alignment = topLeft ? .topLeft : .center
        }
        image.cropAndScale = mode
        provenance.note("crop_and_scale", "\"\(mode.rawValue)\"", fact.source, fact.key)
        let resizeKey = fact.key(of: .resize)
        if let side = image.resizeShorterSide {
            provenance.note("resize_shorter_side", "\(side)", fact.source, resizeKey)
        }
        if let size = image.resizeExactly {
            provenance.note("resize_exactly", "[\(size.height), \(size.width)]", fact.source, resizeKey)
        }
        if let resize = image.resizeKeepingShape {
            provenance.note(
                resize.covers ? "resize_cover" : "resize_contain", "[\(resize.size.height), \(resize.size.width)]",
                fact.source, resizeKey)
        }
        if image.keepsSize { provenance.note("resize", "\"none\"", fact.source, resizeKey) }
        if image.alignment == .topLeft { provenance.note("fit_alignment", "\"top_left\"", fact.source, fact.key) }
        if mode != .scaleFill, image.centering == .floor {
            provenance.note("centering", "\"floor\"", fact.source, fact.key(of: .centering))
        }
        let leavesRoom = mode == .scaleFit || image.resizeKeepingShape?.covers == false
        if let fill = sheet.fill, leavesRoom, let first = fill.value.first {
            image.fillColor = (0..<3).map { UInt8(clamping: $0 < fill.value.count ? fill.value[$0] : first) }
            provenance.note("fill_color", "\"\(Self.hexadecimal(image.fillColor))\"", fill.source, fill.key)
        }
    }

    static func hexadecimal(_ color: [UInt8]) -> String {
        "#" + color.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private func normalize(
        _ image: inout ModelManifest.ImageLayer, _ layer: inout ModelManifest.Layer, _ sheet: FactSheet,
        _ picture: PicturePort, _ provenance: inout ModelProvenance, _ missing: inout Missing
    ) {
        // A tensor of bytes, or of whole numbers as in MoveNet's files, takes pixels: the normalization belongs to the
        // float model that it was converted from.
        if [.uint8, .int32].contains(picture.port.elementType) { return }
        guard let fact = sheet.normalization else {
            missing.add("normalize", "how pixels are normalized (\"normalize\")")
            return
        }
        let form = fact.value
        func spread(_ values: [Double]) -> [Double] {
            (0..<picture.channels).map { values[min($0, values.count - 1)] }
        }
        guard !form.mean.isEmpty, !form.std.isEmpty else { return }
        let normalization = PixelNormalization(
            rescale: form.rescale, offset: form.offset, mean: spread(form.mean), std: spread(form.std),
            dividesTwice: form.dividesTwice)
        let divisors = normalization.std.map { form.dividesTwice ? $0 * $0 : $0 }
        image.normalization = normalization
        image.scale = divisors.map { form.rescale / $0 }
        image.bias = zip(normalization.mean, divisors).map { (form.offset - $0) / $1 }
        func part(_ name: String, _ value: String, _ part: FactPart) {
            provenance.note("normalize.\(name)", value, fact.source, fact.key(of: part))
        }
        part("scale", "\(form.rescale)", .scale)
        if form.offset != 0 { part("offset", "\(form.offset)", .offset) }
        part("mean", "\(normalization.mean)", .mean)
        part("std", "\(normalization.std)", .std)
        if form.dividesTwice { part("divide_by_std_twice", "true", .secondDivision) }
        guard !picture.port.elementType.isFloatingPoint else { return }
        guard let quantization = sheet.inputQuantization else {
            missing.add("quantize", "the scale and zero point of the input (\"quantize\")")
            return
        }
        // value / scale + zero
        let (scale, zero) = (quantization.value.scale, Double(quantization.value.zeroPoint))
        layer.linear = .biasThenScale(scale: 1 / scale, bias: zero * scale)
        provenance.note("quantize.scale", "\(1 / scale)", quantization.source, quantization.key)
        provenance.note("quantize.bias", "\(zero * scale)", quantization.source, quantization.key)
    }
}

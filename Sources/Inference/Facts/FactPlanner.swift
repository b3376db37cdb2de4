internal import ImagePipeline
internal import JSON
internal import ModelFacts

/// Turns what a model file and its neighbours say into what a model.json would say, once the file's tensors are known. Nothing is
/// guessed: what is missing is listed, and the model is then served as tensors.
struct FactPlanner {
    let facts: GatheredFacts
    let inputs: [TensorPort]
    let outputs: [TensorPort]
    /// The model file's name, and the name that it is served under.
    let file: String, name: String

    /// What was found.
    struct Result {
        /// What model.json would say; nil where no picture can be prepared.
        var manifest: ModelManifest?
        var provenance = ModelProvenance()
        /// The labels, the output that they are for, and the file that they were read from, where it is one of labels.
        var labels: [String]?
        var labelledOutput: Int?
        var labelFile: String?
        /// The name of the group of outputs that are boxes, masks or points.
        var observed: String?
    }

    /// What is still open, by model.json's keys.
    private struct Missing {
        var entries: [(key: String, sentence: String)] = []

        mutating func add(_ key: String, _ sentence: String) { entries.append((key, sentence)) }
    }

    /// A picture's tensor: its extents, by position.
    private struct PicturePort {
        let port: TensorPort
        let layout: TensorLayout
        /// -1 where the file leaves it open.
        let height: Int, width: Int
        let channels: Int
    }

    func plan() -> Result {
        var result = Result()
        guard let picture = picturePort() else {
            var provenance = ModelProvenance()
            _ = outputLayers(facts.sheet, &provenance, &result)
            result.provenance.lines = provenance.lines
            result.provenance.remarks = remarks(facts.sheet) + provenance.remarks
            // A file that nobody says anything about may be one of numbers.
            if facts.sheet.framing != nil || facts.sheet.labels != nil || facts.sheet.task != nil {
                result.provenance.leaveOpen("inputs", whyNoPicture())
            }
            return result
        }
        let known =
            picture.height > 0 && picture.width > 0 ? FactSize(height: picture.height, width: picture.width) : nil
        var sheet = facts.sheet(input: known)
        if let head = sheet.head, head.value == .untoldYOLO, sheet.framing == nil {
            let findsThings = outputs.contains { $0.shape.dimensions.count == 3 }
            sheet = .merged([sheet, UltralyticsReader.untold(head, findsThings: findsThings)])
        }
        var provenance = ModelProvenance()
        provenance.remarks = remarks(sheet)
        var manifest = ModelManifest()
        manifest.name = sheet.name?.value ?? name
        manifest.identifier = name
        manifest.details = sheet.details?.value ?? ""
        manifest.author = sheet.author?.value ?? ""
        manifest.license = sheet.license?.value ?? ""
        manifest.file = file
        manifest.backend = ModelManifest.Backend(rawValue: ModelBundle.backend(of: file)) ?? .tensorflow

        let input = inputLayer(picture, sheet, &provenance)
        let outputs: [ModelManifest.Layer]
        switch ObservationFacts.find(sheet, outputs: self.outputs, labels: labels(sheet), input: known, file: file) {
        case .observation(let found):
            result.labels = found.labels?.value
            if let source = found.labels?.source, facts.labelFiles.contains(where: { $0.file == source }) {
                result.labelFile = source
            }
            result.observed = found.output.name
            provenance.lines += found.lines
            provenance.remarks += found.remarks
            manifest.observations = [found.output]
            outputs = found.output.layers
        case .unread(let reason):
            provenance.leaveOpen("outputs", reason)
            outputs = plainLayers()
        case .nothing:
            outputs = outputLayers(sheet, &provenance, &result)
        }
        result.provenance = provenance
        guard let input else { return result }
        manifest.inputs = [input]
        manifest.outputs = outputs
        result.manifest = manifest
        return result
    }

    private func remarks(_ sheet: FactSheet) -> [String] {
        sheet.problems.map { "\($0.source): \($0.reason)" } + sheet.disagreements.map(\.sentence)
            + sheet.unsupported.map { "\($0.source), \($0.key): \($0.value)" }
    }

    /// Lists of names, the likeliest first.
    private func labels(_ sheet: FactSheet) -> [Fact<[String]>] {
        [sheet.labels].compactMap { $0 }
            + facts.labelFiles.map { Fact($0.labels, source: $0.file, key: "one name a line") }
            + [sheet.placeholderLabels].compactMap { $0 }
    }

    // MARK: The picture

    /// Why no input is a picture's.
    private func whyNoPicture() -> String {
        let text = inputs.map { "\"\($0.name)\" \($0.shape)" }.joined(separator: ", ")
        return inputs.count == 1
            ? "how its input is made of one picture: \(text)"
            : "how its \(inputs.count) inputs are made of one picture: \(text)"
    }

    /// The one input, if its shape is a picture's: channels first or last, and the two other axes larger or open.
    private func picturePort() -> PicturePort? {
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
        // Every axis open, as Hugging Face's exporters write it: PyTorch's order, in ONNX and IR files.
        if extents.allSatisfy({ $0 == Shape.dynamic }), file.hasSuffix(".onnx") || file.hasSuffix(".xml") {
            return PicturePort(port: port, layout: .nchw, height: -1, width: -1, channels: 3)
        }
        return nil
    }

    /// The size that pictures get in the end, by what the sources say.
    private func finalSize(_ sheet: FactSheet) -> FactSize? {
        guard let framing = sheet.framing?.value else { return sheet.inputSize?.value }
        if let crop = framing.crop { return crop }
        switch framing.resize {
        case .exact(let size), .letterbox(.some(let size), _): return size
        default: return sheet.inputSize?.value
        }
    }

    private func inputLayer(
        _ picture: PicturePort, _ sheet: FactSheet, _ provenance: inout ModelProvenance
    ) -> ModelManifest.Layer? {
        let size = finalSize(sheet)
        let height = picture.height > 0 ? picture.height : size?.height ?? 0
        let width = picture.width > 0 ? picture.width : size?.width ?? 0
        var missing = Missing()
        if height <= 0 || width <= 0 {
            missing.add("shape", "the size of the input, which the model file leaves open (\"shape\")")
        }
        var image = ModelManifest.ImageLayer(
            channelOrder: picture.channels == 1 ? .gray : .rgb, scale: [Double](repeating: 1, count: picture.channels),
            bias: [Double](repeating: 0, count: picture.channels))
        image.layout = picture.layout
        func note(_ name: String, _ value: String, _ source: String, _ key: String) {
            provenance.lines.append(ModelProvenance.Line(name: name, value: value, source: source, key: key))
        }
        note(
            "shape", "[\(height), \(width), \(picture.channels)]",
            picture.height > 0 ? file : sheet.framing?.source ?? file, "the input's shape")
        note("layout", "\"\(picture.layout.rawValue)\"", file, "the input's shape")
        if let order = sheet.order, picture.channels == 3, order.value != .gray {
            image.channelOrder = order.value == .bgr ? .bgr : .rgb
            note("format", "\"\(order.value.rawValue)\"", order.source, order.key)
        } else if picture.channels == 1 {
            note("format", "\"GRAY\"", file, "the input's shape")
        } else {
            missing.add("format", "the order of the colours (\"format\": RGB or BGR)")
        }
        frame(&image, sheet, height: height, width: width, &provenance, &missing)
        if let filter = sheet.filter, let resampler = Resampler(rawValue: filter.value.rawValue) {
            image.resampler = resampler
            note("resampler", "\"\(filter.value.rawValue)\"", filter.source, filter.key)
        } else {
            missing.add("resampler", "how pictures are scaled (\"resampler\")")
        }
        var layer = ModelManifest.Layer(
            path: "inputs[0]", name: picture.port.name.isEmpty ? "input_0" : picture.port.name, kind: .array,
            elementType: picture.port.elementType, shape: Shape([height, width, picture.channels]))
        normalize(&image, &layer, sheet, picture, &provenance, &missing)
        for fact in sheet.unsupported {
            missing.add("unsupported", "how to do without what \(fact.source) asks for: \(fact.value)")
        }
        for entry in missing.entries { provenance.leaveOpen(entry.key, entry.sentence) }
        guard missing.entries.isEmpty else { return nil }
        layer.kind = .image(image)
        return layer
    }

    private func frame(
        _ image: inout ModelManifest.ImageLayer, _ sheet: FactSheet, height: Int, width: Int,
        _ provenance: inout ModelProvenance, _ missing: inout Missing
    ) {
        guard let fact = sheet.framing else {
            missing.add("crop_and_scale", "how a picture's shape becomes the input's (\"crop_and_scale\")")
            return
        }
        func note(_ name: String, _ value: String, _ source: String, _ key: String) {
            provenance.lines.append(ModelProvenance.Line(name: name, value: value, source: source, key: key))
        }
        func mismatch(_ found: FactSize) {
            missing.add(
                "crop_and_scale",
                "what is right: \(fact.source) makes pictures of \(found.height)x\(found.width), the model file takes \(height)x\(width)"
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
        case .largest: image.centering = .halfEven
        case .letterbox(let size, let topLeft):
            // Exporters write the size of training; a file of another size was made so on purpose, and says so by its shape.
            if let size, size != input {
                provenance.remarks.append(
                    "input size: \(file) takes \(height)x\(width), \(fact.source) says \(size.height)x\(size.width); \(file) wins"
                )
            }
            mode = .scaleFit
            image.alignment = topLeft ? .topLeft : .center
        }
        image.cropAndScale = mode
        note("crop_and_scale", "\"\(mode.rawValue)\"", fact.source, fact.key)
        if let side = image.resizeShorterSide { note("resize_shorter_side", "\(side)", fact.source, fact.key) }
        if let size = image.resizeExactly {
            note("resize_exactly", "[\(size.height), \(size.width)]", fact.source, fact.key)
        }
        if let resize = image.resizeKeepingShape {
            note(
                resize.covers ? "resize_cover" : "resize_contain", "[\(resize.size.height), \(resize.size.width)]",
                fact.source, fact.key)
        }
        if image.keepsSize { note("resize", "\"none\"", fact.source, fact.key) }
        if image.alignment == .topLeft { note("fit_alignment", "\"top_left\"", fact.source, fact.key) }
        if mode != .scaleFill, image.centering == .floor { note("centering", "\"floor\"", fact.source, fact.key) }
        let leavesRoom = mode == .scaleFit || image.resizeKeepingShape?.covers == false
        if let fill = sheet.fill, leavesRoom, let first = fill.value.first {
            image.fillColor = (0..<3).map { UInt8(clamping: $0 < fill.value.count ? fill.value[$0] : first) }
            note("fill_color", "\"\(Self.hexadecimal(image.fillColor))\"", fill.source, fill.key)
        }
    }

    static func hexadecimal(_ color: [UInt8]) -> String {
        "#" + color.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private func normalize(
        _ image: inout ModelManifest.ImageLayer, _ layer: inout ModelManifest.Layer, _ sheet: FactSheet,
        _ picture: PicturePort, _ provenance: inout ModelProvenance, _ missing: inout Missing
    ) {
        func note(_ name: String, _ value: String, _ source: String, _ key: String) {
            provenance.lines.append(ModelProvenance.Line(name: name, value: value, source: source, key: key))
        }
        // Pixels are what a tensor of bytes holds: the normalization is for the float model that it was made of.
        if picture.port.elementType == .uint8 { return }
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
        note("normalize.scale", "\(form.rescale)", fact.source, fact.key)
        if form.offset != 0 { note("normalize.offset", "\(form.offset)", fact.source, fact.key) }
        note("normalize.mean", "\(normalization.mean)", fact.source, fact.key)
        note("normalize.std", "\(normalization.std)", fact.source, fact.key.replacingMean)
        if form.dividesTwice { note("normalize.divide_by_std_twice", "true", fact.source, "include_top") }
        guard !picture.port.elementType.isFloatingPoint else { return }
        guard let quantization = sheet.inputQuantization else {
            missing.add("quantize", "the scale and zero point of the input (\"quantize\")")
            return
        }
        // value / scale + zero
        let (scale, zero) = (quantization.value.scale, Double(quantization.value.zeroPoint))
        layer.linear = .biasThenScale(scale: 1 / scale, bias: zero * scale)
        note("quantize.scale", "\(1 / scale)", quantization.source, quantization.key)
        note("quantize.bias", "\(zero * scale)", quantization.source, quantization.key)
    }

    // MARK: Outputs

    /// The tensors as they are.
    private func plainLayers() -> [ModelManifest.Layer] {
        outputs.enumerated().map { index, port in
            ModelManifest.Layer(
                path: "outputs[\(index)]", name: port.name.isEmpty ? "output_\(index)" : port.name, kind: .array,
                elementType: port.elementType, shape: port.shape)
        }
    }

    private func outputLayers(
        _ sheet: FactSheet, _ provenance: inout ModelProvenance, _ result: inout Result
    ) -> [ModelManifest.Layer] {
        var layers = plainLayers()
        // One value for each class, and nothing else but axes of 1.
        func classes(_ port: TensorPort) -> Int? {
            let extents = port.shape.dimensions.dropFirst(port.shape.dimensions.count > 1 ? 1 : 0).filter { $0 != 1 }
            return extents.count == 1 && extents[0] > 1 ? extents[0] : nil
        }
        let candidates = outputs.indices.filter { classes(outputs[$0]) != nil }
        func note(_ name: String, _ value: String, _ source: String, _ key: String) {
            provenance.lines.append(ModelProvenance.Line(name: name, value: value, source: source, key: key))
        }
        var labels: Fact<[String]>?
        var place: Int?
        var wrong: [String] = []
        let files = Set(facts.labelFiles.map(\.file))
        for fact in self.labels(sheet) where labels == nil || fact != sheet.placeholderLabels {
            if let index = candidates.first(where: { classes(outputs[$0]) == fact.value.count }) {
                (labels, place) = (labels ?? fact, place ?? index)
                if labels?.source == fact.source, files.contains(fact.source) { result.labelFile = fact.source }
                if let labels, labels.source != fact.source, labels.value != fact.value {
                    provenance.remarks.append(
                        "labels: \(labels.source) and \(fact.source) name the classes differently; \(labels.source) wins"
                    )
                }
            } else {
                wrong.append("\(fact.source) has \(fact.value.count) labels")
            }
        }
        guard let labels, let place else {
            let counts = candidates.compactMap { classes(outputs[$0]) }
            guard let count = counts.first else {
                provenance.leaveOpen("labels", "what its outputs mean")
                return layers
            }
            provenance.leaveOpen(
                "labels",
                "the labels of the \(count) classes (\"labels\")"
                    + (wrong.isEmpty ? "" : ": \(wrong.joined(separator: ", "))"))
            return layers
        }
        result.labels = labels.value
        result.labelledOutput = place
        if !wrong.isEmpty {
            provenance.remarks.append(
                "labels: the output has \(labels.value.count) classes, but \(wrong.joined(separator: ", "))")
        }
        note(
            "labels", labels.value.count > 5 ? "\(labels.value.count)" : labels.value.jsonText, labels.source,
            labels.key)
        let port = outputs[place]
        if !port.elementType.isFloatingPoint {
            guard let quantization = sheet.outputQuantization else {
                provenance.leaveOpen("dequantize", "the scale and zero point of the output (\"dequantize\")")
                return layers
            }
            let (scale, zero) = (quantization.value.scale, Double(quantization.value.zeroPoint))
            layers[place].linear = .scaleThenBias(scale: scale, bias: -zero * scale)
            note("dequantize.scale", "\(scale)", quantization.source, quantization.key)
            note("dequantize.bias", "\(-zero * scale)", quantization.source, quantization.key)
        }
        guard let ending = ending(sheet, port) else {
            provenance.leaveOpen("activation", "whether the output is probabilities or logits (\"activation\")")
            return layers
        }
        layers[place].labels = labels.value
        if let confidence = sheet.confidence {
            provenance.remarks.append(
                "threshold: \(confidence.source) (\(confidence.key)) says \(confidence.value); /classify has the query's \"threshold\", 0 unless it is asked for"
            )
        }
        if ending.value == .none {
            let isMulti = sheet.multiLabel?.value ?? false
            layers[place].activation = isMulti ? .sigmoid : .softmax
            note(
                "activation", isMulti ? "\"sigmoid\"" : "\"softmax\"",
                isMulti ? sheet.multiLabel?.source ?? ending.source : ending.source,
                isMulti ? sheet.multiLabel?.key ?? ending.key : "\(ending.key), which is neither Softmax nor Sigmoid")
        } else {
            note(
                "activation", "null", ending.source,
                "\(ending.key), \(ending.value == .softmax ? "Softmax" : "Sigmoid")")
        }
        return layers
    }

    /// How the labelled output ends: by the graph, or by the name that Hugging Face's exporters give it.
    private func ending(_ sheet: FactSheet, _ port: TensorPort) -> Fact<GraphEnding>? {
        let known = sheet.endings.first { $0.output.split(separator: ",").contains { $0 == port.name } }
        if let ending = known?.fact ?? (outputs.count == 1 ? sheet.ending : nil) { return ending }
        if port.name == "logits" || port.name.hasSuffix("/logits") {
            return Fact(.none, source: file, key: "the output's name \"\(port.name)\"")
        }
        return sheet.usualEnding
    }
}

extension String {
    /// The key of the deviation that goes with a mean's key.
    fileprivate var replacingMean: String {
        hasSuffix("mean") ? String(dropLast(4)) + "std" : self
    }
}

extension [String] {
    /// As a JSON array.
    var jsonText: String {
        var out: [UInt8] = [UInt8(ascii: "[")]
        for (index, text) in enumerated() {
            if index > 0 { out += [UInt8](", ".utf8) }
            JSONText.appendString(text, to: &out)
        }
        return String(decoding: out + [UInt8(ascii: "]")], as: UTF8.self)
    }
}

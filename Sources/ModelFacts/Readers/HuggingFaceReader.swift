internal import FileFormats
internal import JSON

/// Reads `config.json` and `preprocessor_config.json` in the form of Hugging Face's transformers.
package enum HuggingFaceReader {
    /// Reads `config.json`: the labels, the task and the pooling.
    package static func config(_ text: [UInt8], source: String = "config.json") -> FactSheet {
        var sheet = FactSheet()
        let node: FactNode
        do throws(FormatError) {
            node = FactNode(try JSONFile.read(text), source: source)
        } catch {
            sheet.problems.append(FactProblem(source: source, reason: error.reason))
            return sheet
        }
        func fact<Value>(_ value: Value?, _ key: String) -> Fact<Value>? {
            value.map { Fact($0, source: source, key: key) }
        }
        // A configuration that was made without labels has numbered ones: LABEL_0, LABEL_1.
        if let labels = node.labels("id2label") ?? node.labels("label2id") {
            let found = fact(labels, node.has("id2label") ? "id2label" : "label2id")
            if isPlaceholder(labels) { sheet.placeholderLabels = found } else { sheet.labels = found }
        }
        if let problem = node.string("problem_type") {
            sheet.multiLabel = fact(problem == "multi_label_classification", "problem_type")
        }
        if case .array(let names)? = node.value("architectures"), case .string(let name)? = names.first {
            let key = "architectures: \(name)"
            if let (task, head) = meaning(ofArchitecture: name) {
                sheet.task = fact(task, "architectures")
                sheet.head = head.map { Fact($0, source: source, key: key) }
            }
            sheet.pooling = pooling(ofArchitecture: name).map {
                Fact($0, source: source, key: key, basis: .preset)
            }
        }
        sheet.name = fact(node.string("_name_or_path").flatMap { $0.isEmpty ? nil : $0 }, "_name_or_path")
        // `image_size` is not read: it is the size for which positions were trained, not the processor's (DINOv2: 518
        // and 224).
        sheet.problems = node.problems
        return sheet
    }

    private static func isPlaceholder(_ labels: [String]) -> Bool {
        labels.indices.allSatisfy { labels[$0] == "LABEL_\($0)" }
    }

    /// Detectors of transformers with independent scores: `post_process_object_detection` of their processors takes the
    /// sigmoid of each score, and the best of all queries and classes.
    private static let focal = [
        "RTDetr", "RTDetrV2", "DFine", "DeformableDetr", "ConditionalDetr", "DabDetr", "LwDetr", "RfDetr",
    ]
    /// Detectors with one distribution for each query; its last class means no object.
    private static let plain = ["Detr", "Yolos", "TableTransformer"]

    private static func meaning(ofArchitecture name: String) -> (task: String, head: ModelHead?)? {
        func has(_ suffix: String) -> Bool { name.hasSuffix(suffix) }
        if has("ForImageClassification") || has("ForImageClassificationWithTeacher") { return ("classify", nil) }
        if has("ForObjectDetection") {
            let family = String(name.dropLast("ForObjectDetection".count))
            if focal.contains(family) { return ("detect", .focalDETR) }
            return ("detect", plain.contains(family) ? .detr : .other)
        }
        if has("ForSemanticSegmentation") { return ("segment", .semanticMap) }
        if has("ForDepthEstimation") { return ("depth", .depthMap) }
        for suffix in ["ForUniversalSegmentation", "ForInstanceSegmentation", "ForSegmentation", "ForPoseEstimation"]
        where has(suffix) { return (name, .other) }
        return nil
    }

    /// Models with the first token of `last_hidden_state` as `pooler_output`, or as the input of their classifier (ViT
    /// and related models).
    private static let firstToken = [
        "Dinov2Model", "Dinov2WithRegistersModel", "DINOv3ViTModel", "ViTModel", "DeiTModel", "ViTMSNModel",
    ]
    /// Models with the mean of `last_hidden_state` as `pooler_output`, or as the input of their classifier.
    private static let mean = [
        "SwinModel", "Swinv2Model", "ResNetModel", "RegNetModel", "MobileNetV1Model", "MobileNetV2Model", "IJepaModel",
    ]

    private static func pooling(ofArchitecture name: String) -> VectorPooling? {
        firstToken.contains(name) ? .cls : mean.contains(name) ? .mean : nil
    }

    /// Reads `1_Pooling/config.json` of sentence-transformers: the pooling of token vectors.
    package static func sentencePooling(_ text: [UInt8], source: String) -> FactSheet {
        var sheet = FactSheet()
        do throws(FormatError) {
            let node = FactNode(try JSONFile.read(text), source: source)
            var modes: [(name: String, key: String)] = []
            if let mode = node.string("pooling_mode") { modes.append((mode, "pooling_mode: \(mode)")) }
            for (key, name) in [
                ("pooling_mode_cls_token", "cls"), ("pooling_mode_mean_tokens", "mean"),
                ("pooling_mode_max_tokens", "max"), ("pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len"),
                ("pooling_mode_weightedmean_tokens", "weightedmean"), ("pooling_mode_lasttoken", "lasttoken"),
            ] where node.flag(key) == true { modes.append((name, key)) }
            // Several poolings are concatenated.
            if let mode = modes.first {
                let pooling = modes.count == 1 ? VectorPooling(rawValue: mode.name) ?? .other : .other
                sheet.pooling = Fact(pooling, source: source, key: modes.map(\.key).joined(separator: ", "))
            }
            sheet.problems = node.problems
        } catch {
            sheet.problems.append(FactProblem(source: source, reason: error.reason))
        }
        return sheet
    }

    /// Reads `preprocessor_config.json`: the conversion of a picture to the tensor.
    /// - Parameter config: the adjacent `config.json`; its `model_type` determines the class if the processor's own
    ///   file does not.
    package static func preprocessor(
        _ text: [UInt8], config: [UInt8]? = nil, source: String = "preprocessor_config.json"
    ) -> FactSheet {
        var sheet = FactSheet()
        do throws(FormatError) {
            let node = FactNode(try JSONFile.read(text), source: source)
            var modelType: String?
            if let config, case .object(let members)? = try? JSONFile.read(config),
                case .string(let type)? = members["model_type"]
            {
                modelType = type
            }
            // Multimodal models of later versions have the picture's part under its own key.
            let part = node.has("size") || node.has("image_mean") ? node : node.object("image_processor") ?? node
            PreprocessorReading(node: part, modelType: modelType).fill(&sheet)
            sheet.problems += node.problems
        } catch {
            sheet.problems.append(FactProblem(source: source, reason: error.reason))
        }
        return sheet
    }
}

/// Converts one processor's file to facts.
private struct PreprocessorReading {
    let node: FactNode
    let modelType: String?
    private let type: String?
    private let defaults: ProcessorDefaults?

    init(node: FactNode, modelType: String?) {
        self.node = node
        self.modelType = modelType
        type = node.string("image_processor_type") ?? node.string("feature_extractor_type")
        defaults =
            type.flatMap(ProcessorDefaults.named)
            ?? (type == nil ? modelType.flatMap(ProcessorDefaults.ofModelType) : nil)
    }

    /// The source of a value that the file omits.
    private var origin: String { defaults.map { "default of \($0.className)" } ?? "transformers' usual default" }

    /// The key of a value, or the name of its default.
    private func key(_ key: String) -> String { node.has(key) ? node.path(of: key) : origin }

    private func fact<Value>(_ value: Value, _ key: String) -> Fact<Value> {
        Fact(value, source: node.source, key: self.key(key), basis: basis(key))
    }

    /// `stated` if the file gives the value, or one of its parts, otherwise `preset`.
    private func basis(_ keys: String...) -> FactBasis { keys.contains(where: node.has) ? .stated : .preset }

    private func refuse(_ sheet: inout FactSheet, _ key: String, _ reason: String) {
        sheet.unsupported.append(Fact(reason, source: node.source, key: node.path(of: key)))
    }

    func fill(_ sheet: inout FactSheet) {
        guard defaults != nil || node.has("size") || node.has("image_mean") || node.has("do_resize") else {
            // The file of a text or audio processor.
            if let type {
                refuse(&sheet, "image_processor_type", "\"\(type)\" is an unknown image processor")
            }
            return
        }
        framing(&sheet)
        filter(&sheet)
        normalization(&sheet)
        unknownClass(&sheet)
        let flips = node.flag("do_flip_channel_order") ?? node.flag("do_flip_channels") ?? defaults?.flips ?? false
        let key = ["do_flip_channel_order", "do_flip_channels"].first(where: node.has)
        let unsaid = defaults?.flips == true ? origin : "RGB, as in all other processors"
        sheet.order = Fact(
            flips ? .bgr : .rgb, source: node.source, key: key.map(node.path(of:)) ?? unsaid,
            basis: key == nil ? .preset : .stated)
        if let divisor = node.number("size_divisor"), divisor > 1 {
            refuse(&sheet, "size_divisor", "\"size_divisor\": a size that depends on the picture is not supported")
        }
        // These classes pad last: no padding is needed if every picture has the same size.
        let padsLast = type.map { $0.contains("Detr") || $0.hasPrefix("Yolos") } ?? false
        let isExact = if case .exact? = sheet.framing?.value.resize { !node.has("pad_size") } else { false }
        if !(isExact && padsLast), node.flag("do_pad") == true {
            refuse(
                &sheet, "do_pad", "\"do_pad\": padding to a size that depends on the picture is not supported")
        }
        for (key, reason) in [
            ("do_thumbnail", "a thumbnail that depends on the picture"),
            ("do_align_long_axis", "turning the picture by its longer side"),
            ("apply_ocr", "reading text before the model"),
            ("do_image_splitting", "splitting the picture"), ("do_crop_margin", "cutting the margin by its colour"),
            ("do_color_quantize", "colours as clusters"), ("do_grayscale", "gray of three channels"),
            ("keep_aspect_ratio", "a size that depends on the picture"),
            ("do_pan_and_scan", "several parts of the picture"),
        ] where node.flag(key) == true {
            refuse(&sheet, key, "\"\(key)\": \(reason) is not supported")
        }
        for key in ["image_grid_pinpoints", "max_num_patches", "max_pixels", "max_image_size", "mask_size"]
        where node.has(key) {
            refuse(&sheet, key, "\"\(key)\": the steps that it stands for are not supported")
        }
    }

    /// A file with an unknown class, which has no known defaults, must give all values.
    private func unknownClass(_ sheet: inout FactSheet) {
        guard defaults == nil, let name = type ?? modelType else { return }
        let resizes = node.flag("do_resize") ?? true
        let rescales = node.has("do_rescale") || node.has("rescale_factor")
        for (key, isSaid) in [
            ("resample", !resizes || node.has("resample")), ("do_normalize", node.has("do_normalize")),
            ("do_rescale", rescales),
        ] where !isSaid {
            refuse(
                &sheet, key,
                "the defaults of \"\(name)\" are unknown, and the file does not specify \"\(key)\"")
        }
        if sheet.unsupported.isEmpty, sheet.framing != nil {
            sheet.problems.append(
                FactProblem(
                    source: node.source,
                    reason: "unknown \"\(name)\": its keys are read with their usual meaning"))
        }
    }

    // MARK: Size

    private enum Size {
        case shortest(Int)
        case exact(FactSize)
    }

    private func framing(_ sheet: inout FactSheet) {
        let crop = self.crop()
        let keyOfCrop = key("crop_size")
        func framed(_ resize: PictureFraming.Resize, _ crop: FactSize?, _ key: String, cropKey: String? = nil) {
            let cropKey = cropKey ?? keyOfCrop
            // If a part is cropped, the crop determines how the picture's shape becomes the input's.
            let cuts = crop.map { resize != .exact($0) } ?? false
            sheet.framing = Fact(
                PictureFraming(resize, crop: crop), source: node.source, key: cuts ? cropKey : key,
                parts: [.resize: key, .crop: cropKey, .centering: "transformers' center_crop"],
                basis: basis("size", "crop_size", "do_resize", "do_center_crop"))
        }
        if node.flag("do_resize") == false {
            guard let crop else {
                return refuse(&sheet, "do_resize", "pictures are neither scaled nor cropped: they have any size")
            }
            return framed(.none, crop, node.path(of: "do_resize"))
        }
        guard let size = size(&sheet) else { return }
        let key = self.key("size")
        switch (defaults?.quirk ?? .none, size) {
        case (.convNext, .shortest(let side)):
            guard side < 384 else { return framed(.exact(FactSize(height: side, width: side)), nil, key) }
            guard let share = share(224.0 / 256, &sheet) else { return }
            framed(
                .shortest(scaled(Double(side) / share)), FactSize(height: side, width: side), "\(key), \(keyOfShare)",
                cropKey: key)
        case (.poolFormer, .shortest(let side)):
            guard let share = share(0.9, &sheet) else { return }
            framed(.shortest(scaled(Double(side) / share)), crop, "\(key), \(keyOfShare)")
        case (.poolFormer, .exact(let exact)):
            guard let share = share(0.9, &sheet) else { return }
            guard exact.height == exact.width else {
                return framed(
                    .exact(
                        FactSize(
                            height: scaled(Double(exact.height) / share), width: scaled(Double(exact.width) / share))),
                    crop, "\(key), \(keyOfShare)")
            }
            framed(.shortest(scaled(Double(exact.height) / share)), crop, "\(key), \(keyOfShare)")
        case (.levit, .shortest(let side)): framed(.shortest(scaled(256.0 / 224 * Double(side))), crop, key)
        case (_, .shortest(let side)): framed(.shortest(side), crop, key)
        case (_, .exact(let exact)): framed(.exact(exact), crop, key)
        }
        if case .shortest? = sheet.framing?.value.resize, sheet.framing?.value.crop == nil {
            sheet.framing = nil
            refuse(&sheet, "size", "only the shorter side is scaled and nothing is cropped: pictures have any size")
        }
    }

    private var keyOfShare: String { node.has("crop_pct") ? node.path(of: "crop_pct") : "default crop_pct" }

    private func share(_ usual: Double, _ sheet: inout FactSheet) -> Double? {
        let share = node.number("crop_pct") ?? usual
        guard share > 0, share <= 1 else {
            node.note("crop_pct", "expected a number greater than 0, at most 1, found \(share)")
            return nil
        }
        return share
    }

    private func scaled(_ side: Double) -> Int { Int(min(max(1, side), 16_384)) }

    private func size(_ sheet: inout FactSheet) -> Size? {
        guard let value = node.value("size") else {
            switch defaults?.size {
            case .shortest(let side)?: return .shortest(side)
            case .exact(let height, let width)?: return .exact(FactSize(height: height, width: width))
            case nil: return nil
            }
        }
        // The older form of the longest edge in transformers.
        if node.has("max_size") {
            refuse(&sheet, "max_size", "\"max_size\": the size depends on the picture, which is not supported")
            return nil
        }
        guard case .object = value, let object = node.object("size") else {
            guard let sides = node.size("size") else { return nil }
            // A single number means both sides or the shorter one, depending on the class.
            if case .array(let elements) = value, elements.count == 2 { return .exact(sides) }
            switch defaults?.size {
            case .shortest?: return .shortest(sides.height)
            case .exact? where defaults?.quirk == .shorterByNumber: return .shortest(sides.height)
            case .exact?: return .exact(sides)
            case nil:
                refuse(
                    &sheet, "size",
                    "a number alone is both sides or the shorter one, depending on the processor's class, which \(type.map { "\"\($0)\" does not determine" } ?? "is not named")"
                )
                return nil
            }
        }
        if object.has("height") || object.has("width") {
            guard let height = object.integer("height", in: FactSize.sides),
                let width = object.integer("width", in: FactSize.sides)
            else {
                if !object.has("height") || !object.has("width") {
                    node.note("size", "expected both \"height\" and \"width\"")
                }
                return nil
            }
            return .exact(FactSize(height: height, width: width))
        }
        if object.has("longest_edge") || object.has("max_height") {
            let key = object.has("longest_edge") ? "longest_edge" : "max_height"
            refuse(&sheet, "size", "\"\(key)\": the size depends on the picture, which is not supported")
            return nil
        }
        guard object.has("shortest_edge") else {
            node.note(
                "size",
                "expected \"shortest_edge\", or \"height\" and \"width\", found \(object.keys.joined(separator: ", "))")
            return nil
        }
        return object.integer("shortest_edge", in: FactSize.sides).map { .shortest($0) }
    }

    private func crop() -> FactSize? {
        // A class without this key ignores it, whatever the file says.
        let crops =
            defaults.map { $0.crops == nil ? false : node.flag("do_center_crop") ?? $0.crops ?? false }
            ?? node.flag("do_center_crop") ?? node.has("crop_size")
        guard crops else { return nil }
        guard let value = node.value("crop_size") else {
            return defaults?.crop.map { FactSize(height: $0, width: $0) }
        }
        guard case .object = value, let object = node.object("crop_size") else { return node.size("crop_size") }
        if let edge = object.integer("shortest_edge", in: FactSize.sides) { return FactSize(height: edge, width: edge) }
        guard let height = object.integer("height", in: FactSize.sides),
            let width = object.integer("width", in: FactSize.sides)
        else {
            node.note("crop_size", "expected \"height\" and \"width\"")
            return nil
        }
        return FactSize(height: height, width: width)
    }

    // MARK: Values

    private func filter(_ sheet: inout FactSheet) {
        let code: Int?
        if case .string(let name)? = node.value("resample") {
            code = ["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"].firstIndex(of: name.lowercased())
        } else {
            code = node.value("resample") == nil ? defaults?.resample : node.integer("resample", in: 0...5)
        }
        guard let code, let filter = PictureFilter(pillow: code) else {
            if node.has("resample") { node.note("resample", "expected the number of a Pillow filter, 0 to 5") }
            return
        }
        sheet.filter = fact(filter, "resample")
    }

    private func normalization(_ sheet: inout FactSheet) {
        var form = PictureNormalization()
        let rescales = node.flag("do_rescale") ?? true
        form.rescale = rescales ? node.number("rescale_factor") ?? defaults?.rescale ?? 1 / 255 : 1
        if defaults?.quirk == .efficientNet, rescales, node.flag("rescale_offset") == true { form.offset = -1 }
        let knows = defaults.map { $0.moments != nil } ?? true
        let normalizes = knows && (node.flag("do_normalize") ?? (defaults?.normalizes ?? node.has("image_mean")))
        let mean = node.numbers("image_mean") ?? defaults?.moments?.mean
        let std = node.numbers("image_std") ?? defaults?.moments?.std
        let again = defaults?.quirk == .efficientNet && (node.flag("include_top") ?? true)
        if normalizes || again {
            guard let mean, let std else {
                return refuse(&sheet, "image_mean", "\"do_normalize\" without \"image_mean\" and \"image_std\"")
            }
            guard std.allSatisfy({ $0 > 0 }) else {
                return node.note("image_std", "expected numbers greater than 0, found \(std)")
            }
            if normalizes { form.mean = mean }
            form.std = std
            form.dividesTwice = again && normalizes
        }
        // A mean of 0 and a deviation of 1 mean no normalization; their source is then another key, or the class.
        let unsaid = knows && node.has("do_normalize") ? node.path(of: "do_normalize") : origin
        sheet.normalization = Fact(
            form, source: node.source, key: normalizes ? key("image_mean") : unsaid,
            parts: [
                .scale: rescales ? key("rescale_factor") : node.path(of: "do_rescale"), .offset: key("rescale_offset"),
                .mean: normalizes ? key("image_mean") : unsaid,
                .std: normalizes || again ? key("image_std") : unsaid, .secondDivision: key("include_top"),
            ],
            basis: basis(
                "do_normalize", "image_mean", "image_std", "do_rescale", "rescale_factor", "rescale_offset",
                "include_top"))
    }
}

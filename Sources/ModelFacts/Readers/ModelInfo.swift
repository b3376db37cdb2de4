internal import FileFormats
internal import JSON

/// The facts in `rt_info/model_info` of an OpenVINO IR, with Model API's defaults for omitted values.
struct ModelInfo {
    private(set) var sheet = FactSheet()
    private let info: [String: String]
    private let source: String

    init(_ info: [String: String], source: String) {
        (self.info, self.source) = (info, source)
        guard !info.isEmpty else { return }
        let type = info["model_type"].map { $0.lowercased().filter { $0 != "_" && $0 != "-" } } ?? ""
        let usual = Usual(type)
        readTask(type, usual)
        // Without a key about pictures the file was not written for Model API, and its defaults do not apply.
        let aboutPictures = [
            "resize_type", "reverse_input_channels", "mean_values", "scale_values", "pad_value", "model_type",
        ]
        guard aboutPictures.contains(where: { info[$0] != nil }) else { return }
        readPicture(usual)
        readNormalization(usual)
    }

    // MARK: Parts

    private mutating func readTask(_ type: String, _ usual: Usual) {
        // Model API separates names by spaces, and uses "_" for a space in a name.
        if let text = info["labels"] {
            let names = text.split(separator: " ").map(String.init)
            if !names.isEmpty, names.count <= LabelTable.maximumLabels { sheet.labels = fact(names, "labels") }
        }
        if let written = info["model_type"] {
            let (task, head) = Self.meaning(of: type)
            sheet.task = task.map { fact($0, "model_type") } ?? (head == .other ? fact(written, "model_type") : nil)
            sheet.head = head.map { fact($0, "model_type") }
        }
        if type == "classification" {
            sheet.backgroundLabel = Fact("other", source: source, key: "Model API's \"other\" first")
        }
        for (key, reason) in [
            ("embedded_processing", "the file prepares pictures of any size itself, which is not supported"),
            ("hierarchical", "hierarchical classes are not supported"),
        ] where Self.flag(info[key]) == true {
            sheet.unsupported.append(fact("\"\(key)\": \(reason)", key))
        }
        if let flag = Self.flag(info["multilabel"]) { sheet.multiLabel = fact(flag, "multilabel") }
        if let threshold = info["confidence_threshold"].map({ Double($0) }) ?? usual.confidence, threshold.isFinite {
            sheet.confidence = fact(threshold, "confidence_threshold")
        }
        if let threshold = info["iou_threshold"].map({ Double($0) }) ?? usual.iou, threshold.isFinite {
            sheet.iou = fact(threshold, "iou_threshold")
        }
    }

    private mutating func readPicture(_ usual: Usual) {
        if let reverses = Self.flag(info["reverse_input_channels"] ?? usual.reverses) {
            // Model API's pictures are OpenCV's, blue first: reversed, the model gets red first.
            sheet.order = fact(reverses ? .rgb : .bgr, "reverse_input_channels")
        } else {
            note("reverse_input_channels", "expected YES or NO, found \"\(info["reverse_input_channels"] ?? "")\"")
        }
        switch info["resize_type"] ?? usual.resize {
        case "standard": sheet.framing = fact(PictureFraming(.stretch), "resize_type")
        case "fit_to_window": sheet.framing = fact(PictureFraming(.letterbox(nil, topLeft: true)), "resize_type")
        case "fit_to_window_letterbox":
            sheet.framing = fact(PictureFraming(.letterbox(nil, topLeft: false)), "resize_type")
        case "crop": sheet.framing = fact(PictureFraming(.largest), "resize_type")
        case nil: break
        case let type?:
            note(
                "resize_type",
                "expected standard, fit_to_window, fit_to_window_letterbox or crop, found \"\(type.prefix(60))\"")
        }
        readFilter()
        if let text = info["pad_value"] ?? usual.pad {
            if let level = Int(text), (0...255).contains(level) {
                sheet.fill = fact([level], "pad_value")
            } else {
                note("pad_value", "expected 0 to 255, found \"\(text.prefix(60))\"")
            }
        }
    }

    /// Reads OpenCV's filter; these are not antialiased. (`interpolation_mode` is the key since Model API 0.4.)
    private mutating func readFilter() {
        let key = info["interpolation_mode"] == nil ? "interpolation_type" : "interpolation_mode"
        switch info[key] ?? "LINEAR" {
        case "LINEAR": sheet.filter = fact(.linear, key)
        case "NEAREST": sheet.filter = fact(.nearest, key)
        case "AREA": sheet.filter = fact(.area, key)
        case "CUBIC":
            sheet.unsupported.append(fact("\"CUBIC\": OpenCV's INTER_CUBIC is not supported", key))
        case let name:
            note(key, "expected LINEAR, CUBIC, NEAREST or AREA, found \"\(name.prefix(60))\"")
        }
    }

    /// Reads the normalization, in levels of 0 to 255, by channel of the tensor.
    private mutating func readNormalization(_ usual: Usual) {
        let mean = numbers("mean_values") ?? [0], scale = numbers("scale_values") ?? [usual.scale]
        guard scale.allSatisfy({ $0 > 0 }) else { return note("scale_values", "expected numbers greater than 0") }
        var form = PictureNormalization()
        form.mean = mean.map { $0 / 255 }
        form.std = scale.map { $0 / 255 }
        if sheet.order?.value == .bgr {
            form.mean.reverse()
            form.std.reverse()
        }
        func key(_ key: String) -> String { info[key] == nil ? "Model API's default" : key }
        sheet.normalization = Fact(
            form, source: source, key: key("scale_values"),
            parts: [
                .scale: "Model API's levels from 0 to 255, the units of mean and std", .mean: key("mean_values"),
                .std: key("scale_values"),
            ], basis: info["scale_values"] ?? info["mean_values"] == nil ? .preset : .stated)
    }

    // MARK: Values

    private func fact<Value>(_ value: Value, _ key: String) -> Fact<Value> {
        Fact(
            value, source: source, key: info[key] == nil ? "Model API's default" : key,
            basis: info[key] == nil ? .preset : .stated)
    }

    private mutating func note(_ key: String, _ reason: String) {
        sheet.problems.append(FactProblem(source: source, reason: "\(key): \(reason)"))
    }

    private mutating func numbers(_ key: String) -> [Double]? {
        guard let text = info[key], !text.trimmed.isEmpty else { return nil }
        let values = text.split { " ,[]()".contains($0) }.map {
            PlainScalar.value(String($0)).flatMap(\.finite)
        }
        let found = values.compactMap { $0 }
        guard found.count == values.count, found.count == 1 || found.count == 3 else {
            note(key, "expected 1 or 3 numbers, found \"\(text.prefix(60))\"")
            return nil
        }
        return found
    }

    private static func flag(_ text: String?) -> Bool? {
        switch text?.lowercased() {
        case "yes", "true", "1": true
        case "no", "false", "0", "": false
        default: nil
        }
    }

    // MARK: Types

    /// The defaults of Model API's class for a type.
    private struct Usual {
        /// Nil if the type does not determine it.
        var resize: String? = "standard"
        var reverses = "NO", pad: String?, scale = 1.0
        var confidence: Double?, iou: Double?

        init(_ type: String) {
            guard type.hasPrefix("yolo") else {
                confidence = type == "ssd" ? 0.5 : nil
                return
            }
            pad = "114"
            guard type != "yolox" else {
                (resize, confidence, iou) = ("fit_to_window", 0.5, 0.65)
                return
            }
            // Ultralytics writes "YOLO" for every task, even for classifiers.
            resize = type == "yolo" ? nil : "fit_to_window_letterbox"
            (reverses, scale, iou) = ("YES", 255, 0.7)
            confidence = type == "yolo" ? nil : 0.25
        }
    }

    /// The task of a type of Model API, and the meaning of its outputs. The type is in lower case, without `_` and `-`.
    private static func meaning(of type: String) -> (task: String?, head: ModelHead?) {
        switch type {
        case "classification": ("classify", nil)
        case "segmentation": ("segment", .modelAPISegmentation)
        case "ssd": ("detect", .modelAPISSD)
        case "yolox": ("detect", .modelAPIYOLOX)
        case "yolo": (nil, .modelAPIYOLO)
        case "yolov5", "yolov8", "yolov9", "yolov10", "yolo11", "yolov11", "yolo12", "yolov12", "yolo26":
            ("detect", .modelAPIYOLO)
        case "keypointdetection": ("pose", .other)
        default: (nil, .other)
        }
    }
}

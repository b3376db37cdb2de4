/// Reads what an OpenVINO IR (the XML file) says of itself: `rt_info/model_info`, as Model API, Geti and Ultralytics write it, and the last
/// layer.
package enum OpenVINOReader {
    package static let mostBytes = 64 << 20
    private static let mostDepth = 200, mostLayers = 200_000

    package static func read(_ text: [UInt8], name: String) -> FactSheet {
        var sheet = FactSheet()
        do throws(FactError) {
            let found = try walk(text)
            sheet = .merged([
                modelInfo(found.info, source: "model_info of \(name)"),
                UltralyticsReader.properties(found.framework, source: "rt_info/framework of \(name)"),
            ])
            sheet.endings = found.endings.map {
                OutputEnding(output: $0.0, fact: Fact($0.1, source: name, key: "the last layer"))
            }
        } catch {
            sheet.problems.append(FactProblem(source: name, reason: error.reason))
        }
        return sheet
    }

    private struct Found {
        /// `net/rt_info/model_info`: names below one another joined with a dot.
        var info: [String: String] = [:]
        /// `net/rt_info/framework`, where exporters of frameworks put theirs.
        var framework: [String: String] = [:]
        /// The names of each output, with commas, and how it ends.
        var endings: [(String, GraphEnding)] = []
    }

    /// What of the graph is needed to see what its outputs end in.
    private struct Graph {
        var types: [Int: String] = [:]
        /// Where each layer's inputs come from, by port.
        var sources: [Int: [Int: (layer: Int, port: Int)]] = [:]
        /// The names of tensors, by layer and port.
        var names: [Int: [Int: String]] = [:]
        var results: [Int] = []

        func endings() -> [(String, GraphEnding)] {
            var trace = GraphTrace()
            for (layer, type) in types {
                let inputs = (sources[layer] ?? [:]).sorted { $0.key < $1.key }.map { "\($0.value.layer)" }
                trace.makers["\(layer)"] = GraphTrace.Node(operation: type, inputs: inputs)
            }
            return results.prefix(64).compactMap { result in
                let maker = sources[result]?[0]
                let names = maker.flatMap { self.names[$0.layer]?[$0.port] } ?? ""
                return trace.ending(of: "\(result)").map { (names, $0) }
            }
        }
    }

    private static func walk(_ text: [UInt8]) throws(FactError) -> Found {
        guard text.count <= mostBytes else { throw FactError("has \(text.count) bytes: at most \(mostBytes) are read") }
        var walk = XMLWalk(text)
        var found = Found()
        var path: [String] = []
        var graph = Graph()
        var layer = -1
        while let event = try walk.next() {
            switch event {
            case .close(let name):
                guard path.last == name else {
                    throw FactError(
                        "closes \"\(name.prefix(40))\" at byte \(walk.place), where \"\(path.last ?? "nothing")\" is open"
                    )
                }
                path.removeLast()
            case .open(let name, let attributes, let isEmpty):
                if path.isEmpty, name != "net" {
                    throw FactError("begins with \"\(name.prefix(40))\" where an IR has \"net\"")
                }
                path.append(name)
                guard path.count <= mostDepth else {
                    throw FactError("is nested more than \(mostDepth) deep at byte \(walk.place)")
                }
                // Graphs within layers (loops, conditions) have layers of their own.
                if name == "layer", path.count == 3, let id = attributes["id"].flatMap({ Int($0) }),
                    let type = attributes["type"]
                {
                    guard graph.types.count < mostLayers else { throw FactError("has more than \(mostLayers) layers") }
                    graph.types[id] = type
                    layer = id
                    if type == "Result" { graph.results.append(id) }
                }
                if name == "port", path.count == 5, path[3] == "output", let id = attributes["id"].flatMap({ Int($0) }),
                    let names = attributes["names"]
                {
                    graph.names[layer, default: [:]][id] = names
                }
                if name == "edge", path.count == 3, let port = attributes["to-port"].flatMap({ Int($0) }),
                    let from = attributes["from-layer"].flatMap({ Int($0) }),
                    let to = attributes["to-layer"].flatMap({ Int($0) })
                {
                    let fromPort = attributes["from-port"].flatMap { Int($0) } ?? 0
                    graph.sources[to, default: [:]][port] = (from, fromPort)
                }
                if path.count > 3, path[1] == "rt_info", let value = attributes["value"] {
                    let key = path[3...].joined(separator: ".")
                    if path[2] == "model_info", found.info.count < 10_000 { found.info[key] = value }
                    if path[2] == "framework", found.framework.count < 10_000 { found.framework[key] = value }
                }
                if isEmpty { path.removeLast() }
            }
        }
        guard path.isEmpty else { throw FactError("ends within \"\(path.last ?? "")\"") }
        found.endings = graph.endings()
        return found
    }

    // MARK: model_info

    /// What Model API's class for a type takes where `model_info` leaves a key out.
    private struct Usual {
        /// Nil where the type says nothing of it.
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
            // Ultralytics writes "YOLO" for every task, for classifiers too.
            resize = type == "yolo" ? nil : "fit_to_window_letterbox"
            (reverses, scale, iou) = ("YES", 255, 0.7)
            confidence = type == "yolo" ? nil : 0.25
        }
    }

    /// What a type of Model API does, and what reads its outputs. The type is in lower case, without `_` and `-`.
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

    private static func modelInfo(_ info: [String: String], source: String) -> FactSheet {
        var sheet = FactSheet()
        guard !info.isEmpty else { return sheet }
        func fact<Value>(_ value: Value, _ key: String) -> Fact<Value> {
            Fact(value, source: source, key: info[key] == nil ? "Model API's default" : key)
        }
        func note(_ key: String, _ reason: String) {
            sheet.problems.append(FactProblem(source: source, reason: "\(key): \(reason)"))
        }
        func numbers(_ key: String) -> [Double]? {
            guard let text = info[key], !text.trimmed.isEmpty else { return nil }
            let values = text.split { " ,[]()".contains($0) }.map {
                PlainScalar.value(String($0)).flatMap(FactNode.number)
            }
            let found = values.compactMap { $0 }
            guard found.count == values.count, found.count == 1 || found.count == 3 else {
                note(key, "expected 1 or 3 numbers, found \"\(text.prefix(60))\"")
                return nil
            }
            return found
        }
        // Model API separates names by spaces, and has "_" where a name has a space.
        if let text = info["labels"] {
            let names = text.split(separator: " ").map(String.init)
            if !names.isEmpty, names.count <= LabelTable.mostLabels { sheet.labels = fact(names, "labels") }
        }
        let type = info["model_type"].map { $0.lowercased().filter { $0 != "_" && $0 != "-" } } ?? ""
        let usual = Usual(type)
        if let written = info["model_type"] {
            let (task, head) = meaning(of: type)
            sheet.task = task.map { fact($0, "model_type") } ?? (head == .other ? fact(written, "model_type") : nil)
            sheet.head = head.map { fact($0, "model_type") }
        }
        for (key, reason) in [
            ("embedded_processing", "the file prepares pictures of any size itself, which is not done here"),
            ("hierarchical", "classes within classes are not put together here"),
        ] where flag(info[key]) == true {
            sheet.unsupported.append(fact("\"\(key)\": \(reason)", key))
        }
        if let flag = flag(info["multilabel"]) { sheet.multiLabel = fact(flag, "multilabel") }
        if let threshold = info["confidence_threshold"].map({ Double($0) }) ?? usual.confidence, threshold.isFinite {
            sheet.confidence = fact(threshold, "confidence_threshold")
        }
        if let threshold = info["iou_threshold"].map({ Double($0) }) ?? usual.iou, threshold.isFinite {
            sheet.iou = fact(threshold, "iou_threshold")
        }
        // Without a word about pictures it is not a wrapper's model, and Model API's defaults are not meant.
        let aboutPictures = [
            "resize_type", "reverse_input_channels", "mean_values", "scale_values", "pad_value", "model_type",
        ]
        guard aboutPictures.contains(where: { info[$0] != nil }) else { return sheet }
        if let reverses = flag(info["reverse_input_channels"] ?? usual.reverses) {
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
        let filters: [String: PictureFilter] = ["LINEAR": .bilinear, "CUBIC": .bicubic, "NEAREST": .nearest]
        if let filter = filters[info["interpolation_type"] ?? "LINEAR"] {
            sheet.filter = fact(filter, "interpolation_type")
        }
        if let text = info["pad_value"] ?? usual.pad {
            if let level = Int(text), (0...255).contains(level) {
                sheet.fill = fact([level], "pad_value")
            } else {
                note("pad_value", "expected 0 to 255, found \"\(text.prefix(60))\"")
            }
        }
        // In levels of 0 to 255, by channel of the tensor.
        var form = PictureNormalization()
        let mean = numbers("mean_values") ?? [0], scale = numbers("scale_values") ?? [usual.scale]
        guard scale.allSatisfy({ $0 > 0 }) else {
            note("scale_values", "expected numbers greater than 0")
            return sheet
        }
        form.mean = mean.map { $0 / 255 }
        form.std = scale.map { $0 / 255 }
        if sheet.order?.value == .bgr {
            form.mean.reverse()
            form.std.reverse()
        }
        let key = info["scale_values"] == nil && info["mean_values"] != nil ? "mean_values" : "scale_values"
        sheet.normalization = fact(form, key)
        return sheet
    }

    private static func flag(_ text: String?) -> Bool? {
        switch text?.lowercased() {
        case "yes", "true", "1": true
        case "no", "false", "0", "": false
        default: nil
        }
    }
}

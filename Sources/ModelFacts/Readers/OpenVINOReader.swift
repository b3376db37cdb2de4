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
            if let ending = found.ending { sheet.ending = Fact(ending, source: name, key: "the last layer") }
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
        var ending: GraphEnding?
    }

    private static func walk(_ text: [UInt8]) throws(FactError) -> Found {
        guard text.count <= mostBytes else { throw FactError("has \(text.count) bytes: at most \(mostBytes) are read") }
        var walk = XMLWalk(text)
        var found = Found()
        var path: [String] = []
        var types: [Int: String] = [:]
        var sources: [Int: Int] = [:]
        var results: [Int] = []
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
                if name == "layer", let id = attributes["id"].flatMap({ Int($0) }), let type = attributes["type"] {
                    guard types.count < mostLayers else { throw FactError("has more than \(mostLayers) layers") }
                    types[id] = type
                    if type == "Result" { results.append(id) }
                }
                if name == "edge", attributes["to-port"] == "0",
                    let from = attributes["from-layer"].flatMap({ Int($0) }),
                    let to = attributes["to-layer"].flatMap({ Int($0) })
                {
                    sources[to] = from
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
        if results.count == 1 { found.ending = ending(results[0], types, sources) }
        return found
    }

    private static let transparent: Set<String> = ["Convert", "Reshape", "Squeeze", "Unsqueeze", "Result"]

    private static func ending(_ result: Int, _ types: [Int: String], _ sources: [Int: Int]) -> GraphEnding? {
        var layer = result
        for _ in 0..<32 {
            guard let type = types[layer] else { return nil }
            if type == "SoftMax" || type == "Softmax" { return .softmax }
            if type == "Sigmoid" { return .sigmoid }
            guard transparent.contains(type) else { return GraphEnding.none }
            guard let source = sources[layer] else { return nil }
            layer = source
        }
        return nil
    }

    // MARK: model_info

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
        if let type = info["model_type"] {
            let tasks = ["classification": "classify", "segmentation": "segment", "keypoint_detection": "pose"]
            sheet.task = fact(
                tasks[type.lowercased()]
                    ?? (type.lowercased().contains("yolo") || type.lowercased() == "ssd" ? "detect" : type),
                "model_type")
        }
        if let flag = flag(info["multilabel"]) { sheet.multiLabel = fact(flag, "multilabel") }
        if let threshold = info["confidence_threshold"].flatMap({ Double($0) }), threshold.isFinite {
            sheet.confidence = fact(threshold, "confidence_threshold")
        }
        if let threshold = info["iou_threshold"].flatMap({ Double($0) }), threshold.isFinite {
            sheet.iou = fact(threshold, "iou_threshold")
        }
        // Without a word about pictures it is not a wrapper's model, and Model API's defaults are not meant.
        let aboutPictures = [
            "resize_type", "reverse_input_channels", "mean_values", "scale_values", "pad_value", "model_type",
        ]
        guard aboutPictures.contains(where: { info[$0] != nil }) else { return sheet }
        if let reverses = flag(info["reverse_input_channels"] ?? "NO") {
            // Model API's pictures are OpenCV's, blue first: reversed, the model gets red first.
            sheet.order = fact(reverses ? .rgb : .bgr, "reverse_input_channels")
        } else {
            note("reverse_input_channels", "expected YES or NO, found \"\(info["reverse_input_channels"] ?? "")\"")
        }
        switch info["resize_type"] ?? "standard" {
        case "standard": sheet.framing = fact(PictureFraming(.stretch), "resize_type")
        case "fit_to_window": sheet.framing = fact(PictureFraming(.letterbox(nil, topLeft: true)), "resize_type")
        case "fit_to_window_letterbox":
            sheet.framing = fact(PictureFraming(.letterbox(nil, topLeft: false)), "resize_type")
        case "crop": sheet.framing = fact(PictureFraming(.largest), "resize_type")
        case let type:
            note(
                "resize_type",
                "expected standard, fit_to_window, fit_to_window_letterbox or crop, found \"\(type.prefix(60))\"")
        }
        let filters: [String: PictureFilter] = ["LINEAR": .bilinear, "CUBIC": .bicubic, "NEAREST": .nearest]
        if let filter = filters[info["interpolation_type"] ?? "LINEAR"] {
            sheet.filter = fact(filter, "interpolation_type")
        }
        if let text = info["pad_value"] {
            if let level = Int(text), (0...255).contains(level) {
                sheet.fill = fact([level], "pad_value")
            } else {
                note("pad_value", "expected 0 to 255, found \"\(text.prefix(60))\"")
            }
        }
        // In levels of 0 to 255, by channel of the tensor.
        var form = PictureNormalization()
        let mean = numbers("mean_values") ?? [0], scale = numbers("scale_values") ?? [1]
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

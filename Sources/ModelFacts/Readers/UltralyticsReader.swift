internal import FileFormats
internal import JSON

/// Reads the facts of Ultralytics' exporters: the same keys in `metadata.yaml` of TF Lite, IR and SavedModel exports,
/// and as text in ONNX files' `metadata_props`.
///
/// `detect`, `segment`, `pose`, `obb` and `semantic` letterbox with 114 and scale with OpenCV's INTER_LINEAR
/// (`LetterBox`); `depth` scales both sides to the input's with it; `classify` scales the shorter side with Pillow and
/// crops the middle (`classify_transforms`). All use RGB divided by 255.
///
/// YOLOv5's exports, and YOLOv8's first ones, have names of classes and a stride but no task: the outputs determine it.
package enum UltralyticsReader {
    package static func yaml(_ text: [UInt8], source: String = "metadata.yaml") -> FactSheet {
        var sheet = FactSheet()
        do throws(FormatError) {
            let node = FactNode(try YAMLSubset.read(text), source: source)
            fill(&sheet, node)
            sheet.problems += node.problems
        } catch {
            sheet.problems.append(FactProblem(source: source, reason: error.reason))
        }
        return sheet
    }

    /// The value in an exporter's file that is written as one object: JSON, or Python's notation in older versions. Nil
    /// for other files.
    static func literal(_ text: [UInt8]) -> JSONValue? {
        guard text.first == UInt8(ascii: "{") else { return nil }
        let value = (try? JSONFile.read(text)) ?? (try? PythonLiteral.read(String(decoding: text, as: UTF8.self)))
        guard case .object(let members)? = value,
            members["task"] != nil || members["names"] != nil && members["stride"] != nil
        else { return nil }
        return value
    }

    /// The facts in a parsed file.
    static func tree(_ value: JSONValue, source: String) -> FactSheet {
        var sheet = FactSheet()
        let node = FactNode(value, source: source)
        fill(&sheet, node)
        sheet.problems += node.problems
        return sheet
    }

    /// - Parameter properties: keys, with values in Python's notation.
    package static func properties(_ properties: [String: String], source: String) -> FactSheet {
        var sheet = FactSheet()
        guard properties["names"] != nil || properties["imgsz"] != nil || properties["task"] != nil else {
            return sheet
        }
        var members: [String: JSONValue] = [:]
        for (key, text) in properties {
            let opens = text.utf8.first.map { "{[(".utf8.contains($0) } ?? false
            guard opens else {
                members[key] = PlainScalar.value(text, isPython: true) ?? .string(text)
                continue
            }
            do throws(FormatError) {
                members[key] = try PythonLiteral.read(text)
            } catch {
                // Free text may begin with a bracket; the keys that are read below may not.
                members[key] = .string(text)
                if ["names", "imgsz", "kpt_shape"].contains(key) {
                    sheet.problems.append(FactProblem(source: source, reason: "\(key): \(error.reason)"))
                    members[key] = .null
                }
            }
        }
        let node = FactNode(.object(members), source: source)
        fill(&sheet, node)
        sheet.problems += node.problems
        return sheet
    }

    private static func fill(_ sheet: inout FactSheet, _ node: FactNode) {
        guard node.has("task") || node.has("names") || node.has("imgsz") else { return }
        func fact<Value>(_ value: Value?, _ key: String) -> Fact<Value>? {
            value.map { Fact($0, source: node.source, key: key) }
        }
        sheet.labels = fact(node.labels("names"), "names")
        let size = node.size("imgsz")
        sheet.inputSize = fact(size, "imgsz")
        sheet.stride = fact(node.integer("stride", in: 1...4_096), "stride")
        if case .array(let elements)? = node.value("kpt_shape") {
            let counts = elements.compactMap { FactNode.integer($0, in: 0...10_000) }
            if counts.count == 2, elements.count == 2 {
                sheet.keypoints = fact(counts, "kpt_shape")
            } else {
                node.note("kpt_shape", "expected [points, values of a point]")
            }
        }
        sheet.finalRows = finalRows(node)
        sheet.details = fact(node.scalarText("description"), "description")
        sheet.author = fact(node.scalarText("author"), "author")
        sheet.license = fact(node.scalarText("license"), "license")
        sheet.version = fact(node.scalarText("version"), "version")
        if let channels = node.integer("channels", in: 1...1_024), channels != 3, channels != 1 {
            sheet.unsupported.append(
                Fact("\(channels) channels, where a picture has 1 or 3", source: node.source, key: "channels"))
        }
        guard let task = node.string("task") else {
            if sheet.labels != nil, sheet.stride != nil {
                sheet.head = Fact(.unspecifiedYOLO, source: node.source, key: "names, stride")
            }
            return
        }
        sheet.task = fact(task, "task")
        let known = ["classify", "detect", "segment", "pose", "obb", "semantic", "depth"]
        guard known.contains(task) else {
            return node.note("task", "expected one of \(known.joined(separator: ", ")), found \"\(task)\"")
        }
        if task != "classify" { sheet.head = fact(.ultralytics, "task") }
        pictures(task: task, size: size, &sheet, node.source)
    }

    /// True if the rows are the final ones, because the head or an export with `nms=True` chose them; nil if the file
    /// does not say it.
    private static func finalRows(_ node: FactNode) -> Fact<Bool>? {
        let stated =
            [("end2end", node.value("end2end"))]
            + [("args", node.value("args"))].map { key, value in
                if case .object(let arguments)? = value { ("\(key).nms", arguments["nms"]) } else { (key, nil) }
            }
        let flags = stated.compactMap { key, value in
            if case .bool(let flag)? = value { (key: key, flag: flag) } else { nil }
        }
        guard let decisive = flags.first(where: \.flag) ?? flags.first else { return nil }
        return Fact(decisive.flag, source: node.source, key: decisive.key)
    }

    /// Fills in the preparation of pictures for a task.
    private static func pictures(task: String, size: FactSize?, _ sheet: inout FactSheet, _ source: String) {
        let convention = "Ultralytics' convention"
        func usual<Value>(_ value: Value) -> Fact<Value> {
            Fact(value, source: source, key: convention, basis: .preset)
        }
        if task == "classify" {
            sheet.usualEnding = usual(.softmax)
            // Both sides if the size is not square: torchvision's Resize takes two numbers as those of the result.
            let resize = size.map { PictureFraming.Resize.of($0) } ?? .largest
            sheet.framing = Fact(
                PictureFraming(resize, crop: size, floors: false), source: source, key: "task",
                parts: [.resize: "imgsz", .crop: "imgsz", .centering: "torchvision's center_crop"])
            sheet.filter = usual(.bilinear)
        } else if task == "depth" {
            sheet.framing = Fact(PictureFraming(.stretch), source: source, key: "task")
            sheet.filter = usual(.linear)
        } else {
            sheet.framing = Fact(
                PictureFraming(.letterbox(size, topLeft: false)), source: source, key: "task",
                parts: [.resize: "imgsz", .centering: convention])
            sheet.fill = usual([114])
            sheet.filter = usual(.linear)
        }
        sheet.order = usual(.rgb)
        sheet.normalization = usual(PictureNormalization())
    }

    /// The facts that are assumed for an export without a task, depending on its outputs.
    /// - Parameters:
    ///   - head: the source of its names and stride.
    ///   - isDetector: whether its first output is a table of boxes; otherwise it has one score for each name.
    package static func unspecified(_ head: Fact<ModelHead>, isDetector: Bool) -> FactSheet {
        var sheet = FactSheet()
        guard isDetector else {
            // YOLOv5's classifiers: the middle, OpenCV's linear resize, ImageNet's mean and deviation.
            let convention = "YOLOv5's convention for classifiers"
            func fact<Value>(_ value: Value) -> Fact<Value> {
                Fact(value, source: head.source, key: convention, basis: .preset)
            }
            sheet.task = Fact("classify", source: head.source, key: "the output's shape")
            sheet.framing = fact(PictureFraming(.largest))
            sheet.filter = fact(.linear)
            sheet.order = fact(.rgb)
            var form = PictureNormalization()
            form.mean = [0.485, 0.456, 0.406]
            form.std = [0.229, 0.224, 0.225]
            sheet.normalization = fact(form)
            return sheet
        }
        pictures(task: "detect", size: nil, &sheet, head.source)
        sheet.framing = sheet.framing.map {
            Fact(
                $0.value, source: $0.source, key: "the output's shape", parts: [.centering: "Ultralytics' convention"],
                basis: .preset)
        }
        return sheet
    }
}

extension PictureFraming.Resize {
    /// torchvision's `Resize` of a square or of two sides, as called by Ultralytics.
    fileprivate static func of(_ size: FactSize) -> Self {
        size.height == size.width ? .shortest(size.height) : .exact(size)
    }
}

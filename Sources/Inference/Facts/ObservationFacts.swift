internal import JSON
internal import ModelFacts
internal import Observations

/// What a detector's exporter says of its outputs, where the tensors' shapes agree with it: boxes, with masks and keypoints.
///
/// Ultralytics names the task and the classes, and its exports have one form for each; TensorFlow Lite's Task Library names four
/// tensors of final detections. What does not fit these is served as tensors.
struct ObservationFacts {
    let output: ObservationOutput
    let labels: [String]?
    /// Members of the entry in model.json, beside its name: values as JSON text, with their sources.
    let lines: [ModelProvenance.Line]

    /// The names of ``lines`` begin with this.
    static let prefix = "outputs."

    /// - Parameter file: the model file's name.
    init?(_ sheet: FactSheet, outputs: [TensorPort], file: String) {
        let reading =
            Self.ultralytics(sheet, outputs, file: file) ?? Self.finalDetections(sheet, outputs, file: file)
        guard let reading, let first = outputs.first, outputs.allSatisfy({ !$0.name.isEmpty }) else { return nil }
        var boxes = reading.boxes
        var members = reading.members
        if let confidence = sheet.confidence, (0...1).contains(confidence.value) {
            boxes.decoding.threshold = Float(confidence.value)
            members.append(("threshold", "\(confidence.value)", confidence.source, confidence.key))
        }
        if let iou = sheet.iou, (0...1).contains(iou.value), boxes.decoding.suppression != .none {
            boxes.decoding.iou = Float(iou.value)
            members.append(("iou", "\(iou.value)", iou.source, iou.key))
        }
        boxes.decoding.extras = boxes.extras
        labels = reading.labels?.value
        if let labels = reading.labels {
            let text = labels.value.count > 5 ? "\(labels.value.count)" : labels.value.jsonText
            members.append(("labels", text, labels.source, labels.key))
        }
        lines = members.map {
            ModelProvenance.Line(name: Self.prefix + $0.key, value: $0.value, source: $0.source, key: $0.from)
        }
        output = ObservationOutput(
            path: "outputs[0]", name: reading.isGroup ? "things" : first.name,
            tensors: reading.tensors.mapValues { [ObservationOutput.Tensor(path: "outputs[0].tensors", name: $0)] },
            kind: .boxes(boxes), labels: reading.labels?.value)
    }

    private typealias Member = (key: String, value: String, source: String, from: String)

    private struct Reading {
        var boxes: ObservationOutput.Boxes
        var members: [Member]
        /// The tensors' names by role.
        var tensors: [String: String]
        var labels: Fact<[String]>?
        /// Whether the tensors are a group, which has a name of its own.
        var isGroup = false
    }

    // MARK: Ultralytics

    /// `detect`, `segment` and `pose`: `[1, 4 + classes + others, n]`, or final detections `[1, n, 6 + others]`.
    private static func ultralytics(_ sheet: FactSheet, _ outputs: [TensorPort], file: String) -> Reading? {
        guard let task = sheet.task, let labels = sheet.labels, let first = outputs.first,
            first.shape.dimensions.count == 3, first.elementType.isFloatingPoint
        else { return nil }
        var boxes = ObservationOutput.Boxes(BoxDecoding(layout: .yolov8))
        var members: [Member] = [("type", "\"boxes\"", task.source, task.key)]
        var tensors = ["output": first.name]
        // TensorFlow Lite's exports give fractions of the input's sides.
        let units: BoxUnits = file.hasSuffix(".tflite") ? .fractions : .pixels
        let extents = first.shape.dimensions
        // What is left of a row beside box and classes; beside box, score and class.
        let columns = extents[1] - 4 - labels.value.count, final = extents[2] - 6
        var last: [Member] = []
        switch (task.value, outputs.count) {
        case ("detect", 1): break
        case ("segment", 2):
            let maps = outputs[1].shape.dimensions
            guard maps.count == 4,
                let count = [maps[1], maps[3]].first(where: {
                    (1...1_024).contains($0) && ($0 == columns || $0 == final)
                })
            else { return nil }
            boxes.masks = (count, 0.5)
            tensors["prototypes"] = outputs[1].name
            let name = outputs[1].name.jsonText
            last = [
                ("masks", "{ \"prototypes\": \(name), \"coefficients\": \(count) }", file, "the outputs' shapes")
            ]
        case ("pose", 1):
            guard let shape = sheet.keypoints, let points = shape.value.first, let each = shape.value.last,
                (1...4_096).contains(points), each == 2 || each == 3
            else { return nil }
            var reading = KeypointDecoding(layout: .points)
            reading.order = each == 3 ? .xyScore : .xy
            reading.units = units
            boxes.keypoints = (reading, ObservationOutput.Skeleton(names: (0..<points).map(String.init)))
            last = [
                (
                    "keypoints", "{ \"points\": \(points), \"point\": \(reading.order.rawValue.jsonText) }",
                    shape.source,
                    shape.key
                )
            ]
        default: return nil
        }
        if boxes.extras == columns {
            boxes.decoding.order = .columns
        } else if boxes.extras == final {
            boxes.decoding = BoxDecoding(layout: .endToEnd)
        } else {
            return nil
        }
        boxes.decoding.units = units
        members.append(("layout", boxes.decoding.layout.rawValue.jsonText, file, "the output's shape"))
        if boxes.decoding.order != nil { members.append(("order", "\"columns\"", file, "the output's shape")) }
        if units == .fractions {
            members.append(("units", "\"fractions\"", task.source, "Ultralytics' convention"))
        }
        return Reading(boxes: boxes, members: members + last, tensors: tensors, labels: labels)
    }

    // MARK: TensorFlow Lite's Task Library

    /// Boxes, classes, scores and their number, in this order.
    private static func finalDetections(_ sheet: FactSheet, _ outputs: [TensorPort], file: String) -> Reading? {
        guard file.hasSuffix(".tflite") || file.hasSuffix(".lite"), outputs.count == 4,
            outputs.allSatisfy({ $0.elementType == .float32 })
        else { return nil }
        let shapes = outputs.map { $0.shape.dimensions.drop { $0 == 1 } }.map { Array($0) }
        let isOperator = outputs[0].name.contains("PostProcess")
        guard isOperator || sheet.outputs.contains(where: { $0.content == "bounding box" }), shapes[0].count == 2,
            shapes[0][1] == 4, shapes[1] == [shapes[0][0]], shapes[2] == shapes[1], shapes[3].isEmpty
        else { return nil }
        let roles = ["boxes", "classes", "scores", "count"]
        let tensors = Dictionary(uniqueKeysWithValues: zip(roles, outputs.map(\.name)))
        let text = zip(roles, outputs).map { "\($0.jsonText): \($1.name.jsonText)" }.joined(separator: ", ")
        var labels = sheet.labels
        if let named = sheet.outputs.first(where: { $0.valueLabels != nil }), let names = named.valueLabels {
            labels = Fact(names, source: named.file.isEmpty ? file : "\(named.file) of \(file)", key: "one name a line")
        }
        return Reading(
            boxes: ObservationOutput.Boxes(BoxDecoding(layout: .tfliteDetection)),
            members: [
                ("type", "\"boxes\"", file, "the outputs' shapes"),
                ("layout", "\"tflite-detection\"", file, "the outputs' shapes"),
                ("tensors", "{ \(text) }", file, "the outputs' order"),
            ],
            tensors: tensors, labels: labels, isGroup: true)
    }
}

extension String {
    /// As a JSON string.
    fileprivate var jsonText: String {
        var out: [UInt8] = []
        JSONText.appendString(self, to: &out)
        return String(decoding: out, as: UTF8.self)
    }
}

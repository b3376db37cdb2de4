internal import EngineAPI
internal import ModelFacts
internal import Observations

/// Recognizes outputs of TensorFlow Lite's Task Library, and of libraries with fixed output names in their exports.
extension HeadReading {
    /// Boxes, classes, scores and their number, in this order.
    static func finalDetections(_ sheet: FactSheet, _ ports: OutputPorts) -> HeadReading? {
        let outputs = ports.all
        guard ports.isTFLite, outputs.count == 4, outputs.allSatisfy({ $0.elementType == .float32 }) else { return nil }
        let shapes = outputs.map { Array($0.shape.dimensions.drop { $0 == 1 }) }
        let isOperator = outputs[0].name.contains("PostProcess")
        guard isOperator || sheet.outputs.contains(where: { $0.content == "bounding box" }), shapes[0].count == 2,
            shapes[0][1] == 4, shapes[1] == [shapes[0][0]], shapes[2] == shapes[1], shapes[3].isEmpty
        else { return nil }
        let roles = Array(zip(["boxes", "classes", "scores", "count"], outputs))
        var labels = ports.labels.first
        if let named = sheet.outputs.first(where: { $0.valueLabels != nil }), let names = named.valueLabels {
            labels = Fact(
                names, source: named.file.isEmpty ? ports.file : "\(named.file) of \(ports.file)",
                key: "one name per line")
        }
        var reading = HeadReading(
            .boxes(ObservationOutput.Boxes(BoxDecoding(layout: .tfliteDetection))),
            members: [
                ("type", "\"boxes\"", ports.file, "the outputs' shapes"),
                ("layout", "\"tflite-detection\"", ports.file, "the outputs' shapes"),
                ("tensors", tensorsText(roles.map { ($0, $1) }), ports.file, "the outputs' order"),
            ],
            tensors: Dictionary(uniqueKeysWithValues: roles), labels: labels)
        reading.isGroup = true
        return reading
    }

    /// A picture's embedding, by the names that transformers uses: that of CLIP and similar models, a vector that the
    /// model itself has pooled, or the vectors of all tokens.
    static func embedding(_ sheet: FactSheet, _ ports: OutputPorts) throws(HeadProblem) -> HeadReading? {
        guard !ports.isClassifier else { return nil }
        func reading(_ port: TensorPort, _ decoding: EmbeddingDecoding = EmbeddingDecoding()) -> HeadReading {
            HeadReading(
                .embedding(decoding, classes: nil),
                members: [("type", "\"embedding\"", ports.file, "the output's name \"\(port.name)\"")],
                tensors: ["output": port], labels: nil)
        }
        func port(_ name: String) -> TensorPort? { ports.all.first { $0.name == name } }
        if ports.labels.isEmpty, let port = ports.ranked(2).first(where: { $0.name == "image_embeds" }) {
            return reading(port)
        }
        if let port = port("pooler_output"), port.shape.dimensions.dropFirst().filter({ $0 != 1 }).count == 1 {
            return reading(port)
        }
        guard let port = port("last_hidden_state"), (3...4).contains(port.shape.dimensions.count) else { return nil }
        let isMap = port.shape.dimensions.count == 4
        let question = "how the vectors of \"\(port.name)\" \(port.shape) become one"
        if let stated = sheet.pooling, stated.value == .other || stated.value == .cls && isMap {
            throw HeadProblem(reason: "\(question): what \(stated.source) says, \(stated.key), is not supported")
        }
        let pooling = sheet.pooling.flatMap { EmbeddingPooling(rawValue: $0.value.rawValue) }
        // In TensorFlow, the channels are the last axis.
        let channels: ChannelPlace? = isMap && (ports.isTFLite || ports.isTensorFlow) ? .last : nil
        var found = reading(port, EmbeddingDecoding(pooling: pooling, channels: channels))
        if let pooling, let stated = sheet.pooling {
            found.members.append(("pooling", pooling.rawValue.jsonText, stated.source, stated.key))
        } else {
            found.caveat =
                question + " (\"pooling\": \(isMap ? "" : "\"cls\", the first, ")\"mean\", or \"none\", all numbers)"
        }
        if let channels {
            found.members.append(("channels", channels.rawValue.jsonText, ports.file, "TensorFlow's order of axes"))
        }
        return found
    }

    /// A model without its classifier: its only vector.
    static func features(_ head: Fact<ModelHead>, _ ports: OutputPorts) -> HeadReading? {
        guard ports.all.count == 1, let port = ports.ranked(2).first else { return nil }
        return HeadReading(
            .embedding(EmbeddingDecoding(), classes: nil), members: [("type", "\"embedding\"", head.source, head.key)],
            tensors: ["output": port], labels: nil)
    }

    // MARK: Masks

    /// An output with a score for each label and pixel, in a file with metadata (the Task Library's ImageSegmenter).
    static func semanticMap(_ sheet: FactSheet, _ ports: OutputPorts) -> HeadReading? {
        guard ports.isTFLite, sheet.outputs.count == 1, ports.all.count == 1, let port = ports.ranked(4).first,
            port.shape.dimensions[1] > 1, port.shape.dimensions[2] > 1,
            let labels = ports.labels(count: port.shape.dimensions[3]), labels.value.count > 1
        else { return nil }
        return mask(port, place: .last, labels, source: labels.source, key: "a name for each channel of the output")
    }

    static func mask(_ head: Fact<ModelHead>, _ ports: OutputPorts) throws(HeadProblem) -> HeadReading? {
        let maps = ports.ranked(4).filter { $0.elementType.isFloatingPoint }
        guard let port = maps.first(where: { $0.name == "logits" }) ?? maps.first else {
            throw HeadProblem(
                reason:
                    "how its outputs are read: \(head.source) (\(head.key)) says that it segments, and \(ports.text) has no scores for places"
            )
        }
        let (first, last) = (port.shape.dimensions[1], port.shape.dimensions[3])
        if let labels = ports.labels(count: first) {
            return mask(port, place: .first, labels, source: head.source, key: head.key)
        }
        if let labels = ports.labels(count: last) {
            return mask(port, place: .last, labels, source: head.source, key: head.key)
        }
        if head.value == .modelAPISegmentation, let labels = ports.labels(count: first - 1) {
            let all = Fact(["background"] + labels.value, source: labels.source, key: labels.key)
            return mask(port, place: .first, all, source: head.source, key: head.key)
        }
        let names = ports.labels.map { "\($0.source) has \($0.value.count)" }.joined(separator: ", ")
        throw HeadProblem(
            reason:
                "the names of the classes of \"\(port.name)\" \(port.shape)\(names.isEmpty ? "" : ": \(names)") (\"labels\")"
        )
    }

    private static func mask(
        _ port: TensorPort, place: ChannelPlace, _ labels: Fact<[String]>, source: String, key: String
    ) -> HeadReading {
        HeadReading(
            .mask(MaskDecoding(layout: .classes, order: place)),
            members: [
                ("type", "\"mask\"", source, key), ("layout", "\"classes\"", source, key),
                ("channels", place.rawValue.jsonText, source, "the output's shape"),
            ],
            tensors: ["output": port], labels: labels)
    }

    // MARK: transformers' detectors

    /// Reads `logits` and `pred_boxes`.
    static func detr(_ head: Fact<ModelHead>, _ ports: OutputPorts) throws(HeadProblem) -> HeadReading? {
        let tables = ports.ranked(3).filter { $0.elementType.isFloatingPoint }
        guard let scores = tables.first(where: { $0.name == "logits" }),
            let corners = tables.first(where: { $0.name == "pred_boxes" && $0.shape.dimensions[2] == 4 })
        else {
            throw HeadProblem(
                reason:
                    "how its outputs are read: \(head.source) (\(head.key)) has \"logits\" and \"pred_boxes\", the file has \(ports.text)"
            )
        }
        let isFocal = head.value == .focalDETR, columns = scores.shape.dimensions[2]
        let count = isFocal ? columns : columns - 1
        guard let labels = ports.labels(count: count) else {
            let names = ports.labels.map { "\($0.source) has \($0.value.count)" }.joined(separator: ", ")
            throw HeadProblem(
                reason:
                    "the names of the \(count) classes of \"logits\"\(names.isEmpty ? "" : ": \(names)") (\"labels\")")
        }
        var decoding = BoxDecoding(layout: .detr)
        let roles = [("boxes", corners), ("scores", scores)]
        var members: [Member] = [
            ("type", "\"boxes\"", head.source, head.key), ("layout", "\"detr\"", head.source, head.key),
            ("tensors", tensorsText(roles.map { ($0, $1) }), ports.file, "the outputs' names"),
        ]
        if isFocal {
            (decoding.scores, decoding.background, decoding.multiLabel) = (.sigmoid, .none, true)
            members += [
                ("scores", "\"sigmoid\"", head.source, head.key), ("background", "\"none\"", head.source, head.key),
                ("multi_label", "true", head.source, head.key),
            ]
        }
        var reading = HeadReading(
            .boxes(ObservationOutput.Boxes(decoding)), members: members,
            tensors: Dictionary(uniqueKeysWithValues: roles), labels: labels)
        reading.isGroup = true
        return reading
    }

    // MARK: OpenVINO Model API

    /// Reads `[1, 1, n, 7]`; boxes, scores and labels; or boxes with their scores `[1, n, 5]`, and labels.
    static func ssd(_ head: Fact<ModelHead>, _ ports: OutputPorts) throws(HeadProblem) -> HeadReading? {
        func port(_ part: String) -> TensorPort? {
            let found = ports.all.filter { $0.name.contains(part) }
            return found.count == 1 ? found.first : nil
        }
        let layout: BoxLayout
        let roles: [(String, TensorPort)]
        let scored = ports.all.filter { port in
            (2...3).contains(port.shape.dimensions.count) && port.shape.dimensions.last == 5
                && !port.name.contains("labels")
        }
        if ports.all.count == 1, let only = ports.all.first, only.shape.dimensions.last == 7 {
            layout = .detectionOutput
            roles = [("output", only)]
        } else if let boxes = port("bboxes"), let scores = port("scores"), let labels = port("labels") {
            layout = .tfliteDetection
            roles = [("boxes", boxes), ("classes", labels), ("scores", scores)]
        } else if scored.count == 1 {
            layout = .scoredBoxes
            roles = [("boxes", scored[0])] + (port("labels").map { [("classes", $0)] } ?? [])
        } else {
            throw HeadProblem(
                reason:
                    "how its outputs are read: \(head.source) says \"\(head.value.rawValue)\", and \(ports.text) does not match any of its forms"
            )
        }
        var members: [Member] = [
            ("type", "\"boxes\"", head.source, head.key),
            ("layout", layout.rawValue.jsonText, ports.file, "the outputs' shapes"),
        ]
        let isGroup = layout != .detectionOutput
        if isGroup {
            members.append(("tensors", tensorsText(roles.map { ($0, $1) }), ports.file, "the outputs' names"))
        }
        var decoding = BoxDecoding(layout: layout)
        if layout == .tfliteDetection {
            decoding.form = .corners
            members.append(("form", "\"corners\"", head.source, "Model API's SSD"))
        }
        var reading = HeadReading(
            .boxes(ObservationOutput.Boxes(decoding)), members: members,
            tensors: Dictionary(uniqueKeysWithValues: roles), labels: ports.labels.first)
        reading.isGroup = isGroup
        return reading
    }

    /// Reads `[1, n, 5 + classes]`, relative to cells.
    static func yolox(_ head: Fact<ModelHead>, _ ports: OutputPorts) throws(HeadProblem) -> HeadReading? {
        guard ports.all.count == 1, let port = ports.ranked(3).first,
            let labels = ports.labels(count: port.shape.dimensions[2] - 5)
        else {
            throw HeadProblem(
                reason:
                    "how its outputs are read: \(head.source) says \"\(head.value.rawValue)\", and \(ports.text) does not have 5 values more than there are classes"
            )
        }
        return HeadReading(
            .boxes(ObservationOutput.Boxes(BoxDecoding(layout: .yolox))),
            members: [
                ("type", "\"boxes\"", head.source, head.key), ("layout", "\"yolox\"", head.source, head.key),
            ],
            tensors: ["output": port], labels: labels)
    }
}

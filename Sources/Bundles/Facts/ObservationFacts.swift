internal import EngineAPI
internal import FileFormats
internal import JSON
internal import ModelFacts
internal import Observations

/// The meaning of a model's outputs according to its exporter, if the shapes of the tensors match it: boxes, with masks
/// and keypoints; a mask; an embedding. Otherwise the outputs are served as tensors, with the reason.
struct ObservationFacts {
    let output: ObservationOutput
    let labels: Fact<[String]>?
    /// The members of the entry in model.json, except for its name: values as JSON text, with their sources.
    let lines: [ModelProvenance.Line]
    let remarks: [String]
    /// The question about the outputs that the user must decide; nil if no question is open.
    let caveat: String?
    /// The usual preparation of pictures, if the family was recognized by its outputs.
    let pictures: FamilyPictures?

    /// The prefix of the names of ``lines``.
    static let prefix = "outputs."

    /// The result of reading the sources.
    enum Finding {
        /// No source states the meaning of the outputs; they may be classes.
        case nothing
        case observation(ObservationFacts)
        /// An output is a depth for each position.
        case depth((port: TensorPort, source: String, key: String))
        /// A source states the meaning of the outputs, but they cannot be read, for this reason.
        case unread(String)
    }

    /// Interprets the sources for outputs of these shapes.
    /// - Parameters:
    ///   - labels: lists of labels, the most likely first.
    ///   - input: the size of the picture's tensor; nil if it is not known.
    ///   - file: the model file's name.
    static func find(
        _ sheet: FactSheet, outputs: [TensorPort], labels: [Fact<[String]>], input: FactSize?, file: String
    ) -> Finding {
        let ports = OutputPorts(outputs, labels: labels, input: input, file: file)
        if let depth = HeadReading.depth(sheet, ports) { return .depth(depth) }
        var reading: HeadReading?
        do throws(HeadProblem) {
            reading = try HeadReading.find(sheet, ports)
            try reading?.dequantize(sheet, ports)
        } catch {
            // An output with a score for each label is a classifier's, regardless of its name in the source.
            return ports.isClassifier ? .nothing : .unread(error.reason)
        }
        guard let reading else { return .nothing }
        guard outputs.allSatisfy({ !$0.name.isEmpty }) else {
            return .unread("the names of its outputs, which the file lacks")
        }
        return .observation(ObservationFacts(reading, sheet))
    }

    private init(_ reading: HeadReading, _ sheet: FactSheet) {
        var kind = reading.kind
        var members = reading.members
        if case .boxes(var boxes) = kind {
            if let confidence = sheet.confidence, (0...1).contains(confidence.value) {
                boxes.decoding.threshold = Float(confidence.value)
                members.append(("threshold", "\(confidence.value)", confidence.source, confidence.key))
            }
            if let iou = sheet.iou, (0...1).contains(iou.value), boxes.decoding.suppression != .none {
                boxes.decoding.iou = Float(iou.value)
                members.append(("iou", "\(iou.value)", iou.source, iou.key))
            }
            boxes.decoding.extras = boxes.extras
            kind = .boxes(boxes)
        }
        labels = reading.labels
        remarks = reading.remarks
        caveat = reading.caveat
        pictures = reading.pictures
        if let labels = reading.labels {
            let text = labels.value.count > 5 ? "\(labels.value.count)" : labels.value.jsonText
            members.append(("labels", text, labels.source, labels.key))
        }
        lines = members.map {
            ModelProvenance.Line(name: Self.prefix + $0.key, value: $0.value, source: $0.source, key: $0.from)
        }
        output = ObservationOutput(
            path: "outputs[0]", name: reading.name,
            tensors: reading.tensors.mapValues { tensors in
                tensors.map {
                    ObservationOutput.Tensor(
                        path: "outputs[0].tensors", name: $0.name, linear: reading.dequantization[$0.name])
                }
            },
            kind: kind, labels: reading.labels?.value)
    }
}

/// The reason that outputs cannot be read, as text after "nothing says".
struct HeadProblem: Error {
    let reason: String
}

/// The outputs of a model file, with related facts.
struct OutputPorts {
    let all: [TensorPort]
    /// Lists of labels, the most likely first.
    let labels: [Fact<[String]>]
    let input: FactSize?
    /// The model file's name.
    let file: String

    init(_ all: [TensorPort], labels: [Fact<[String]>], input: FactSize?, file: String) {
        self.all = all
        self.labels = labels
        self.input = input
        self.file = file
    }

    var isTFLite: Bool { ModelFormat(file: file) == .tflite }
    /// True for a SavedModel, or a frozen graph.
    var isTensorFlow: Bool { ModelFormat(path: file) == .tensorflow }

    /// The outputs with the given number of axes.
    func ranked(_ rank: Int) -> [TensorPort] { all.filter { $0.shape.dimensions.count == rank } }

    /// True if an output has one number for each label.
    var isClassifier: Bool {
        all.contains { port in
            let extents = port.shape.dimensions.dropFirst().filter { $0 != 1 }
            return extents.count == 1 && extents[0] > 1 && labels(count: extents[0]) != nil
        }
    }

    func labels(count: Int) -> Fact<[String]>? { labels.first { $0.value.count == count } }

    /// The outputs with their shapes, for messages.
    var text: String { all.map { "\"\($0.name)\" \($0.shape)" }.joined(separator: ", ") }
}

/// The meaning of the outputs according to one family of exporters.
struct HeadReading {
    typealias Member = (key: String, value: String, source: String, from: String)

    /// One tensor of the model.
    struct Tensor {
        let name: String

        init(_ port: TensorPort) { name = port.name }
    }

    var kind: ObservationOutput.Kind
    /// The members of the entry in model.json.
    var members: [Member]
    /// The tensors by role, in the order of levels.
    var tensors: [String: [Tensor]]
    var labels: Fact<[String]>?
    /// The transforms of integer tensors' values, by tensor name.
    var dequantization: [String: LinearTransform] = [:]
    var remarks: [String] = []
    /// The reason it may be another family; nil if a source names it, or no other family has such names and shapes.
    var caveat: String?
    /// The usual preparation of the family's pictures.
    var pictures: FamilyPictures?
    /// True if the tensors form a group, which has its own name.
    var isGroup = false

    /// The entry's name.
    var name: String { isGroup ? "things" : tensors["output"]?.first?.name ?? "things" }

    init(_ kind: ObservationOutput.Kind, members: [Member], tensors: [String: TensorPort], labels: Fact<[String]>?) {
        self.kind = kind
        self.members = members
        self.tensors = tensors.mapValues { [Tensor($0)] }
        self.labels = labels
    }

    /// Reads the outputs for the family that the sources name; otherwise tries to recognize one. Nil if no family
    /// matches.
    static func find(_ sheet: FactSheet, _ ports: OutputPorts) throws(HeadProblem) -> HeadReading? {
        guard let head = sheet.head else {
            if let found = finalDetections(sheet, ports) { return found }
            if let found = try embedding(sheet, ports) { return found }
            return semanticMap(sheet, ports) ?? person(ports) ?? pixels(sheet, ports) ?? family(ports)
        }
        switch head.value {
        case .ultralytics, .unspecifiedYOLO, .modelAPIYOLO: return try yolo(head, sheet, ports)
        case .detr, .focalDETR: return try detr(head, ports)
        case .semanticMap, .modelAPISegmentation: return try mask(head, ports)
        case .modelAPISSD: return try ssd(head, ports)
        case .modelAPIYOLOX: return try yolox(head, ports)
        case .features: return features(head, ports)
        case .depthMap:
            throw HeadProblem(
                reason:
                    "classes: \(head.source) (\(head.key)) says that it estimates depth, which /predict gives as numbers"
            )
        case .other:
            let word = sheet.task.map { " (\"\($0.value)\")" } ?? ""
            throw HeadProblem(
                reason:
                    "how its outputs are read: what \(head.source) says, \(head.key)\(word), is not supported; /predict returns the tensors"
            )
        }
    }

    /// Adds the transforms of the tensors with integers of 8 or 16 bits: the file contains the scale and zero point of
    /// each.
    fileprivate mutating func dequantize(_ sheet: FactSheet, _ ports: OutputPorts) throws(HeadProblem) {
        var parts: [(role: String, text: String)] = []
        var found: Fact<TensorQuantization>?
        for (role, tensor) in tensors.sorted(by: { $0.key < $1.key }).flatMap({ role, all in all.map { (role, $0) } }) {
            guard let index = ports.all.firstIndex(where: { $0.name == tensor.name }),
                [.int8, .uint8, .int16].contains(ports.all[index].elementType)
            else { continue }
            guard let quantization = sheet.outputQuantization(index) else {
                // Without dequantization, the highest score of a pixel stays the highest.
                if case .mask = kind { continue }
                throw HeadProblem(reason: "the scale and zero point of \"\(tensor.name)\" (\"dequantize\")")
            }
            let (scale, bias) = (quantization.value.scale, quantization.value.bias)
            dequantization[tensor.name] = .scaleThenBias(scale: scale, bias: bias)
            parts.append((role, "{ \"scale\": \(scale), \"bias\": \(bias) }"))
            found = quantization
        }
        guard let found else { return }
        // By role, if there are several tensors.
        let text =
            tensors.count == 1
            ? parts[0].text : "{ " + parts.map { "\($0.role.jsonText): \($0.text)" }.joined(separator: ", ") + " }"
        members.append(("dequantize", text, found.source, found.key))
    }

    /// The names of tensors by role, as a JSON object.
    static func tensorsText(_ tensors: [(role: String, port: TensorPort)]) -> String {
        "{ " + tensors.map { "\($0.role.jsonText): \($0.port.name.jsonText)" }.joined(separator: ", ") + " }"
    }
}

extension String {
    /// The string as a JSON string.
    var jsonText: String { JSONText.quoted(self) }
}

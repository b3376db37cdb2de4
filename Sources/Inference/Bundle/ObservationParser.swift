internal import FileFormats
internal import JSON
internal import Observations

/// Reads an entry of a manifest's `outputs` whose type is `boxes`, `mask`, `keypoints` or `embedding`.
struct ObservationParser {
    let object: ManifestObject
    /// Reads a labels file of the bundle.
    let labels: (_ file: String, _ path: String) -> [String]?
    /// Reads another file of the bundle, of at most so many bytes.
    let contents: (_ file: String, _ path: String) -> [UInt8]?

    private var problems: ProblemList { object.problems }

    /// The types that it reads.
    enum Kind: String, CaseIterable {
        case boxes, mask, keypoints, embedding
    }

    /// True if an entry has one of these types.
    static func reads(_ object: ManifestObject) -> Bool {
        if case .string(let type)? = object.value("type") { Kind(rawValue: type) != nil } else { false }
    }

    func parse() -> ObservationOutput {
        var output = ObservationOutput(
            path: object.path, name: object.requiredString("name"), tensors: [:], kind: .embedding(.l2, classes: nil))
        // What the file itself says is what counts.
        _ = object.value("shape")
        _ = object.value("dtype")
        if let file = object.string("labels") { output.labels = labels(file, object.path(of: "labels")) }
        switch object.choice("type", Kind.self) {
        case .boxes?: output.kind = .boxes(boxes())
        case .mask?: output.kind = .mask(mask())
        case .keypoints?: output.kind = keypoints()
        case .embedding?: output.kind = embedding(&output)
        case nil: break
        }
        output.tensors = tensors(of: output)
        if case .boxes(let boxes) = output.kind { checkPriors(boxes.decoding, output) }
        object.refuseUnknownKeys()
        return output
    }

    // MARK: Tensors

    private func tensors(of output: ObservationOutput) -> [String: [ObservationOutput.Tensor]] {
        let roles = output.roles
        var required = ["output"], levels = false
        var only: String? = "output"
        if case .boxes(let boxes) = output.kind {
            required = boxes.decoding.layout.roles.required
            levels = boxes.decoding.layout.hasLevels
            if required != ["output"] { only = nil }
        }
        var tensors: [String: [ObservationOutput.Tensor]] = [:]
        if let members = object.object("tensors") {
            for role in roles {
                switch members.value(role) {
                case .string(let name)?: tensors[role] = [.init(path: members.path(of: role), name: name)]
                case .array(let names)? where levels && !names.isEmpty && names.count <= 64:
                    tensors[role] = names.enumerated().compactMap { index, name in
                        let path = "\(members.path(of: role))[\(index)]"
                        guard case .string(let name) = name else {
                            problems.add(path, "expected the name of a tensor, found \(name.kind)")
                            return nil
                        }
                        return .init(path: path, name: name)
                    }
                case let value?:
                    problems.add(
                        members.path(of: role),
                        "expected the name of a tensor\(levels ? ", or an array of 1 to 64 names" : ""), found \(value.kind)"
                    )
                case nil: break
                }
            }
            members.refuseUnknownKeys()
        } else if let only {
            tensors[only] = [.init(path: object.path(of: "name"), name: output.name)]
        }
        if let prototypes { tensors["prototypes"] = [prototypes] }
        for role in required where tensors[role] == nil {
            problems.add(
                "\(object.path(of: "tensors")).\(role)",
                "is missing: expected the name of the model's tensor of \(role)")
        }
        dequantize(&tensors)
        return tensors
    }

    /// The tensor that `masks` names.
    private var prototypes: ObservationOutput.Tensor? {
        guard let masks = object.object("masks"), let name = masks.string("prototypes") else { return nil }
        return .init(path: masks.path(of: "prototypes"), name: name)
    }

    /// `value * scale + bias`: for one tensor as for other outputs, for several by role.
    private func dequantize(_ tensors: inout [String: [ObservationOutput.Tensor]]) {
        guard let transform = object.object("dequantize") else { return }
        if tensors.count == 1, let role = tensors.keys.first {
            let linear = LayerParser.dequantization(transform)
            for index in (tensors[role] ?? []).indices { tensors[role]?[index].linear = linear }
            return
        }
        for role in tensors.keys.sorted() {
            guard let member = transform.object(role) else { continue }
            let linear = LayerParser.dequantization(member)
            for index in (tensors[role] ?? []).indices { tensors[role]?[index].linear = linear }
        }
        transform.refuseUnknownKeys()
    }

    // MARK: Boxes

    private func boxes() -> ObservationOutput.Boxes {
        guard let layout = object.choice("layout", BoxLayout.self) else {
            if !object.has("layout") {
                let names = BoxLayout.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
                problems.add(object.path(of: "layout"), "is missing: expected one of \(names)")
            }
            return ObservationOutput.Boxes(BoxDecoding(layout: .yolov8))
        }
        var decoding = BoxDecoding(layout: layout)
        if let form = object.choice("form", BoxForm.self) {
            if !layout.forms.contains(form) {
                let forms = layout.forms.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")
                problems.add(
                    object.path(of: "form"),
                    "is \"\(form.rawValue)\", but boxes of \"\(layout.rawValue)\" are offsets of a centre and a size: expected \(forms)"
                )
            }
            decoding.form = form
        }
        if let units = object.choice("units", BoxUnits.self) { decoding.units = units }
        if let scores = object.choice("scores", ScoreForm.self) {
            if scores == .softmax, layout.hasClassNumbers {
                problems.add(
                    object.path(of: "scores"),
                    "is \"softmax\", but \"\(layout.rawValue)\" has one score a box: expected \"probabilities\" or \"sigmoid\""
                )
            }
            decoding.scores = scores
        }
        if let background = object.choice("background", BackgroundClass.self) { decoding.background = background }
        if let scope = object.choice("nms", SuppressionScope.self) { decoding.suppression = scope }
        if let order = object.choice("order", RowOrder.self) { decoding.order = order }
        if let share = share("threshold") { decoding.threshold = share }
        if let share = share("iou") { decoding.iou = share }
        if let most = object.integer("max_detections", in: 1...10_000) { decoding.maxDetections = most }
        if let flag = object.bool("multi_label") { decoding.multiLabel = flag }
        if let elements = object.elements("strides") {
            decoding.strides = numbers(elements, "strides", 1...64) { (1...4_096).contains($0) && $0 == $0.rounded() }
                .map { Int($0) }
        }
        if layout == .fcos {
            if let count = object.integer("anchors", in: 1...64) { decoding.anchors = count }
            if let offset = object.number("offset") {
                if !(0...1).contains(offset) {
                    problems.add(object.path(of: "offset"), "expected a number from 0 to 1, found \(offset)")
                }
                decoding.offset = Float(offset)
            }
        }
        if let elements = object.elements("variances") {
            decoding.variances = numbers(elements, "variances", 4...4) { abs($0) <= 1e6 }.map { Float($0) }
        }
        decoding.priors = PriorParser(object: object, contents: contents).parse()
        var boxes = ObservationOutput.Boxes(decoding)
        if let masks = object.object("masks") {
            _ = masks.requiredString("prototypes")
            boxes.masks = (
                masks.integer("coefficients", in: 1...1_024) ?? 32, Self.share(masks, "threshold", open: true) ?? 0.5
            )
            masks.refuseUnknownKeys()
        }
        if let points = object.object("keypoints") {
            var reading = KeypointDecoding(layout: .points)
            reading.order = .xyScore
            reading.units = decoding.units
            // Distances from the point of a cell: the decoder makes pixels of them.
            if layout == .fcos { (reading.order, reading.units) = (.xy, .pixels) }
            pointKeys(points, into: &reading)
            boxes.keypoints = (reading, skeleton(points, required: true))
            points.refuseUnknownKeys()
        }
        boxes.decoding.extras = boxes.extras
        return boxes
    }

    private func checkPriors(_ decoding: BoxDecoding, _ output: ObservationOutput) {
        if decoding.layout == .ssd, decoding.priors == nil, output.tensors["priors"] == nil, !object.has("priors") {
            problems.add(
                object.path(of: "priors"),
                "is missing: expected a file, an array of levels, or \"priors\" among \"tensors\"")
        }
    }

    // MARK: Masks, points, embeddings

    private func mask() -> MaskDecoding {
        var decoding = MaskDecoding(layout: object.choice("layout", MaskLayout.self) ?? .classes)
        decoding.order = object.choice("channels", ChannelPlace.self)
        if let threshold = Self.share(object, "threshold", open: true) { decoding.threshold = threshold }
        return decoding
    }

    private func keypoints() -> ObservationOutput.Kind {
        var decoding = KeypointDecoding(layout: object.choice("layout", KeypointLayout.self) ?? .points)
        pointKeys(object, into: &decoding)
        decoding.place = object.choice("channels", ChannelPlace.self)
        if let refine = object.choice("refine", Refinement.self) { decoding.refines = refine == .quarter }
        return .keypoints(decoding, skeleton(object, required: false))
    }

    private enum Refinement: String, CaseIterable {
        case quarter, none
    }

    private func pointKeys(_ object: ManifestObject, into decoding: inout KeypointDecoding) {
        if let order = object.choice("point", PointOrder.self) { decoding.order = order }
        if let units = object.choice("units", BoxUnits.self) { decoding.units = units }
        if let scores = object.choice("scores", PointScores.self) { decoding.scores = scores }
        if let threshold = Self.share(object, "threshold") { decoding.threshold = threshold }
    }

    /// `names`, or how many there are; nil names are the places' numbers.
    private func skeleton(_ object: ManifestObject, required: Bool) -> ObservationOutput.Skeleton {
        var names: [String] = []
        if let elements = object.elements("names") {
            names = elements.compactMap { if case .string(let name) = $0 { name } else { nil } }
            if names.count != elements.count || names.isEmpty || names.count > 4_096 {
                problems.add(object.path(of: "names"), "expected 1 to 4096 strings")
            }
        } else if let count = object.integer("points", in: 1...4_096) {
            names = (0..<count).map(String.init)
        } else if required, !object.has("names"), !object.has("points") {
            problems.add(
                object.path(of: "names"), "is missing: expected the points' names, or \"points\", their number")
        }
        var edges: [[Int]] = []
        for (index, element) in (object.elements("skeleton") ?? []).enumerated() {
            guard case .array(let ends) = element, ends.count == 2, case .integer(let first) = ends[0],
                case .integer(let second) = ends[1], first >= 0, second >= 0,
                names.isEmpty || max(first, second) < names.count
            else {
                problems.add(
                    "\(object.path(of: "skeleton"))[\(index)]", "expected two indices into \"names\", from 0")
                continue
            }
            edges.append([first, second])
        }
        return ObservationOutput.Skeleton(names: names, edges: edges)
    }

    private func embedding(_ output: inout ObservationOutput) -> ObservationOutput.Kind {
        let normalization = object.choice("normalize", EmbeddingNormalization.self) ?? .l2
        let scale = object.number("scale")
        guard let file = object.string("classes") else {
            if scale != nil { problems.add(object.path(of: "scale"), "is for \"classes\", which is missing") }
            return .embedding(normalization, classes: nil)
        }
        let path = object.path(of: "classes")
        guard let bytes = contents(file, path) else { return .embedding(normalization, classes: nil) }
        let vectors: SafeTensorsFile.Matrix
        do throws(FormatError) {
            vectors = try SafeTensorsFile(bytes).classVectors(in: bytes)
        } catch {
            problems.add(path, "\"\(file)\" \(error.reason)")
            return .embedding(normalization, classes: nil)
        }
        let classes = EmbeddingClasses(
            vectors: vectors.values, dimension: vectors.columns, scale: Float(scale ?? vectors.scale ?? 100))
        if classes == nil {
            problems.add(
                path, "\"\(file)\" has a vector that is zero or not finite, or the scale is not greater than 0")
        }
        if output.labels == nil { output.labels = vectors.labels }
        if let labels = output.labels, labels.count != vectors.rows {
            problems.add(
                object.path(of: "labels"), "there are \(labels.count) labels, \"\(file)\" has \(vectors.rows) vectors")
        } else if output.labels == nil, !object.has("labels") {
            problems.add(object.path(of: "labels"), "is missing: expected a file with a label for each vector")
        }
        return .embedding(normalization, classes: classes)
    }

    // MARK: Values

    private func share(_ key: String) -> Float? { Self.share(object, key) }

    /// A number from 0 to 1.
    private static func share(_ object: ManifestObject, _ key: String, open: Bool = false) -> Float? {
        guard let number = object.number(key) else { return nil }
        guard open ? number > 0 && number < 1 : (0...1).contains(number) else {
            object.problems.add(
                object.path(of: key), "expected a number \(open ? "between 0 and 1" : "from 0 to 1"), found \(number)")
            return nil
        }
        return Float(number)
    }

    private func numbers(
        _ elements: [JSONValue], _ key: String, _ counts: ClosedRange<Int>, _ fits: (Double) -> Bool
    ) -> [Double] {
        let numbers = elements.compactMap(\.asNumber).filter(fits)
        guard numbers.count == elements.count, counts.contains(numbers.count) else {
            let count = counts.count == 1 ? "\(counts.lowerBound)" : "\(counts.lowerBound) to \(counts.upperBound)"
            problems.add(object.path(of: key), "expected an array of \(count) numbers in range")
            return []
        }
        return numbers
    }
}

extension JSONValue {
    /// A finite number.
    var asNumber: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number) where number.isFinite: number
        default: nil
        }
    }
}

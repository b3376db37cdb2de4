internal import JSON
internal import Observations

/// Reads the head of an output of type `boxes`: the name of a family, parts, or a name and the parts that differ from
/// it.
struct HeadParser {
    let object: ManifestObject
    let contents: (_ file: String, _ path: String) -> [UInt8]?

    private var problems: ProblemList { object.problems }

    /// The tensors that a head without a name can have; the one that determines the number of rows comes first.
    private static let tensors: [HeadTensor] = [
        HeadTensor("output", []), HeadTensor("boxes", [.box]), HeadTensor("sizes", [.sizes]),
        HeadTensor("centers", [.centers]), HeadTensor("scores", [.scores]), HeadTensor("objectness", [.objectness]),
        HeadTensor("centerness", [.objectness]), HeadTensor("classes", [.label]), HeadTensor("angles", [.angle]),
        HeadTensor("points", [.extras]), HeadTensor("count", []), HeadTensor("priors", []),
    ]

    func parse() -> BoxDecoding {
        let layout = object.choice("layout", BoxLayout.self)
        let coding = object.choice("coding", BoxCoding.Kind.self)
        if layout == nil, coding == nil, !object.has("layout"), !object.has("coding") {
            let names = BoxLayout.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            problems.add(
                object.path(of: "layout"),
                "is missing: expected one of \(names), or \"coding\" and the other parts of the head")
        }
        var decoding = layout.map(BoxDecoding.init(layout:)) ?? BoxDecoding()
        if let coding {
            decoding.coding.kind = coding
            if layout == nil, coding != .boxes { decoding.points = PriorPoints() }
        }
        rows(of: &decoding, isNamed: layout != nil)
        parts(of: &decoding)
        if let form = object.choice("form", BoxForm.self) {
            if !decoding.forms.contains(form) {
                let forms = decoding.forms.map { "\"\($0.rawValue)\"" }.joined(separator: " or ")
                let reason = decoding.hasAngles ? "turned about their centre" : "offsets of a centre and a size"
                problems.add(
                    object.path(of: "form"),
                    "is \"\(form.rawValue)\", but its boxes are \(reason): expected \(forms)")
            }
            decoding.form = form
        }
        scores(of: &decoding)
        if let scope = object.choice("nms", SuppressionScope.self) { decoding.suppression = scope }
        if let share = Self.share(object, "threshold") { decoding.threshold = share }
        if let share = Self.share(object, "iou") { decoding.iou = share }
        if let maximum = object.integer("max_detections", in: 1...10_000) { decoding.maxDetections = maximum }
        if decoding.hasAngles { checkTurned(decoding) }
        return decoding
    }

    /// Checks the parts of a head that only upright boxes can have.
    private func checkTurned(_ decoding: BoxDecoding) {
        if decoding.coding.kind != .boxes {
            problems.add(
                object.path(of: "coding"), "is \"\(decoding.coding.kind.rawValue)\": an \"angle\" is for decoded boxes")
        }
        if ![.none, .perClass, .all].contains(decoding.suppression) {
            problems.add(
                object.path(of: "nms"),
                "is \"\(decoding.suppression.rawValue)\": expected \"none\", \"per_class\" or \"all\" for boxes with an \"angle\""
            )
        }
        for key in ["clip", "masks"] where object.has(key) {
            problems.add(object.path(of: key), "is for upright boxes: a row has an \"angle\"")
        }
    }

    // MARK: Rows

    private func rows(of decoding: inout BoxDecoding, isNamed: Bool) {
        if let order = object.choice("order", RowOrder.self) { decoding.order = order }
        if !isNamed {
            let given = object.object("tensors")
            decoding.tensors = Self.tensors.filter { given?.has($0.role) ?? ($0.role == "output") }
            // A class number comes with a single score.
            if decoding.tensors.contains(where: { $0.role == "classes" }) {
                for index in decoding.tensors.indices where decoding.tensors[index].parts == [.scores] {
                    decoding.tensors[index].parts = [.score]
                }
            }
        }
        switch object.value("row") {
        case nil: break
        case .array?: row(object, "row", of: "output", &decoding)
        case .object?:
            guard let members = object.object("row") else { break }
            for tensor in decoding.tensors where members.has(tensor.role) {
                row(members, tensor.role, of: tensor.role, &decoding)
            }
            members.refuseUnknownKeys()
        case let value?:
            problems.add(
                object.path(of: "row"), "expected an array of parts, or one for each role, found \(value.kind)")
        }
        check(decoding)
    }

    private func row(_ object: ManifestObject, _ key: String, of role: String, _ decoding: inout BoxDecoding) {
        let names = object.elements(key) ?? []
        let parts = names.compactMap { name -> RowPart? in
            if case .string(let text) = name { RowPart(rawValue: text) } else { nil }
        }
        guard parts.count == names.count, (1...64).contains(parts.count) else {
            let known = RowPart.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            return problems.add(object.path(of: key), "expected 1 to 64 of \(known)")
        }
        guard let place = decoding.tensors.firstIndex(where: { $0.role == role }) else {
            return problems.add(object.path(of: key), "is for a tensor \"\(role)\", which the head does not have")
        }
        decoding.tensors[place].parts = parts
    }

    /// Checks that each box has exactly one position and one score.
    private func check(_ decoding: BoxDecoding) {
        let parts = decoding.tensors.flatMap(\.parts).filter { $0 != .unread }
        func count(_ part: RowPart) -> Int { parts.count { $0 == part } }
        let boxes = "expected \"box\", or \"centers\" and \"sizes\""
        let path = object.path(of: object.has("row") ? "row" : "tensors")
        if let twice = parts.first(where: { count($0) > 1 }) {
            problems.add(path, "has \"\(twice.rawValue)\" twice")
        } else if count(.centers) != count(.sizes) || count(.box) == count(.centers) {
            if object.has("layout") || object.has("coding") { problems.add(path, boxes) }
        } else if count(.scores) + count(.score) != 1 {
            problems.add(path, "expected \"scores\", or \"score\" with \"class\"")
        } else if count(.label) > 0, count(.score) == 0 {
            problems.add(path, "has both \"class\" and \"scores\": expected \"score\", one for each row")
        }
    }

    // MARK: Boxes

    private func parts(of decoding: inout BoxDecoding) {
        if let units = object.choice("units", BoxUnits.self) { decoding.units = units }
        if let bins = object.integer("bins", in: 1...256) {
            if bins > 1, decoding.coding.kind != .distances {
                problems.add(object.path(of: "bins"), "is for the coding \"distances\"")
            }
            decoding.coding.bins = bins
        }
        if let curve = object.choice("centers", BoxCoding.CenterCurve.self) { decoding.coding.centers = curve }
        if let scale = object.number("center_scale") {
            if !(scale > 0 && scale <= 16) {
                problems.add(object.path(of: "center_scale"), "expected a number from 0 to 16, found \(scale)")
            }
            decoding.coding.centerScale = Float(scale)
        }
        if let unit = object.choice("centers_in", CenterUnit.self) { decoding.coding.inCells = unit == .cells }
        if let curve = object.choice("sizes", BoxCoding.SizeCurve.self) { decoding.coding.sizes = curve }
        if let unit = object.choice("sizes_in", SizeUnit.self) { decoding.coding.ofPicture = unit == .picture }
        if let flag = object.bool("clip") { decoding.coding.clips = flag }
        if let elements = object.elements("strides") {
            decoding.strides = numbers(elements, "strides", 1...64) { (1...4_096).contains($0) && $0 == $0.rounded() }
                .map { Int($0) }
            if decoding.priors != nil { decoding.priors = nil }
        }
        if let count = object.integer("anchors", in: 1...64) { decoding.anchors = count }
        if let offset = object.number("offset") {
            if !(0...1).contains(offset) {
                problems.add(object.path(of: "offset"), "expected a number from 0 to 1, found \(offset)")
            }
            decoding.offset = Float(offset)
        }
        if let elements = object.elements("variances") {
            decoding.variances = numbers(elements, "variances", 4...4) { abs($0) <= 1e6 }.map { Float($0) }
        }
        if let priors = PriorParser(object: object, contents: contents).parse() { decoding.priors = priors }
        if case .given? = decoding.priors, decoding.coding.inCells {
            problems.add(object.path(of: "priors"), "is a file, but the centres count in cells: expected levels")
        }
        let hasTensor = object.object("tensors")?.has("priors") ?? false
        if decoding.coding.kind != .boxes, decoding.priors == nil, decoding.strides.isEmpty, !hasTensor,
            !object.has("priors"), !object.has("strides")
        {
            problems.add(
                object.path(of: "priors"),
                "is missing: expected a file, an array of levels, or \"priors\" among \"tensors\"; or \"strides\"")
        }
    }

    private enum CenterUnit: String, CaseIterable { case priors, cells }
    private enum SizeUnit: String, CaseIterable { case priors, picture }

    // MARK: Scores

    private func scores(of decoding: inout BoxDecoding) {
        if let scores = object.choice("scores", ScoreForm.self) {
            if scores == .softmax, decoding.hasClassNumbers {
                problems.add(
                    object.path(of: "scores"),
                    "is \"softmax\", but the head has one score a box: expected \"probabilities\" or \"sigmoid\"")
            }
            decoding.scores = scores
        }
        if let background = object.choice("background", BackgroundClass.self) { decoding.background = background }
        if let flag = object.bool("multi_label") { decoding.multiLabel = flag }
        switch object.value("combine") {
        case nil: break
        case .string("product")?: decoding.weights = .product
        case .string("root")?: decoding.weights = .root
        case .array(let elements)?:
            let weights = numbers(elements, "combine", 2...2) { $0 >= 0.01 && $0 <= 100 }
            guard weights.count == 2 else { break }
            decoding.weights = ScoreWeights(objectness: Float(weights[0]), classes: Float(weights[1]))
        case let value?:
            problems.add(
                object.path(of: "combine"),
                "expected \"product\", \"root\", or the powers of objectness and class, found \(value.kind)")
        }
    }

    // MARK: Values

    /// Reads a number from 0 to 1.
    static func share(_ object: ManifestObject, _ key: String, open: Bool = false) -> Float? {
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
    /// The value as a finite number; otherwise nil.
    var asNumber: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .number(let number) where number.isFinite: number
        default: nil
        }
    }
}

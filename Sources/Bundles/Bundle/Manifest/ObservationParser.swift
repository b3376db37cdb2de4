internal import EngineAPI
internal import FileFormats
internal import JSON
internal import ModelFacts
internal import Observations
internal import Teaching

/// Reads an entry of a manifest's `outputs` of type `boxes`, `mask`, `keypoints`, `embedding` or `text`.
struct ObservationParser {
    let object: ManifestObject
    /// Reads a labels file of the bundle.
    let labels: (_ file: String, _ path: String) -> [String]?
    /// Reads another file of the bundle, with a maximum size in bytes.
    let contents: (_ file: String, _ path: String, _ maximum: Int) -> [UInt8]?

    private var problems: ProblemList { object.problems }

    /// The types of entries that it reads.
    enum Kind: String, CaseIterable {
        case boxes, mask, keypoints, embedding, text
    }

    /// True if an entry has one of these types.
    static func reads(_ object: ManifestObject) -> Bool {
        if case .string(let type)? = object.value("type") { Kind(rawValue: type) != nil } else { false }
    }

    func parse() -> ObservationOutput {
        var output = ObservationOutput(
            path: object.path, name: object.requiredString("name"), tensors: [:],
            kind: .embedding(EmbeddingDecoding(), classes: nil))
        // Shape and type come from the model file; the keys are accepted but ignored.
        _ = object.value("shape")
        _ = object.value("dtype")
        if let file = object.string("labels") { output.labels = labels(file, object.path(of: "labels")) }
        switch object.choice("type", Kind.self) {
        case .boxes?: output.kind = .boxes(boxes())
        case .mask?: output.kind = .mask(mask())
        case .keypoints?: output.kind = keypoints()
        case .embedding?: output.kind = embedding(&output)
        case .text?: output.kind = text()
        case nil: break
        }
        output.tensors = tensors(of: output)
        object.refuseUnknownKeys()
        return output
    }

    /// The dictionary of a recognizer of text.
    private func text() -> ObservationOutput.Kind {
        let file = object.requiredString("dictionary"), place = object.path(of: "dictionary")
        var dictionary: [String] = []
        if !file.isEmpty, let bytes = contents(file, place, Self.largestDictionary) {
            do throws(FormatError) {
                dictionary = try TextDictionary.read(bytes)
            } catch {
                problems.add(place, "\"\(file)\" \(error.reason)")
            }
        }
        return .text(TextDecoding(dictionary: dictionary))
    }

    private static let largestDictionary = 16 << 20

    // MARK: Tensors

    private func tensors(of output: ObservationOutput) -> [String: [ObservationOutput.Tensor]] {
        let roles = output.roles
        var required = ["output"], levels = false
        var only: String? = "output"
        if case .boxes(let boxes) = output.kind {
            required = boxes.decoding.roles.required
            levels = boxes.decoding.hasLevels
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

    /// The tensor with the prototypes, which `masks` names; nil without it.
    private var prototypes: ObservationOutput.Tensor? {
        guard let masks = object.object("masks"), let name = masks.string("prototypes") else { return nil }
        return .init(path: masks.path(of: "prototypes"), name: name)
    }

    /// Reads `value * scale + bias`: for one tensor as for other outputs, for several tensors by role.
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
        var boxes = ObservationOutput.Boxes(
            HeadParser(object: object) { contents($0, $1, BundleFile.largestLabels) }.parse())
        if let masks = object.object("masks") {
            _ = masks.requiredString("prototypes")
            boxes.masks = (
                masks.integer("coefficients", in: 1...1_024) ?? 32,
                HeadParser.share(masks, "threshold", open: true) ?? 0.5
            )
            masks.refuseUnknownKeys()
        }
        if let points = object.object("keypoints") { boxes.keypoints = keypoints(points, of: &boxes.decoding) }
        boxes.decoding.extras = boxes.extras
        boxes.decoding.points?.first = boxes.masks?.coefficients ?? 0
        return boxes
    }

    private enum PointOrigin: String, CaseIterable { case prior, picture }

    /// Reads the points of single detections. The decoder converts points that are relative to the prior to pixels.
    private func keypoints(
        _ object: ManifestObject, of decoding: inout BoxDecoding
    ) -> (decoding: KeypointDecoding, skeleton: ObservationOutput.Skeleton) {
        var reading = KeypointDecoding(layout: .points)
        if let origin = object.choice("from", PointOrigin.self) {
            decoding.points = origin == .prior ? decoding.points ?? PriorPoints() : nil
            if origin == .prior, decoding.coding.kind == .boxes {
                problems.add(object.path(of: "from"), "is \"prior\", but the boxes of the head have no priors")
            }
        }
        (reading.order, reading.units) = decoding.points == nil ? (.xyScore, decoding.units) : (.xy, .pixels)
        pointKeys(object, into: &reading)
        if let scale = object.number("scale") {
            if decoding.points == nil || !(abs(scale) <= 1e6) {
                problems.add(
                    object.path(of: "scale"), "expected a factor of at most 1e6, for points \"from\": \"prior\"")
            }
            decoding.points?.scale = Float(scale)
        }
        decoding.points?.order = reading.order
        let skeleton = skeleton(object, required: true)
        object.refuseUnknownKeys()
        return (reading, skeleton)
    }

    // MARK: Masks, points, embeddings

    private func mask() -> MaskDecoding {
        var decoding = MaskDecoding(layout: object.choice("layout", MaskLayout.self) ?? .classes)
        decoding.order = object.choice("channels", ChannelPlace.self)
        if let threshold = HeadParser.share(object, "threshold", open: true) { decoding.threshold = threshold }
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
        if let text = object.string("point") {
            if let order = PointOrder(rawValue: text) {
                decoding.order = order
            } else {
                problems.add(
                    object.path(of: "point"),
                    "expected \"x\" and \"y\", and where the model has them \"z\", \"score\" and \"_\", which is not read, in the model's order, as in \"x y score\"; found \"\(text.prefix(60))\""
                )
            }
        }
        if let units = object.choice("units", BoxUnits.self) { decoding.units = units }
        if let scores = object.choice("scores", PointScores.self) { decoding.scores = scores }
        if let threshold = HeadParser.share(object, "threshold") { decoding.threshold = threshold }
    }

    /// Reads `names`, or the number of points; the names are then the indices.
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
        let decoding = EmbeddingDecoding(
            object.choice("normalize", EmbeddingNormalization.self) ?? .l2,
            pooling: object.choice("pooling", EmbeddingPooling.self),
            channels: object.choice("channels", ChannelPlace.self),
            patches: object.object("patches").map { members in
                defer { members.refuseUnknownKeys() }
                return PatchPlaces(
                    skip: members.integer("skip", in: 0...1_000_000) ?? 0,
                    rows: members.integer("rows", in: 1...1_000_000))
            })
        let scale = object.number("scale")
        let taught = object.string("taught")
        guard let file = object.string("classes") else {
            if scale != nil { problems.add(object.path(of: "scale"), "is for \"classes\", which is missing") }
            let head = taught.flatMap { taughtClasses($0, &output) }
            return .embedding(decoding, classes: head.map { .taught($0) })
        }
        if taught != nil {
            problems.add(object.path(of: "classes"), "cannot be combined with \"taught\": only one sets the classes")
        }
        return .embedding(decoding, classes: vectors(file, scale: scale, &output).map { .vectors($0) })
    }

    /// The classes in a file that `ocelli teach` wrote; sets the output's labels.
    private func taughtClasses(_ file: String, _ output: inout ObservationOutput) -> TaughtClassifier? {
        let path = object.path(of: "taught")
        if object.has("labels") {
            problems.add(object.path(of: "labels"), "cannot be combined with \"taught\": the labels are in \"\(file)\"")
        }
        guard let bytes = contents(file, path, BundleFile.largestTaught) else { return nil }
        do throws(FormatError) {
            let head = try TaughtFile.head(bytes)
            output.labels = head.labels
            return head
        } catch {
            problems.add(path, "\"\(file)\" \(error.reason)")
            return nil
        }
    }

    /// The embeddings of classes; sets the output's labels if the file has them.
    private func vectors(_ file: String, scale: Double?, _ output: inout ObservationOutput) -> EmbeddingClasses? {
        let path = object.path(of: "classes")
        guard let bytes = contents(file, path, BundleFile.largestLabels) else { return nil }
        let vectors: SafeTensorsFile.Matrix
        do throws(FormatError) {
            vectors = try SafeTensorsFile(bytes).classVectors(in: bytes)
        } catch {
            problems.add(path, "\"\(file)\" \(error.reason)")
            return nil
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
        return classes
    }
}

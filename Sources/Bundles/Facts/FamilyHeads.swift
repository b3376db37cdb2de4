internal import EngineAPI
internal import ModelFacts
internal import Observations

/// Recognizes detectors that no source names, by the names and shapes of their outputs.
extension HeadReading {
    /// A family of detectors, and the rules that identify its tensors.
    private struct Family {
        let layout: BoxLayout
        /// For each role the prefixes of its tensors' names, and the number of values in a row; nil for any number.
        let roles: [(role: String, prefixes: [String], values: Int?)]
        var points = 0
        /// True if its tensors are maps, not tables.
        var areMaps = false
        /// The number of rows of a table: one for each cell of these strides, or a fixed number.
        var rows: Rows?
        /// The only class, if the first score is that of the background.
        var classAfterBackground: String?
        /// The usual preparation of its pictures.
        var pictures: FamilyPictures?
        /// The reason it may be another family; nil if no other has these names.
        let caveat: String?
    }

    private enum Rows {
        case cells(_ each: Int, strides: [Int])
        /// As many rows for each cell of a stride as `each` says.
        case uneven(_ each: [(stride: Int, rows: Int)])
        /// The values of a box are in a column, not in a row.
        case columns(strides: [Int])
        case exactly(Int)

        var isColumns: Bool { if case .columns = self { true } else { false } }

        /// The number of rows for a picture of this size.
        func count(_ input: FactSize) -> Int {
            func cells(_ stride: Int) -> Int {
                ((input.height - 1) / stride + 1) * ((input.width - 1) / stride + 1)
            }
            switch self {
            case .cells(let each, let strides): return strides.reduce(0) { $0 + each * cells($1) }
            case .uneven(let each): return each.reduce(0) { $0 + $1.rows * cells($1.stride) }
            case .columns(let strides): return strides.reduce(0) { $0 + cells($1) }
            case .exactly(let count): return count
            }
        }
    }

    /// More specific families first.
    private static let families: [Family] = [
        Family(
            layout: .yunet,
            roles: [
                ("boxes", ["bbox_"], 4), ("scores", ["cls_"], 1), ("objectness", ["obj_"], 1), ("points", ["kps_"], 10),
            ], points: 5, caveat: nil),
        Family(
            layout: .centernet, roles: [("scores", ["hm"], nil), ("sizes", ["wh"], 2), ("centers", ["reg"], 2)],
            areMaps: true, caveat: nil),
        Family(
            layout: .corners, roles: [("boxes", ["boxes"], 4), ("scores", ["scores"], 2)],
            rows: .uneven([(8, 3), (16, 2), (32, 2), (64, 3)]), classAfterBackground: "face", pictures: .ultraFace,
            caveat: "an UltraFace that was trained again may find something else (\"labels\")"),
        Family(
            layout: .blazeface, roles: [("boxes", [], 16), ("scores", [], 1)], points: 6,
            caveat: "SSDs with six points have such shapes, too"),
        Family(
            layout: .scrfd, roles: [("boxes", [], 4), ("scores", [], 1), ("points", [], 10)], points: 5,
            caveat: "others with two rows a cell have such shapes, too"),
        Family(
            layout: .scrfd, roles: [("boxes", [], 4), ("scores", [], 1)],
            caveat: "others with two rows a cell have such shapes, too"),
        Family(
            layout: .fcos,
            roles: [
                ("centerness", ["centerness", "ctr", "bbox_ctr", "cnt"], 1), ("boxes", ["bbox", "box", "reg"], 4),
                ("scores", ["cls", "score"], nil),
            ], areMaps: true, caveat: "some count distances in strides (\"units\"), or have other strides (\"strides\")"
        ),
        Family(
            layout: .fcos,
            roles: [
                ("centerness", ["centerness", "ctr", "bbox_ctr", "cnt"], 1), ("boxes", ["bbox", "box", "reg"], 4),
                ("scores", ["cls", "score"], nil),
            ], rows: .cells(1, strides: [8, 16, 32, 64, 128]),
            caveat:
                "torchvision's counts in strides from the corners of cells (\"units\": \"fractions\", \"offset\": 0)"
        ),
        Family(
            layout: .retinanet, roles: [("boxes", [], 4), ("scores", [], nil)],
            rows: .cells(9, strides: [8, 16, 32, 64, 128]),
            caveat: "the sizes of its anchors may be others (\"priors\"); torchvision's are around the corners of cells"
        ),
        Family(
            layout: .damoYOLO, roles: [("boxes", [], 68), ("scores", [], nil)],
            caveat: "others with distributions over 17 bins have such shapes, too"),
        Family(
            layout: .picodet, roles: [("boxes", [], 32), ("scores", [], nil)],
            caveat: "NanoDet's separate outputs have such shapes, too (\"offset\")"),
        Family(
            layout: .rtmdet, roles: [("boxes", [], 4), ("scores", [], nil)], areMaps: true,
            caveat: "maps of other detectors without anchors look alike (\"units\", \"offset\")"),
        Family(
            layout: .yolov5Maps, roles: [("output", [], nil)], areMaps: true,
            caveat: "maps of YOLOv3 (\"yolov3-maps\") and YOLOv7 (other \"priors\") look alike"),
        Family(
            layout: .yolov8Maps, roles: [("output", [], nil)], areMaps: true,
            caveat: "others with distributions over 16 bins have such shapes, too"),
        Family(
            layout: .fastestdet, roles: [("output", [], 85)], areMaps: true,
            caveat: "maps of segmentation look alike"),
        Family(
            layout: .nanodet, roles: [("output", [], nil)], caveat: "others with distributions over 8 bins look alike"),
        Family(
            layout: .yolov5, roles: [("output", [], nil)], rows: .cells(3, strides: [8, 16, 32]),
            caveat: "YOLOv3 and YOLOv7 with decoding inside look alike, and raw rows, too (\"yolov5-maps\")"),
        Family(
            layout: .yolox, roles: [("output", [], nil)], rows: .cells(1, strides: [8, 16, 32]), pictures: .yolox,
            caveat: "YOLOv6 and YOLOX with decoding inside look alike (\"yolov5\")"),
        Family(
            layout: .yolov8, roles: [("output", [], nil)], rows: .columns(strides: [8, 16, 32]),
            caveat: "exports to TensorFlow give fractions (\"units\")"),
        Family(
            layout: .endToEnd, roles: [("output", [], 6)], rows: .exactly(300),
            caveat: "others with 300 rows of six numbers look alike (\"row\")"),
    ]

    /// The first family that matches the outputs; nil if none matches, or the size of the picture is not known.
    static func family(_ ports: OutputPorts) -> HeadReading? {
        guard let input = ports.input, !ports.all.isEmpty, ports.all.allSatisfy({ $0.elementType.isFloatingPoint })
        else {
            return nil
        }
        for family in families {
            guard let tensors = assign(ports.all, to: family, input), fits(family, ports.all, input) else { continue }
            var boxes = ObservationOutput.Boxes(BoxDecoding(layout: family.layout))
            var members: [Member] = []
            let key = "the outputs' \(family.caveat.map { "shapes: likely, but \($0)" } ?? "names and shapes: certain")"
            members.append(("type", "\"boxes\"", ports.file, "the outputs' shapes"))
            members.append(("layout", family.layout.rawValue.jsonText, ports.file, key))
            if family.points > 0 {
                var reading = KeypointDecoding(layout: .points)
                (reading.order, reading.units) = (.xy, .pixels)
                boxes.keypoints = (reading, ObservationOutput.Skeleton(names: (0..<family.points).map(String.init)))
                members.append(("keypoints", "{ \"points\": \(family.points) }", ports.file, "the outputs' shapes"))
            }
            if family.classAfterBackground != nil {
                boxes.decoding.background = .first
                members.append(("background", "\"first\"", ports.file, "the outputs' shapes"))
            }
            boxes.decoding.extras = boxes.extras
            let shapes = tensors.mapValues { $0.map(\.shape.dimensions) }
            guard
                let decoder = try? BoxDecoder(
                    boxes.decoding, shapes: shapes, width: input.width, height: input.height, classes: nil)
            else { continue }
            let roles = boxes.decoding.roles
            let text = (roles.required + roles.optional).compactMap { role in
                tensors[role].map {
                    "\(role.jsonText): \($0.count == 1 ? $0[0].name.jsonText : $0.map(\.name).jsonText)"
                }
            }
            members.append(("tensors", "{ \(text.joined(separator: ", ")) }", ports.file, "the outputs' shapes"))
            var reading = HeadReading(
                .boxes(boxes), members: members, tensors: [:],
                labels: ports.labels(count: decoder.classes)
                    ?? family.classAfterBackground.map {
                        Fact([$0], source: ports.file, key: "the outputs' names and shapes")
                    })
            reading.pictures = family.pictures
            reading.tensors = tensors.mapValues { $0.map(Tensor.init) }
            reading.isGroup = true
            if family.caveat == nil {
                reading.remarks = ["layout: \"\(family.layout.rawValue)\", by the outputs' names and shapes: certain"]
            }
            reading.caveat = family.caveat.map {
                "layout: \"\(family.layout.rawValue)\" fits the shapes of the outputs, but \($0); compare with the model's own program"
            }
            return reading
        }
        return nil
    }

    /// The outputs by role, those with more cells first; nil unless each output has one role, and all roles have
    /// equally many.
    private static func assign(
        _ ports: [TensorPort], to family: Family, _ input: FactSize
    ) -> [String: [TensorPort]]? {
        var tensors: [String: [TensorPort]] = [:]
        for port in ports {
            let extents = port.shape.dimensions
            guard extents.allSatisfy({ (1...1 << 20).contains($0) }), let last = extents.last else { return nil }
            // In a map, the channels are the first or the last axis: the other axes have the aspect ratio of the
            // picture.
            let isFirst = extents.count == 4 && extents[2] * input.width == extents[3] * input.height
            let numbers = isFirst ? extents[1] : last
            let role = family.roles.first { role in
                (role.values ?? numbers) == numbers
                    && (role.prefixes.isEmpty || role.prefixes.contains { port.name.lowercased().hasPrefix($0) })
            }
            guard let role else { return nil }
            tensors[role.role, default: []].append(port)
        }
        let counts = Set(family.roles.map { tensors[$0.role]?.count ?? 0 })
        guard counts.count == 1, counts != [0] else { return nil }
        return tensors.mapValues { ports in
            ports.sorted { $0.shape.dimensions.reduce(1, &*) > $1.shape.dimensions.reduce(1, &*) }
        }
    }

    /// True if the outputs are maps or tables as in the family, and have its number of rows.
    private static func fits(_ family: Family, _ ports: [TensorPort], _ input: FactSize) -> Bool {
        guard ports.allSatisfy({ ($0.shape.dimensions.count >= 4) == family.areMaps }) else { return false }
        guard let rows = family.rows else { return true }
        return ports.allSatisfy { port in
            let extents = port.shape.dimensions
            guard extents.count == 3, rows.isColumns || extents[1] == rows.count(input) else { return false }
            guard rows.isColumns else { return family.roles.count > 1 || extents[2] > 5 }
            return extents[2] == rows.count(input) && extents[1] > 4
        }
    }
}

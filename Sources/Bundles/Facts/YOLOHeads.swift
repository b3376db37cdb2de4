internal import EngineAPI
internal import ModelFacts
internal import Observations

/// Recognizes Ultralytics' exports, which have one form for each task. Exports of YOLOv5, which do not name the task,
/// are recognized by their shapes.
extension HeadReading {
    /// A table of rows, with mask prototypes for segmentation.
    private struct Table {
        let port: TensorPort
        /// The extents of the axes after the batch.
        let first: Int, last: Int
        /// The tensor of mask prototypes, and their number; nil without masks.
        let prototypes: (port: TensorPort, count: Int)?
    }

    // Long: one case for each generation.
    static func yolo(
        _ head: Fact<ModelHead>, _ sheet: FactSheet, _ ports: OutputPorts
    ) throws(HeadProblem) -> HeadReading? {
        let task = sheet.task?.value
        // Exports without a task were recognized as detectors by their shapes.
        if task == "classify" { return nil }
        if task == "semantic" { return try semantic(head, ports) }
        guard let port = ports.ranked(3).first else { throw misfit(head, ports) }
        guard let labels = ports.labels.first else {
            throw HeadProblem(reason: "the names of the classes of \"\(port.name)\" \(port.shape) (\"labels\")")
        }
        let table = table(port, labels.value.count, ports)
        var boxes = ObservationOutput.Boxes(BoxDecoding(layout: .yolov8))
        var last: [Member] = []
        var tensors = ["output": port]
        if let (maps, count) = table.prototypes, task == nil || task == "segment" {
            boxes.masks = (count, 0.5)
            tensors["prototypes"] = maps
            last = [
                (
                    "masks", "{ \"prototypes\": \(maps.name.jsonText), \"coefficients\": \(count) }", ports.file,
                    "the outputs' shapes"
                )
            ]
        }
        let units = units(of: table, labels.value.count, ports)
        if task == "pose" {
            guard let shape = sheet.keypoints, let points = shape.value.first, let each = shape.value.last,
                (1...4_096).contains(points), each == 2 || each == 3
            else { throw misfit(head, ports) }
            var reading = KeypointDecoding(layout: .points)
            reading.order = each == 3 ? .xyScore : .xy
            reading.units = units
            boxes.keypoints = (reading, ObservationOutput.Skeleton(names: (0..<points).map(String.init)))
            let text = "{ \"points\": \(points), \"point\": \(reading.order.rawValue.jsonText) }"
            last = [("keypoints", text, shape.source, shape.key)]
        }
        let known: [String?] = [nil, "detect", "segment", "pose", "obb"]
        let layout =
            task == "obb"
            ? turnedLayout(of: table, labels.value.count, sheet)
            : layout(of: table, labels.value.count, extras: boxes.extras, head, sheet, ports)
        guard let layout, task != "segment" || boxes.masks != nil, known.contains(task) else {
            throw misfit(head, ports)
        }
        boxes.decoding = BoxDecoding(layout: layout)
        if boxes.decoding.suppression != .none {
            boxes.decoding.order = layout == .yolov5 ? .rows : .columns
        }
        boxes.decoding.units = units
        var members: [Member] = [("type", "\"boxes\"", head.source, head.key)]
        members.append(("layout", layout.rawValue.jsonText, ports.file, "the output's shape"))
        if let order = boxes.decoding.order {
            members.append(("order", order.rawValue.jsonText, ports.file, "the output's shape"))
        }
        if units == .fractions {
            members.append(("units", "\"fractions\"", head.source, "the exporter's convention for \(ports.file)"))
        }
        var reading = HeadReading(.boxes(boxes), members: members + last, tensors: tensors, labels: labels)
        if ports.isTensorFlow, layout != .yolov5 {
            reading.remarks = [
                "units: \(ports.file) gives pixels where it was exported by itself, and fractions where it was a step of an export to TensorFlow Lite; pixels are taken (\"units\")"
            ]
        }
        return reading
    }

    static func misfit(_ head: Fact<ModelHead>, _ ports: OutputPorts) -> HeadProblem {
        let count = ports.labels.first.map { " of \($0.value.count) classes" } ?? ""
        return HeadProblem(
            reason:
                "how its outputs are read: \(head.source) (\(head.key)) names an export\(count), and \(ports.text) does not have the shape of one"
        )
    }

    private static func table(_ port: TensorPort, _ classes: Int, _ ports: OutputPorts) -> Table {
        let (first, last) = (port.shape.dimensions[1], port.shape.dimensions[2])
        var prototypes: (TensorPort, Int)?
        if let maps = ports.ranked(4).first {
            let extents = maps.shape.dimensions
            // The axis of the prototypes has as many elements as a row has values in addition to box and classes.
            let numbers = [first - 4 - classes, last - 5 - classes, last - 6]
            if let count = [extents[1], extents[3]].first(where: { (1...1_024).contains($0) && numbers.contains($0) }) {
                prototypes = (maps, count)
            }
        }
        return Table(port: port, first: first, last: last, prototypes: prototypes)
    }

    /// The layout, given the number of values of a row in addition to box and classes.
    private static func layout(
        of table: Table, _ classes: Int, extras: Int, _ head: Fact<ModelHead>, _ sheet: FactSheet, _ ports: OutputPorts
    ) -> BoxLayout? {
        let isYOLOv5 = table.last == 5 + classes + extras, isFinal = table.last == 6 + extras
        if isFinal, sheet.finalRows?.value == true { return .endToEnd }
        if table.first == 4 + classes + extras { return .yolov8 }
        if isYOLOv5, isFinal {
            // With one class, the number of rows decides.
            return rowsOfAnchors(ports.input).map { $0.contains(table.first) } ?? (head.value == .unspecifiedYOLO)
                ? .yolov5 : .endToEnd
        }
        return isYOLOv5 ? .yolov5 : isFinal ? .endToEnd : nil
    }

    /// The layout of turned boxes: the rows of all cells in columns, or final rows.
    private static func turnedLayout(of table: Table, _ classes: Int, _ sheet: FactSheet) -> BoxLayout? {
        let isFinal = table.last == 7, areCells = table.first == 5 + classes
        if isFinal, !areCells || sheet.finalRows?.value == true { return .turnedEndToEnd }
        return areCells ? .turned : nil
    }

    /// The numbers of rows of YOLOv5's heads: three for each cell of the strides 8, 16, 32, and also 64 in its larger
    /// models.
    private static func rowsOfAnchors(_ input: FactSize?) -> [Int]? {
        guard let input else { return nil }
        func rows(_ strides: [Int]) -> Int {
            strides.reduce(0) { $0 + 3 * (input.height / $1) * (input.width / $1) }
        }
        return [rows([8, 16, 32]), rows([8, 16, 32, 64])]
    }

    /// Exports to TensorFlow Lite have coordinates as fractions of the input's sides, and so do YOLOv5's exports to
    /// TensorFlow.
    private static func units(of table: Table, _ classes: Int, _ ports: OutputPorts) -> BoxUnits {
        if ports.isTFLite { return .fractions }
        guard ports.isTensorFlow else { return .pixels }
        let extras = table.prototypes?.count ?? 0
        return table.last == 5 + classes || table.last == 5 + classes + extras ? .fractions : .pixels
    }
}

/// The places of each row's numbers in a detector's outputs: settled from shapes alone, before there are values.
struct HeadPlan: Sendable {
    /// A ``Plane`` before it is bound to memory.
    struct Field: Sendable {
        let role: String
        /// The place among the role's tensors.
        var index = 0
        var offset = 0
        let rowStride: Int
        let step: Int
        let count: Int
    }

    /// Rows with the same strides.
    struct Level: Sendable {
        let rows: Int
        let boxes: Field
        let scores: Field
        var objectness: Field?
        var extras: Field?
        /// The row's own class, where the model names one (`yolo-end-to-end`, `tflite-detection` and their kin).
        var label: Field?
        /// A value below 0 marks the row behind the last one (`detection-output`).
        var end: Field?
        /// The prior of row r is `firstPrior + r * priorStep`.
        var firstPrior = 0
        var priorStep = 1
    }

    private(set) var levels: [Level] = []
    /// Classes without background.
    private(set) var classes = 0

    /// All rows of all levels.
    var rows: Int { levels.reduce(0) { $0 + $1.rows } }

    /// - Parameters:
    ///   - shapes: of the tensors of each role.
    ///   - classes: how many the labels name, without background; nil if there are none.
    init(
        _ decoding: BoxDecoding, shapes: [String: [[Int]]], width: Int, height: Int, classes: Int?
    ) throws(ObservationError) {
        for role in shapes.keys.sorted() {
            for shape in shapes[role] ?? [] {
                guard let count = OutputTensor.count(of: shape), count <= 1 << 31 else {
                    throw .unexpected(role: role, expected: "at most \(1 << 31) elements", found: "\(shape)")
                }
            }
        }
        switch decoding.layout {
        case .yolov5, .yolox: try single(decoding, shapes, objectness: 1, classes: classes)
        case .yolov8: try single(decoding, shapes, objectness: 0, classes: classes)
        case .endToEnd: try finished(decoding, shapes)
        case .tfliteDetection: try apart(shapes)
        case .detectionOutput: try detectionOutput(shapes)
        case .scoredBoxes: try scoredBoxes(shapes, classes: classes)
        case .ssd, .detr, .corners, .retinanet, .fcos:
            try pairs(decoding, shapes, width: width, height: height, classes: classes)
        }
        guard rows <= Int(Int32.max) else {
            throw .unexpected(role: "tensors", expected: "at most \(Int32.max) rows", found: "\(rows)")
        }
    }

    private static func shape(_ shapes: [String: [[Int]]], _ role: String, rank: Int) -> [Int] {
        OutputTensor.withoutBatch(shapes[role]?.first ?? [], rank: rank)
    }

    // MARK: One tensor

    private mutating func single(
        _ decoding: BoxDecoding, _ shapes: [String: [[Int]]], objectness: Int, classes: Int?
    ) throws(ObservationError) {
        let shape = Self.shape(shapes, "output", rank: 2)
        let fixed = 4 + objectness, background = decoding.background == .none ? 0 : 1
        let expected = classes.map { fixed + background + $0 + decoding.extras }
        let parts =
            "4 box\(objectness == 1 ? " + 1 objectness" : "")\(background == 1 ? " + 1 background" : "")"
            + " + \(classes.map(String.init) ?? "n") classes"
            + (decoding.extras > 0 ? " + \(decoding.extras) others" : "")
        let wanted =
            expected.map { "[1, \($0), rows] or [1, rows, \($0)] (\(parts))" } ?? "[1, values, rows] or the reverse"
        let found = "\(shapes["output"]?.first ?? [])"
        guard shape.count == 2, let first = shape.first, let last = shape.last, first > 0, last > 0 else {
            throw .unexpected(role: "output", expected: wanted, found: found)
        }
        let isColumns: Bool
        if let order = decoding.order {
            isColumns = order == .columns
        } else if let expected, (first == expected) != (last == expected) {
            isColumns = first == expected
        } else if expected == nil, first != last {
            isColumns = first < last
        } else {
            isColumns = objectness == 0
        }
        let values = isColumns ? first : last, rows = isColumns ? last : first
        let count = values - fixed - decoding.extras
        guard count > background, classes == nil || classes == count - background else {
            throw .unexpected(role: "output", expected: wanted, found: found)
        }
        self.classes = count - background
        func field(_ offset: Int, _ count: Int) -> Field {
            isColumns
                ? Field(role: "output", offset: offset * rows, rowStride: 1, step: rows, count: count)
                : Field(role: "output", offset: offset, rowStride: values, step: 1, count: count)
        }
        var level = Level(rows: rows, boxes: field(0, 4), scores: field(fixed, count))
        if objectness == 1 { level.objectness = field(4, 1) }
        if decoding.extras > 0 { level.extras = field(fixed + count, decoding.extras) }
        levels = [level]
    }

    private mutating func finished(
        _ decoding: BoxDecoding, _ shapes: [String: [[Int]]]
    ) throws(ObservationError) {
        let shape = Self.shape(shapes, "output", rank: 2)
        let values = 6 + decoding.extras
        guard shape.count == 2, let rows = shape.first, rows > 0, shape.last == values else {
            throw .unexpected(
                role: "output",
                expected:
                    "[1, rows, \(values)] (4 box, score, class\(decoding.extras > 0 ? ", \(decoding.extras) others" : ""))",
                found: "\(shapes["output"]?.first ?? [])")
        }
        func field(_ offset: Int, _ count: Int) -> Field {
            Field(role: "output", offset: offset, rowStride: values, step: 1, count: count)
        }
        self.classes = Self.mostClasses
        var level = Level(rows: rows, boxes: field(0, 4), scores: field(4, 1))
        level.label = field(5, 1)
        if decoding.extras > 0 { level.extras = field(6, decoding.extras) }
        levels = [level]
    }

    private mutating func detectionOutput(_ shapes: [String: [[Int]]]) throws(ObservationError) {
        let shape = Self.shape(shapes, "output", rank: 2)
        guard shape.count == 2, let rows = shape.first, rows > 0, shape.last == 7 else {
            throw .unexpected(
                role: "output", expected: "[1, 1, rows, 7] (picture, class, score, 4 box)",
                found: "\(shapes["output"]?.first ?? [])")
        }
        func field(_ offset: Int, _ count: Int) -> Field {
            Field(role: "output", offset: offset, rowStride: 7, step: 1, count: count)
        }
        classes = Self.mostClasses
        var level = Level(rows: rows, boxes: field(3, 4), scores: field(2, 1))
        level.label = field(1, 1)
        level.end = field(0, 1)
        levels = [level]
    }

    /// The classes that models put out as numbers may be more than there are labels: the number then stands for the label.
    private static let mostClasses = 1 << 20

    // MARK: Several tensors

    private mutating func apart(_ shapes: [String: [[Int]]]) throws(ObservationError) {
        let boxes = Self.shape(shapes, "boxes", rank: 2)
        guard boxes.count == 2, let rows = boxes.first, rows > 0, boxes.last == 4 else {
            throw .unexpected(role: "boxes", expected: "[1, rows, 4]", found: "\(shapes["boxes"]?.first ?? [])")
        }
        for role in ["classes", "scores"] where Self.shape(shapes, role, rank: 1) != [rows] {
            throw .unexpected(role: role, expected: "[1, \(rows)]", found: "\(shapes[role]?.first ?? [])")
        }
        if let count = shapes["count"]?.first, OutputTensor.count(of: count) != 1 {
            throw .unexpected(role: "count", expected: "one number", found: "\(count)")
        }
        self.classes = Self.mostClasses
        var level = Level(
            rows: rows, boxes: Field(role: "boxes", rowStride: 4, step: 1, count: 4),
            scores: Field(role: "scores", rowStride: 1, step: 1, count: 1))
        level.label = Field(role: "classes", rowStride: 1, step: 1, count: 1)
        levels = [level]
    }

    private mutating func scoredBoxes(_ shapes: [String: [[Int]]], classes: Int?) throws(ObservationError) {
        let boxes = Self.shape(shapes, "boxes", rank: 2)
        guard boxes.count == 2, let rows = boxes.first, rows > 0, boxes.last == 5 else {
            throw .unexpected(
                role: "boxes", expected: "[1, rows, 5] (4 box, score)", found: "\(shapes["boxes"]?.first ?? [])")
        }
        var level = Level(
            rows: rows, boxes: Field(role: "boxes", rowStride: 5, step: 1, count: 4),
            scores: Field(role: "boxes", offset: 4, rowStride: 5, step: 1, count: 1))
        // Without a tensor of classes all boxes are of the first one.
        self.classes = classes ?? 1
        if shapes["classes"]?.isEmpty == false {
            guard Self.shape(shapes, "classes", rank: 1) == [rows] else {
                throw .unexpected(
                    role: "classes", expected: "[1, \(rows)]", found: "\(shapes["classes"]?.first ?? [])")
            }
            self.classes = Self.mostClasses
            level.label = Field(role: "classes", rowStride: 1, step: 1, count: 1)
        }
        levels = [level]
    }

    private mutating func pairs(
        _ decoding: BoxDecoding, _ shapes: [String: [[Int]]], width: Int, height: Int, classes: Int?
    ) throws(ObservationError) {
        let scores = shapes["scores"] ?? [], boxes = shapes["boxes"] ?? [], centers = shapes["centerness"]
        guard !scores.isEmpty, scores.count == boxes.count, centers == nil || centers?.count == scores.count else {
            throw .unexpected(
                role: "boxes", expected: "as many tensors as \"scores\": \(scores.count)", found: "\(boxes.count)")
        }
        let points = decoding.layout == .fcos && decoding.extras > 0 ? shapes["points"] ?? [] : nil
        if let points, points.count != scores.count {
            throw .unexpected(
                role: "points", expected: "as many tensors as \"scores\": \(scores.count)", found: "\(points.count)")
        }
        let background = decoding.background == .none ? 0 : 1
        let expected = classes.map { $0 + background }
        var firstPrior = 0
        for index in scores.indices {
            let dense = OutputTensor.withoutBatch(boxes[index], rank: 2)
            // Channels last, a map of a single row of cells looks like a table.
            let isOneRow = boxes[index].count == 4 && dense.count == 2 && dense.first != 1 && dense.last != 4
            if dense.count == 3 || isOneRow {
                if points != nil {
                    throw .unexpected(
                        role: "points", expected: "rows of boxes, [rows, 4]", found: "a map \(boxes[index])")
                }
                try map(
                    decoding, scores: scores[index], boxes: boxes[index], center: centers?[index], index: index,
                    expected: expected, width: width, height: height, firstPrior: &firstPrior)
                continue
            }
            // Caffe's detectors put out flat vectors.
            let isFlat = dense.count == 1 || dense.first == 1 && dense.last != 4
            let number = isFlat ? (dense.last ?? 0) / 4 : dense.first ?? 0
            guard number > 0, dense.count <= 2, dense.reduce(1, *) == number * 4 else {
                throw .unexpected(role: "boxes", expected: "[1, rows, 4]", found: "\(boxes[index])")
            }
            guard let total = OutputTensor.count(of: scores[index]), total % number == 0, total > 0,
                expected == nil || expected == total / number
            else {
                throw .unexpected(
                    role: "scores", expected: "[1, \(number), \(expected.map(String.init) ?? "classes")]",
                    found: "\(scores[index])")
            }
            let count = total / number
            try settle(count - background, scores[index])
            var level = Level(
                rows: number, boxes: Field(role: "boxes", index: index, rowStride: 4, step: 1, count: 4),
                scores: Field(role: "scores", index: index, rowStride: count, step: 1, count: count))
            if let center = centers?[index] {
                guard OutputTensor.count(of: center) == number else {
                    throw .unexpected(role: "centerness", expected: "[1, \(number), 1]", found: "\(center)")
                }
                level.objectness = Field(role: "centerness", index: index, rowStride: 1, step: 1, count: 1)
            }
            if let points = points?[index] {
                guard OutputTensor.withoutBatch(points, rank: 2) == [number, decoding.extras] else {
                    throw .unexpected(
                        role: "points", expected: "[1, \(number), \(decoding.extras)]", found: "\(points)")
                }
                level.extras = Field(
                    role: "points", index: index, rowStride: decoding.extras, step: 1, count: decoding.extras)
            }
            level.firstPrior = firstPrior
            firstPrior += number
            levels.append(level)
        }
    }

    private mutating func settle(_ count: Int, _ shape: [Int]) throws(ObservationError) {
        guard count > 0, classes == 0 || classes == count else {
            throw .unexpected(
                role: "scores", expected: classes == 0 ? "a class besides background" : "\(classes) classes",
                found: "\(shape)")
        }
        classes = count
    }

    /// Feature maps as convolutions put them out: `[1, anchors * classes, h, w]`, or channels last.
    private mutating func map(
        _ decoding: BoxDecoding, scores: [Int], boxes: [Int], center: [Int]?, index: Int, expected: Int?, width: Int,
        height: Int, firstPrior: inout Int
    ) throws(ObservationError) {
        let stride: Int?, anchors: Int
        if case .grid(let grid)? = decoding.priors, decoding.layout != .fcos {
            stride = index < grid.count ? grid[index].stride : nil
            anchors = index < grid.count ? grid[index].boxes.count : 0
        } else {
            stride = index < decoding.strides.count ? decoding.strides[index] : nil
            anchors = decoding.layout == .fcos ? decoding.anchors : 1
        }
        guard let stride, stride > 0, anchors > 0 else {
            throw .unexpected(role: "boxes", expected: "a stride for each level", found: "none for level \(index + 1)")
        }
        let down = PriorBoxes.cells(height, stride), across = PriorBoxes.cells(width, stride)
        let (cells, overflow) = down.multipliedReportingOverflow(by: across)
        let shape = OutputTensor.withoutBatch(boxes, rank: 3), scoreShape = OutputTensor.withoutBatch(scores, rank: 3)
        // Where there are as many cells as channels, the scores tell the order of the axes.
        let isFirst =
            shape == [anchors * 4, down, across]
            && !(shape == [down, across, anchors * 4] && Array(scoreShape.dropFirst()) != [down, across])
        guard !overflow, scoreShape.count == 3, isFirst || shape == [down, across, anchors * 4] else {
            throw .unexpected(
                role: "boxes", expected: "[1, \(anchors * 4), \(down), \(across)] (stride \(stride)) or channels last",
                found: "\(boxes)")
        }
        let channels = isFirst ? scoreShape[0] : scoreShape[2]
        guard (isFirst ? Array(scoreShape[1...]) : Array(scoreShape[..<2])) == [down, across], channels % anchors == 0,
            expected == nil || expected == channels / anchors
        else {
            throw .unexpected(
                role: "scores",
                expected: "\(anchors) x \(expected.map(String.init) ?? "n") channels of \(down) x \(across)",
                found: "\(scores)")
        }
        let count = channels / anchors
        try settle(count - (decoding.background == .none ? 0 : 1), scores)
        if let center, OutputTensor.count(of: center) != cells || anchors != 1 {
            throw .unexpected(
                role: "centerness", expected: "[1, 1, \(down), \(across)], with one row for each cell",
                found: "\(center)")
        }
        for anchor in 0..<anchors {
            func field(_ role: String, _ count: Int) -> Field {
                isFirst
                    ? Field(
                        role: role, index: index, offset: anchor * count * cells, rowStride: 1, step: cells,
                        count: count)
                    : Field(
                        role: role, index: index, offset: anchor * count, rowStride: anchors * count, step: 1,
                        count: count)
            }
            var level = Level(rows: cells, boxes: field("boxes", 4), scores: field("scores", count))
            if center != nil {
                level.objectness = Field(role: "centerness", index: index, rowStride: 1, step: 1, count: 1)
            }
            level.firstPrior = firstPrior + anchor
            level.priorStep = anchors
            levels.append(level)
        }
        firstPrior += cells * anchors
    }
}

extension HeadPlan.Field {
    /// The numbers themselves; nil if the tensor is not there, or is smaller than planned.
    func plane(in tensors: [String: [OutputTensor]], rows: Int) -> Plane? {
        guard let role = tensors[role], index < role.count else { return nil }
        return Plane(role[index], offset: offset, rows: rows, rowStride: rowStride, count: count, step: step)
    }
}

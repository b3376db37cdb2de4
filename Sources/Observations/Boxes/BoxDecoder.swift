#if canImport(Glibc)
    internal import Glibc
#else
    internal import Musl
#endif

/// The options of one request to a detector, in place of what its bundle says.
package struct BoxOptions: Sendable, Hashable {
    package var threshold: Float?
    package var iou: Float?
    /// The most detections, at least 1.
    package var most: Int?
    /// The classes that are wanted; nil for all.
    package var classes: Set<Int>?

    /// The options of the bundle.
    package init() {}
}

/// Reads a detector's outputs: candidates over the threshold first, then their boxes, then suppression.
package struct BoxDecoder: Sendable {
    package let decoding: BoxDecoding
    /// The number of classes, without background.
    package var classes: Int { plan.classes }
    /// The size of the input tensor in pixels.
    package let width: Int, height: Int

    private let plan: HeadPlan
    /// The number for nothing, of models that put out classes as numbers.
    private let nothing: Int?
    /// Centre x, centre y, width and height of each prior, in pixels; for grids without sizes centre and stride.
    private let priors: [Float]

    /// The most boxes that suppression is done for: the best ones.
    package static let mostCandidates = 10_000

    /// Prepares decoding of outputs of these shapes.
    ///
    /// - Parameters:
    ///   - shapes: of the tensors of each role (``BoxLayout/roles``), several where the layout has levels.
    ///   - width: of the input tensor in pixels, as `height`.
    ///   - classes: how many labels there are, background not counted; nil if none are known.
    /// - Throws: `unexpected` for the first tensor whose shape does not fit.
    package init(
        _ decoding: BoxDecoding, shapes: [String: [[Int]]], width: Int, height: Int, classes: Int?
    ) throws(ObservationError) {
        var decoding = decoding
        if decoding.layout == .retinanet, decoding.priors == nil { decoding.priors = .retinanet }
        self.decoding = decoding
        self.width = width
        self.height = height
        plan = try HeadPlan(decoding, shapes: shapes, width: width, height: height, classes: classes)
        nothing =
            switch decoding.background {
            case .none: nil
            case .first: 0
            case .last: classes
            }
        switch decoding.layout {
        case .yolox, .fcos:
            let isFCOS = decoding.layout == .fcos
            priors = try Self.layOut(
                .grid(
                    decoding.strides.map { stride in
                        let cell = [Float(stride), Float(stride)]
                        return PriorBoxes.Level(
                            stride: stride, boxes: [[Float]](repeating: cell, count: isFCOS ? decoding.anchors : 1),
                            offset: isFCOS ? decoding.offset : 0)
                    }), rows: plan.rows, width: width, height: height)
        case .ssd, .retinanet:
            if let given = decoding.priors {
                priors = try Self.layOut(given, rows: plan.rows, width: width, height: height)
            } else {
                priors = []
                try Self.check(shapes["priors"]?.first, rows: plan.rows)
            }
        default: priors = []
        }
    }

    private static func layOut(
        _ boxes: PriorBoxes, rows: Int, width: Int, height: Int
    ) throws(ObservationError) -> [Float] {
        let count = boxes.count(width: width, height: height)
        guard count == rows else {
            throw .unexpected(
                role: "boxes", expected: "\(count.map(String.init) ?? "a supported number of") rows, as many as priors",
                found: "\(rows)")
        }
        return boxes.pixels(width: width, height: height)
    }

    /// Priors that are a tensor: `[n, 4]`, or with variances `[2, n * 4]`.
    private static func check(_ shape: [Int]?, rows: Int) throws(ObservationError) {
        guard let shape else {
            throw .unexpected(role: "priors", expected: "\"priors\", or a tensor that holds them", found: "neither")
        }
        let count = OutputTensor.count(of: shape)
        guard count == rows * 4 || count == rows * 8 else {
            throw .unexpected(role: "priors", expected: "[1, \(rows), 4] or [1, 2, \(rows * 4)]", found: "\(shape)")
        }
    }

    // MARK: Decoding

    /// The detections in the outputs of one picture, the most confident first.
    ///
    /// - Parameters:
    ///   - tensors: by role, of the shapes that the decoder was made for.
    ///   - isCancelled: asked regularly; true ends the call with `cancelled`.
    package func detections(
        in tensors: [String: [OutputTensor]], options: BoxOptions = BoxOptions(), isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> [Detection] {
        let levels = try bind(tensors)
        var candidates = Candidates(most: Self.mostCandidates)
        // What is past the end is not wanted. Numbers come from requests: the largest has no successor.
        let wanted = options.classes.map { asked in
            var wanted = [Bool](repeating: false, count: max(0, min(asked.max() ?? 0, classes - 1)) + 1)
            for index in asked where wanted.indices.contains(index) { wanted[index] = true }
            return wanted
        }
        let threshold = options.threshold ?? decoding.threshold
        let scan = ScoreScan(decoding, threshold: threshold, wanted: wanted)
        var firstRow = 0
        for level in levels {
            if let label = level.label {
                finished(
                    level, labels: label, rows: min(level.rows, count(in: tensors)), firstRow: firstRow,
                    threshold: threshold, wanted: wanted, into: &candidates)
            } else {
                try scan.scan(
                    scores: level.scores, objectness: level.objectness, rows: level.rows, firstRow: firstRow,
                    into: &candidates, isCancelled: isCancelled)
            }
            firstRow += level.rows
        }
        let priors = try priors(in: tensors)
        return try suppress(candidates.sorted(), levels, priors, options, isCancelled)
    }

    /// Adds the rows of a model that puts out classes as numbers.
    private func finished(
        _ level: Bound, labels: Plane, rows: Int, firstRow: Int, threshold: Float, wanted: [Bool]?,
        into candidates: inout Candidates
    ) {
        let shift = decoding.background == .first ? 1 : 0
        for row in 0..<rows {
            if let end = level.end, end[row, 0] < 0 { break }
            let raw = level.scores[row, 0], label = labels[row, 0].rounded()
            let score = decoding.scores == .sigmoid ? ScoreScan.sigmoid(raw) : raw
            // Rows of zeros are room that was not needed.
            guard score >= threshold, score > 0, label >= 0, label < Float(classes), let number = Int(exactly: label),
                number != nothing
            else { continue }
            let index = number - shift
            if let wanted, index >= wanted.count || !wanted[index] { continue }
            candidates.add(score, row: firstRow + row, label: index)
        }
    }

    /// A level with its memory.
    private struct Bound {
        let rows: Int
        let boxes: Plane, scores: Plane
        let objectness: Plane?, extras: Plane?, label: Plane?, end: Plane?
        let firstPrior: Int, priorStep: Int
    }

    private func bind(_ tensors: [String: [OutputTensor]]) throws(ObservationError) -> [Bound] {
        var bound: [Bound] = []
        for level in plan.levels {
            func plane(_ field: HeadPlan.Field) throws(ObservationError) -> Plane {
                guard let plane = field.plane(in: tensors, rows: level.rows) else {
                    throw .unexpected(
                        role: field.role, expected: "the planned shape",
                        found: "\(tensors[field.role]?.map(\.shape) ?? [])")
                }
                return plane
            }
            var objectness: Plane?, extras: Plane?, label: Plane?, end: Plane?
            if let field = level.objectness { objectness = try plane(field) }
            if let field = level.extras { extras = try plane(field) }
            if let field = level.label { label = try plane(field) }
            if let field = level.end { end = try plane(field) }
            bound.append(
                Bound(
                    rows: level.rows, boxes: try plane(level.boxes), scores: try plane(level.scores),
                    objectness: objectness, extras: extras, label: label, end: end, firstPrior: level.firstPrior,
                    priorStep: level.priorStep))
        }
        return bound
    }

    /// The number of rows that the model says are valid.
    private func count(in tensors: [String: [OutputTensor]]) -> Int {
        guard let value = tensors["count"]?.first?.values.first else { return .max }
        return value >= 1 ? Int(min(value, 1e9)) : 0
    }

    // MARK: Priors

    /// Priors in pixels, and their variances.
    private struct BoundPriors {
        var boxes: UnsafeBufferPointer<Float>?
        /// One set for all, or one for each.
        var variances: UnsafeBufferPointer<Float>?
        /// The factors that the boxes are multiplied by: a tensor's are fractions.
        var scaleX: Float = 1, scaleY: Float = 1
        /// True if a tensor's boxes are corners.
        var areCorners = false
    }

    private func priors(in tensors: [String: [OutputTensor]]) throws(ObservationError) -> BoundPriors {
        var bound = BoundPriors()
        guard decoding.layout == .ssd, priors.isEmpty, let tensor = tensors["priors"]?.first else { return bound }
        try Self.check(tensor.shape, rows: plan.rows)
        let boxes = plan.rows * 4
        bound.boxes = UnsafeBufferPointer(rebasing: tensor.values[..<boxes])
        if tensor.values.count == 2 * boxes {
            // Caffe's PriorBox: corners, then a set of variances for each.
            bound.variances = UnsafeBufferPointer(rebasing: tensor.values[boxes...])
            bound.areCorners = true
        }
        bound.scaleX = Float(width)
        bound.scaleY = Float(height)
        return bound
    }

    private func prior(_ place: Int, _ bound: BoundPriors) -> (x: Float, y: Float, width: Float, height: Float) {
        let first = place * 4
        guard let boxes = bound.boxes else {
            guard first >= 0, first + 3 < priors.count else { return (0, 0, 0, 0) }
            return (priors[first], priors[first + 1], priors[first + 2], priors[first + 3])
        }
        guard first >= 0, first + 3 < boxes.count else { return (0, 0, 0, 0) }
        let (a, b) = (boxes[first] * bound.scaleX, boxes[first + 1] * bound.scaleY)
        let (c, d) = (boxes[first + 2] * bound.scaleX, boxes[first + 3] * bound.scaleY)
        return bound.areCorners ? ((a + c) / 2, (b + d) / 2, c - a, d - b) : (a, b, c, d)
    }

    private func variance(_ place: Int, _ element: Int, _ bound: BoundPriors) -> Float {
        if let own = bound.variances, place * 4 + element < own.count { return own[place * 4 + element] }
        return decoding.variances.count == 4 ? decoding.variances[element] : 1
    }

    // MARK: Boxes

    /// Sizes are powers of e; beyond this many times a prior's, they are cut (torchvision's bound is the same: 1000 / 16).
    private static let largestExponent: Float = 4.135_166_6

    private func box(_ row: Int, _ level: Bound, _ priors: BoundPriors) -> Box? {
        let boxes = level.boxes
        let (a, b, c, d) = (boxes[row, 0], boxes[row, 1], boxes[row, 2], boxes[row, 3])
        let place = level.firstPrior + row * level.priorStep
        switch decoding.layout {
        case .yolox:
            let prior = prior(place, priors)
            return Self.centered(
                prior.x + a * prior.width, prior.y + b * prior.height, exp(c) * prior.width, exp(d) * prior.height)
        case .fcos:
            let prior = prior(place, priors)
            let scale = decoding.units == .pixels ? 1 : prior.width
            return Box(
                left: prior.x - a * scale, top: prior.y - b * scale, right: prior.x + c * scale,
                bottom: prior.y + d * scale
            ).bounded
        case .ssd, .retinanet:
            let prior = prior(place, priors)
            // Offsets of TensorFlow's models begin with y.
            let (x, y, w, h) = decoding.form == .centersYX ? (b, a, d, c) : (a, b, c, d)
            func size(_ value: Float, _ element: Int) -> Float {
                let exponent = value * variance(place, element, priors)
                return exp(decoding.layout == .retinanet ? min(exponent, Self.largestExponent) : exponent)
            }
            return Self.centered(
                prior.x + x * variance(place, 0, priors) * prior.width,
                prior.y + y * variance(place, 1, priors) * prior.height,
                size(w, 2) * prior.width, size(h, 3) * prior.height)
        default:
            let scaleX = decoding.units == .fractions ? Float(width) : 1
            let scaleY = decoding.units == .fractions ? Float(height) : 1
            switch decoding.form {
            case .centers: return Self.centered(a * scaleX, b * scaleY, c * scaleX, d * scaleY)
            case .centersYX: return Self.centered(b * scaleX, a * scaleY, d * scaleX, c * scaleY)
            case .corners: return Box(left: a * scaleX, top: b * scaleY, right: c * scaleX, bottom: d * scaleY).bounded
            case .cornersYX:
                return Box(left: b * scaleX, top: a * scaleY, right: d * scaleX, bottom: c * scaleY).bounded
            case .topLeft:
                return Box(left: a * scaleX, top: b * scaleY, right: (a + c) * scaleX, bottom: (b + d) * scaleY).bounded
            }
        }
    }

    /// Points as distances from the point of a cell, x and y in turn, become pixels.
    private func locate(_ points: inout [Float], prior: Int) {
        let cell = self.prior(prior, BoundPriors())
        let scale = decoding.units == .pixels ? 1 : cell.width
        for index in points.indices { points[index] = (index & 1 == 0 ? cell.x : cell.y) + points[index] * scale }
    }

    private static func centered(_ x: Float, _ y: Float, _ width: Float, _ height: Float) -> Box? {
        Box(left: x - width / 2, top: y - height / 2, right: x + width / 2, bottom: y + height / 2).bounded
    }

    // MARK: Suppression

    private func suppress(
        _ candidates: [Candidate], _ levels: [Bound], _ priors: BoundPriors, _ options: BoxOptions,
        _ isCancelled: () -> Bool
    ) throws(ObservationError) -> [Detection] {
        var starts: [Int] = []
        var next = 0
        for level in levels {
            starts.append(next)
            next += level.rows
        }
        var boxes: [Box] = []
        var chosen: [(candidate: Candidate, level: Int, row: Int)] = []
        boxes.reserveCapacity(candidates.count)
        chosen.reserveCapacity(candidates.count)
        for candidate in candidates {
            let row = Int(candidate.row)
            guard let level = starts.lastIndex(where: { $0 <= row }) else { continue }
            guard let box = box(row - starts[level], levels[level], priors) else { continue }
            boxes.append(box)
            chosen.append((candidate, level, row - starts[level]))
        }
        let most = max(1, min(options.most ?? decoding.maxDetections, decoding.maxDetections))
        let survivors: [Int]
        switch decoding.suppression {
        case .none: survivors = Array(boxes.indices.prefix(most))
        case .perClass, .all:
            survivors = try Suppression.survivors(
                of: boxes, labels: decoding.suppression == .all ? nil : chosen.map(\.candidate.label),
                iou: options.iou ?? decoding.iou, most: most, mostOfClass: decoding.maxDetectionsOfClass,
                isCancelled: isCancelled)
        }
        return survivors.map { place in
            let (candidate, level, row) = chosen[place]
            var extras: [Float] = []
            if let plane = levels[level].extras { extras = (0..<plane.count).map { plane[row, $0] } }
            if decoding.layout == .fcos {
                locate(&extras, prior: levels[level].firstPrior + row * levels[level].priorStep)
            }
            return Detection(
                box: boxes[place], index: Int(candidate.label), confidence: candidate.score, extras: extras,
                row: Int(candidate.row))
        }
    }
}

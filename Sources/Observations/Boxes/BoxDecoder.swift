/// The options of one request to a detector, which override those of its bundle.
package struct BoxOptions: Sendable, Hashable {
    package var threshold: Float?, iou: Float?
    /// The maximum number of detections, at least 1; the classes to report (nil: all).
    package var maximum: Int?, classes: Set<Int>?
    /// True if no detection may be missing: limits on their number are ignored, and an unreadable detection is an
    /// error.
    package var needsAll = false

    /// The options of the bundle.
    package init() {}
}

/// Decodes a detector's outputs: finds candidates over the threshold, computes their boxes, then suppresses.
package struct BoxDecoder: Sendable {
    package let decoding: BoxDecoding
    /// The number of classes, without background.
    package var classes: Int { plan.classes }
    /// The size of the input tensor in pixels.
    package let width: Int, height: Int

    private let plan: HeadPlan
    /// The class number that means background, for models that output class numbers.
    private let nothing: Int?
    /// True if a row has the four numbers of a decoded box.
    private let isPlain: Bool
    /// The priors, if no tensor of the model holds them, and the factors of offsets.
    private let priors: [Prior], variances: SIMD4<Float>

    /// The maximum number of candidates for suppression; the best ones are kept.
    package static let maximumCandidates = 10_000

    /// Prepares to decode tensors of these shapes, by role (``BoxDecoding/roles``), with one shape for each level.
    /// `classes`: the number of labels without background; nil if it is not known. Throws `unexpected` if a tensor does
    /// not fit.
    package init(
        _ decoding: BoxDecoding, shapes: [String: [[Int]]], width: Int, height: Int, classes: Int?
    ) throws(ObservationError) {
        (self.decoding, self.width, self.height) = (decoding, width, height)
        plan = try HeadPlan(decoding, shapes: shapes, width: width, height: height, classes: classes)
        nothing = decoding.background == .none ? nil : decoding.background == .first ? 0 : classes
        isPlain = decoding.coding.kind == .boxes && plan.levels.allSatisfy { $0.sizes == nil }
        variances = decoding.variances.count == 4 ? SIMD4(decoding.variances) : SIMD4(repeating: 1)
        let grid = decoding.grid
        guard decoding.coding.kind != .boxes, let boxes = decoding.priors ?? (grid.isEmpty ? nil : .grid(grid)) else {
            priors = []
            if decoding.coding.kind != .boxes { try Self.check(shapes["priors"]?.first, rows: plan.rows) }
            return
        }
        let count = boxes.count(width: width, height: height)
        guard count == plan.rows else {
            throw .unexpected(
                role: "boxes", expected: "\(count.map(String.init) ?? "a supported number of") rows, as many as priors",
                found: "\(plan.rows)")
        }
        priors = boxes.pixels(width: width, height: height)
    }

    /// Checks the shape of a tensor of priors: `[n, 4]`, or with variances `[2, n * 4]`.
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

    /// Decodes the outputs of one picture, by role, with the shapes passed to `init`: the most confident detection
    /// first. `isCancelled` is called regularly; if it returns true, throws `cancelled`.
    package func detections(
        in tensors: [String: [OutputTensor]], options: BoxOptions = BoxOptions(), isCancelled: () -> Bool = { false }
    ) throws(ObservationError) -> [Detection] {
        let levels = try bound(tensors)
        var candidates = Candidates(maximum: Self.maximumCandidates)
        // Classes beyond the end of `requestedClasses` are not wanted. Requests choose the numbers, and Int.max + 1
        // would overflow.
        let requestedClasses = options.classes.map { requested in
            var requestedClasses = [Bool](repeating: false, count: max(0, min(requested.max() ?? 0, classes - 1)) + 1)
            for index in requested where requestedClasses.indices.contains(index) { requestedClasses[index] = true }
            return requestedClasses
        }
        let threshold = options.threshold ?? decoding.threshold
        let scan = ScoreScan(decoding, threshold: threshold, requestedClasses: requestedClasses)
        for level in levels {
            if let label = level.label {
                finished(level, labels: label, count(in: tensors), scan, into: &candidates)
            } else {
                try scan.scan(
                    scores: level.scores, objectness: level.objectness, rows: level.rows, firstRow: level.firstRow,
                    into: &candidates, isCancelled: isCancelled)
            }
        }
        if candidates.hasNaN { throw .notNumbers(role: "scores") }
        if options.needsAll, !candidates.isComplete { throw .tooMany(limit: Self.maximumCandidates) }
        return try suppress(candidates.sorted(), levels, priors(in: tensors), options, isCancelled)
    }

    /// Adds the rows of a model that outputs class numbers.
    private func finished(
        _ level: Bound, labels: Plane, _ count: Int, _ scan: ScoreScan, into candidates: inout Candidates
    ) {
        let shift = decoding.background == .first ? 1 : 0
        for row in 0..<min(level.rows, count) {
            if let end = level.end, end[row, 0] < 0 { break }
            let score = scan.probability(level.scores[row, 0]), label = labels[row, 0].rounded()
            if score.isNaN || label.isNaN && score >= scan.threshold { candidates.hasNaN = true }
            // Rows of zeros are unused.
            guard score >= scan.threshold, score > 0, label >= 0, label < Float(classes),
                let number = Int(exactly: label), number != nothing
            else { continue }
            scan.add(score, level.firstRow + row, number - shift, &candidates)
        }
    }

    /// A level bound to memory. `firstRow` is the index of its first row among all levels; `sizes` is set only if sizes
    /// have a tensor of their own.
    private struct Bound {
        let rows: Int, across: Int, firstPrior: Int, priorStep: Int, firstRow: Int
        let boxes: Plane, scores: Plane
        let sizes: Plane?, objectness: Plane?, angles: Plane?, extras: Plane?, label: Plane?, end: Plane?
    }

    private func bound(_ tensors: [String: [OutputTensor]]) throws(ObservationError) -> [Bound] {
        let given = plan.roles.map { tensors[$0] ?? [] }
        var levels: [Bound] = []
        levels.reserveCapacity(plan.levels.count)
        var firstRow = 0
        for level in plan.levels {
            func plane(_ field: HeadPlan.Field?) throws(ObservationError) -> Plane? {
                guard let field else { return nil }
                if field.index < given[field.role].count,
                    let plane = field.plane(given[field.role][field.index], rows: level.rows)
                {
                    return plane
                }
                throw .unexpected(
                    role: plan.roles[field.role], expected: "the planned shape",
                    found: "\(given[field.role].map(\.shape))")
            }
            guard let boxes = try plane(level.boxes), let scores = try plane(level.scores) else {
                throw .unexpected(role: "tensors", expected: "boxes and scores", found: "not both")
            }
            levels.append(
                Bound(
                    rows: level.rows, across: level.across, firstPrior: level.firstPrior, priorStep: level.priorStep,
                    firstRow: firstRow, boxes: boxes, scores: scores, sizes: try plane(level.sizes),
                    objectness: try plane(level.objectness), angles: try plane(level.angle),
                    extras: try plane(level.extras),
                    label: try plane(level.label), end: try plane(level.end)))
            firstRow += level.rows
        }
        return levels
    }

    /// The number of valid rows according to the model.
    private func count(in tensors: [String: [OutputTensor]]) -> Int {
        guard let value = tensors["count"]?.first?.values.first else { return .max }
        return value >= 1 ? Int(min(value, 1e9)) : 0
    }

    // MARK: Priors

    /// Priors from a tensor, in fractions of the input's sides: boxes, or Caffe's corners with variances for each.
    private struct TensorPriors {
        let boxes: UnsafeBufferPointer<Float>, variances: UnsafeBufferPointer<Float>?
    }

    private func priors(in tensors: [String: [OutputTensor]]) throws(ObservationError) -> TensorPriors? {
        guard decoding.coding.kind != .boxes, priors.isEmpty, let tensor = tensors["priors"]?.first else { return nil }
        try Self.check(tensor.shape, rows: plan.rows)
        let count = plan.rows * 4
        return TensorPriors(
            boxes: UnsafeBufferPointer(rebasing: tensor.values[..<count]),
            variances: tensor.values.count == count ? nil : UnsafeBufferPointer(rebasing: tensor.values[count...]))
    }

    private func prior(_ place: Int, _ tensor: TensorPriors?) -> (prior: Prior, variances: SIMD4<Float>) {
        guard let tensor else { return (priors.indices.contains(place) ? priors[place] : Prior(), variances) }
        let boxes = tensor.boxes, first = place * 4, across = Float(width), down = Float(height)
        guard first >= 0, first + 3 < boxes.count else { return (Prior(), variances) }
        let (a, b, c, d) = (
            boxes[first] * across, boxes[first + 1] * down, boxes[first + 2] * across, boxes[first + 3] * down
        )
        guard let own = tensor.variances else { return (Prior(x: a, y: b, width: c, height: d), variances) }
        return (
            Prior(x: (a + c) / 2, y: (b + d) / 2, width: c - a, height: d - b),
            SIMD4(own[first], own[first + 1], own[first + 2], own[first + 3])
        )
    }

    /// The unit of centers and points.
    private func unit(_ prior: Prior) -> (x: Float, y: Float) {
        decoding.coding.inCells && prior.cell > 0 ? (prior.cell, prior.cell) : (prior.width, prior.height)
    }

    // MARK: Boxes

    /// - Parameter place: the index of the prior.
    private func box(_ row: Int, _ boxes: Plane, _ sizes: Plane?, _ place: Int, _ tensor: TensorPriors?) -> Box? {
        if isPlain { return finished(boxes[row, 0], boxes[row, 1], boxes[row, 2], boxes[row, 3]) }
        let (a, b, c, d) = numbers(row, boxes, sizes)
        switch decoding.coding.kind {
        case .boxes: return finished(a, b, c, d)
        case .distances:
            let (prior, _) = prior(place, tensor)
            return Box(
                left: prior.x - a * prior.width, top: prior.y - b * prior.height, right: prior.x + c * prior.width,
                bottom: prior.y + d * prior.height
            ).bounded
        case .offsets:
            let (prior, variances) = prior(place, tensor), unit = unit(prior)
            let whole = decoding.coding.ofPicture ? (Float(width), Float(height)) : (prior.width, prior.height)
            // Offsets of TensorFlow's models begin with y.
            let (x, y, w, h) = decoding.form == .centersYX ? (b, a, d, c) : (a, b, c, d)
            return Self.centered(
                prior.x + center(x, variances[0]) * unit.x, prior.y + center(y, variances[1]) * unit.y,
                size(w, variances[2]) * whole.0, size(h, variances[3]) * whole.1)
        }
    }

    private func center(_ value: Float, _ variance: Float) -> Float {
        switch decoding.coding.centers {
        case .linear: return value * variance
        case .tanh: return ScoreScan.tangent(value)
        case .sigmoid:
            let scale = decoding.coding.centerScale
            return ScoreScan.sigmoid(value) * scale - (scale - 1) / 2
        }
    }

    private func size(_ value: Float, _ variance: Float) -> Float {
        switch decoding.coding.sizes {
        case .exponential: return ScoreScan.exponential(min(value * variance, decoding.coding.largestExponent))
        case .linear: return value * variance
        case .sigmoid: return ScoreScan.sigmoid(value)
        case .squaredSigmoid:
            let double = 2 * ScoreScan.sigmoid(value)
            return double * double
        }
    }

    /// The four numbers of a row as the model outputs them; for distributions, their means.
    private func numbers(_ row: Int, _ boxes: Plane, _ sizes: Plane?) -> (Float, Float, Float, Float) {
        let bins = decoding.coding.bins
        if bins > 1 {
            func mean(_ side: Int) -> Float {
                var highest = -Float.infinity, sum: Float = 0, weighted: Float = 0
                for bin in 0..<bins { highest = max(highest, boxes[row, side * bins + bin]) }
                for bin in 0..<bins {
                    let share = ScoreScan.exponential(boxes[row, side * bins + bin] - highest)
                    sum += share
                    weighted += share * Float(bin)
                }
                return weighted / sum
            }
            return (mean(0), mean(1), mean(2), mean(3))
        }
        if let sizes { return (boxes[row, 0], boxes[row, 1], sizes[row, 0], sizes[row, 1]) }
        return (boxes[row, 0], boxes[row, 1], boxes[row, 2], boxes[row, 3])
    }

    private func finished(_ a: Float, _ b: Float, _ c: Float, _ d: Float) -> Box? {
        let across = decoding.units == .fractions ? Float(width) : 1
        let down = decoding.units == .fractions ? Float(height) : 1
        switch decoding.form {
        case .centers: return Self.centered(a * across, b * down, c * across, d * down)
        case .centersYX: return Self.centered(b * across, a * down, d * across, c * down)
        case .corners: return Box(left: a * across, top: b * down, right: c * across, bottom: d * down).bounded
        case .cornersYX: return Box(left: b * across, top: a * down, right: d * across, bottom: c * down).bounded
        case .topLeft:
            return Box(left: a * across, top: b * down, right: (a + c) * across, bottom: (b + d) * down).bounded
        }
    }

    private static func centered(_ x: Float, _ y: Float, _ width: Float, _ height: Float) -> Box? {
        Box(left: x - width / 2, top: y - height / 2, right: x + width / 2, bottom: y + height / 2).bounded
    }

    /// The extras of a row. Points relative to the prior are converted to pixels.
    private func extras(_ row: Int, _ plane: Plane, _ place: Int, _ tensor: TensorPriors?) -> [Float] {
        var extras = (0..<plane.count).map { plane[row, $0] }
        guard let points = decoding.points else { return extras }
        let (prior, _) = prior(place, tensor), unit = unit(prior)
        for first in stride(from: points.first, to: extras.count - points.order.count + 1, by: points.order.count) {
            let x = first + points.order.x, y = first + points.order.y
            extras[x] = prior.x + extras[x] * unit.x * points.scale
            extras[y] = prior.y + extras[y] * unit.y * points.scale
        }
        return extras
    }

    /// True if no neighbor of a map's cell has a greater score for the class.
    private func isPeak(_ row: Int, _ label: Int, _ level: Bound) -> Bool {
        let element = label + (decoding.background == .first ? 1 : 0), value = level.scores[row, element]
        let down = row / level.across, across = row % level.across
        for y in max(0, down - 1)...min(level.rows / level.across - 1, down + 1) {
            for x in max(0, across - 1)...min(level.across - 1, across + 1)
            where level.scores[y * level.across + x, element] > value {
                return false
            }
        }
        return true
    }

    // MARK: Suppression

    private func suppress(
        _ candidates: [Candidate], _ levels: [Bound], _ tensor: TensorPriors?, _ options: BoxOptions,
        _ isCancelled: () -> Bool
    ) throws(ObservationError) -> [Detection] {
        var boxes: [Box] = []
        var turned: [TurnedBox] = []
        var chosen: [(candidate: Candidate, level: Int, row: Int)] = []
        boxes.reserveCapacity(candidates.count)
        chosen.reserveCapacity(candidates.count)
        func place(_ row: Int, _ level: Int) -> Int { levels[level].firstPrior + row * levels[level].priorStep }
        let arePeaks = decoding.suppression == .peaks, clips = decoding.coding.clips
        for candidate in candidates {
            guard let level = levels.lastIndex(where: { $0.firstRow <= Int(candidate.row) }) else { continue }
            let row = Int(candidate.row) - levels[level].firstRow
            if arePeaks, !isPeak(row, Int(candidate.label), levels[level]) { continue }
            let places = levels[level].boxes
            guard var box = box(row, places, levels[level].sizes, place(row, level), tensor) else {
                throw .notNumbers(role: "boxes")
            }
            if clips { box = box.cut(width: Float(width), height: Float(height)) }
            if let angle = levels[level].angles?[row, 0] {
                guard angle.isFinite else { throw .notNumbers(role: "angles") }
                turned.append(TurnedBox(box, angle: angle))
            }
            boxes.append(box)
            chosen.append((candidate, level, row))
        }
        let limit = max(1, min(options.maximum ?? decoding.maxDetections, decoding.maxDetections))
        let maximum = options.needsAll ? Self.maximumCandidates : limit
        let maximumPerClass = options.needsAll ? nil : decoding.maxDetectionsOfClass
        let iou = options.iou ?? decoding.iou
        func detection(_ index: Int) -> Detection {
            let (candidate, level, row) = chosen[index]
            return Detection(
                box: boxes[index], index: Int(candidate.label), confidence: candidate.score,
                extras: levels[level].extras.map { extras(row, $0, place(row, level), tensor) } ?? [],
                row: Int(candidate.row), angle: levels[level].angles?[row, 0])
        }
        switch decoding.suppression {
        case .none, .peaks: return boxes.indices.prefix(maximum).map(detection)
        case .perClass, .all:
            let labels = decoding.suppression == .all ? nil : chosen.map(\.candidate.label)
            let kept =
                decoding.hasAngles
                ? try TurnedSuppression.survivors(
                    of: turned, labels: labels, iou: iou, maximum: maximum, maximumPerClass: maximumPerClass,
                    isCancelled: isCancelled)
                : try Suppression.survivors(
                    of: boxes, labels: labels, iou: iou, maximum: maximum, maximumPerClass: maximumPerClass,
                    isCancelled: isCancelled)
            return kept.map(detection)
        case .weighted:
            return try Suppression.means(
                of: boxes.indices.map(detection), iou: iou, maximum: maximum, isCancelled: isCancelled)
        }
    }
}

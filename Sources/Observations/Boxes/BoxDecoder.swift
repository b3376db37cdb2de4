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
    /// True if no detection may be missing: the limits of their number do not count, and one that cannot be read is an error.
    package var needsAll = false

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
    /// True if a row has the four numbers of a finished box.
    private let isPlain: Bool
    /// What boxes are counted from; none for finished boxes, and where a tensor of the model holds them.
    private let priors: [Prior]
    /// The factors of offsets.
    private let variances: SIMD4<Float>

    /// The most boxes that suppression is done for: the best ones.
    package static let mostCandidates = 10_000

    /// Prepares decoding of outputs of these shapes.
    ///
    /// - Parameters:
    ///   - shapes: of the tensors of each role (``BoxDecoding/roles``), several where there are levels.
    ///   - width: of the input tensor in pixels, as `height`.
    ///   - classes: how many labels there are, background not counted; nil if none are known.
    /// - Throws: `unexpected` for the first tensor whose shape does not fit.
    package init(
        _ decoding: BoxDecoding, shapes: [String: [[Int]]], width: Int, height: Int, classes: Int?
    ) throws(ObservationError) {
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
        isPlain = decoding.coding.kind == .boxes && plan.levels.allSatisfy { $0.field(.sizes) == nil }
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
        var levels: [Bound] = []
        for level in plan.levels { levels.append(try Bound(level, tensors)) }
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
        if options.needsAll, !candidates.isComplete { throw .tooMany(limit: Self.mostCandidates) }
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
        let rows: Int, across: Int
        let firstPrior: Int, priorStep: Int
        let boxes: Plane, scores: Plane
        /// The size, where it is apart from the centre.
        let sizes: Plane?
        let objectness: Plane?, extras: Plane?, label: Plane?, end: Plane?

        init(_ level: HeadPlan.Level, _ tensors: [String: [OutputTensor]]) throws(ObservationError) {
            func plane(_ part: RowPart, or other: RowPart? = nil) throws(ObservationError) -> Plane? {
                guard let field = level.field(part) ?? other.flatMap(level.field) else { return nil }
                guard let plane = field.plane(in: tensors, rows: level.rows) else {
                    throw .unexpected(
                        role: field.role, expected: "the planned shape",
                        found: "\(tensors[field.role]?.map(\.shape) ?? [])")
                }
                return plane
            }
            guard let boxes = try plane(.box, or: .centers), let scores = try plane(.scores, or: .score) else {
                throw .unexpected(role: "tensors", expected: "boxes and scores", found: "not both")
            }
            (rows, across, firstPrior, priorStep) = (level.rows, level.across, level.firstPrior, level.priorStep)
            (self.boxes, self.scores, sizes) = (boxes, scores, try plane(.sizes))
            (objectness, extras) = (try plane(.objectness), try plane(.extras))
            (label, end) = (try plane(.label), try plane(.picture))
        }
    }

    /// The number of rows that the model says are valid.
    private func count(in tensors: [String: [OutputTensor]]) -> Int {
        guard let value = tensors["count"]?.first?.values.first else { return .max }
        return value >= 1 ? Int(min(value, 1e9)) : 0
    }

    // MARK: Priors

    /// Priors that a tensor of the model holds: boxes in fractions of the input's sides, or, as Caffe's PriorBox, corners with a set of
    /// variances for each.
    private struct TensorPriors {
        let boxes: UnsafeBufferPointer<Float>
        let variances: UnsafeBufferPointer<Float>?
    }

    private func priors(in tensors: [String: [OutputTensor]]) throws(ObservationError) -> TensorPriors? {
        guard decoding.coding.kind != .boxes, priors.isEmpty, let tensor = tensors["priors"]?.first else { return nil }
        try Self.check(tensor.shape, rows: plan.rows)
        let count = plan.rows * 4
        return TensorPriors(
            boxes: UnsafeBufferPointer(rebasing: tensor.values[..<count]),
            variances: tensor.values.count == count ? nil : UnsafeBufferPointer(rebasing: tensor.values[count...]))
    }

    private func prior(_ place: Int, _ tensor: TensorPriors?) -> Prior {
        guard let tensor else { return priors.indices.contains(place) ? priors[place] : Prior() }
        let boxes = tensor.boxes, first = place * 4, across = Float(width), down = Float(height)
        guard first >= 0, first + 3 < boxes.count else { return Prior() }
        let (a, b, c, d) = (
            boxes[first] * across, boxes[first + 1] * down, boxes[first + 2] * across, boxes[first + 3] * down
        )
        return tensor.variances == nil
            ? Prior(x: a, y: b, width: c, height: d)
            : Prior(x: (a + c) / 2, y: (b + d) / 2, width: c - a, height: d - b)
    }

    private func variances(_ place: Int, _ tensor: TensorPriors?) -> SIMD4<Float> {
        guard let own = tensor?.variances, place >= 0, place * 4 + 3 < own.count else { return variances }
        return SIMD4(own[place * 4], own[place * 4 + 1], own[place * 4 + 2], own[place * 4 + 3])
    }

    /// What centres and points are multiples of.
    private func unit(_ prior: Prior) -> (x: Float, y: Float) {
        decoding.coding.inCells && prior.cell > 0 ? (prior.cell, prior.cell) : (prior.width, prior.height)
    }

    // MARK: Boxes

    /// - Parameter place: of its prior.
    private func box(_ row: Int, _ boxes: Plane, _ sizes: Plane?, _ place: Int, _ tensor: TensorPriors?) -> Box? {
        if isPlain { return finished(boxes[row, 0], boxes[row, 1], boxes[row, 2], boxes[row, 3]) }
        let (a, b, c, d) = numbers(row, boxes, sizes)
        switch decoding.coding.kind {
        case .boxes: return finished(a, b, c, d)
        case .distances:
            let prior = prior(place, tensor)
            return Box(
                left: prior.x - a * prior.width, top: prior.y - b * prior.height, right: prior.x + c * prior.width,
                bottom: prior.y + d * prior.height
            ).bounded
        case .offsets:
            let prior = prior(place, tensor), unit = unit(prior), variances = variances(place, tensor)
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
        case .tanh: return tanh(value)
        case .sigmoid:
            let scale = decoding.coding.centerScale
            return ScoreScan.sigmoid(value) * scale - (scale - 1) / 2
        }
    }

    private func size(_ value: Float, _ variance: Float) -> Float {
        switch decoding.coding.sizes {
        case .exponential: return exp(min(value * variance, decoding.coding.largestExponent))
        case .linear: return value * variance
        case .sigmoid: return ScoreScan.sigmoid(value)
        case .squaredSigmoid:
            let double = 2 * ScoreScan.sigmoid(value)
            return double * double
        }
    }

    /// A row's four numbers as the model gives them; of distributions the means.
    private func numbers(_ row: Int, _ boxes: Plane, _ sizes: Plane?) -> (Float, Float, Float, Float) {
        let bins = decoding.coding.bins
        if bins > 1 {
            func mean(_ side: Int) -> Float {
                var highest = -Float.infinity, sum: Float = 0, weighted: Float = 0
                for bin in 0..<bins { highest = max(highest, boxes[row, side * bins + bin]) }
                for bin in 0..<bins {
                    let share = exp(boxes[row, side * bins + bin] - highest)
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
        let scaleX = decoding.units == .fractions ? Float(width) : 1
        let scaleY = decoding.units == .fractions ? Float(height) : 1
        switch decoding.form {
        case .centers: return Self.centered(a * scaleX, b * scaleY, c * scaleX, d * scaleY)
        case .centersYX: return Self.centered(b * scaleX, a * scaleY, d * scaleX, c * scaleY)
        case .corners: return Box(left: a * scaleX, top: b * scaleY, right: c * scaleX, bottom: d * scaleY).bounded
        case .cornersYX: return Box(left: b * scaleX, top: a * scaleY, right: d * scaleX, bottom: c * scaleY).bounded
        case .topLeft:
            return Box(left: a * scaleX, top: b * scaleY, right: (a + c) * scaleX, bottom: (b + d) * scaleY).bounded
        }
    }

    private static func centered(_ x: Float, _ y: Float, _ width: Float, _ height: Float) -> Box? {
        Box(left: x - width / 2, top: y - height / 2, right: x + width / 2, bottom: y + height / 2).bounded
    }

    /// The numbers beside box and classes; points that count from the prior become pixels.
    private func extras(_ row: Int, _ plane: Plane, _ place: Int, _ tensor: TensorPriors?) -> [Float] {
        var extras = (0..<plane.count).map { plane[row, $0] }
        guard let points = decoding.points else { return extras }
        let prior = prior(place, tensor), unit = unit(prior)
        for first in stride(from: points.first, to: extras.count - points.order.count + 1, by: points.order.count) {
            let x = first + points.order.x, y = first + points.order.y
            extras[x] = prior.x + extras[x] * unit.x * points.scale
            extras[y] = prior.y + extras[y] * unit.y * points.scale
        }
        return extras
    }

    /// True if no neighbour of a map's cell has a greater score of the class.
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
        func place(_ row: Int, _ level: Int) -> Int { levels[level].firstPrior + row * levels[level].priorStep }
        let arePeaks = decoding.suppression == .peaks, clips = decoding.coding.clips
        for candidate in candidates {
            guard let level = starts.lastIndex(where: { $0 <= Int(candidate.row) }) else { continue }
            let row = Int(candidate.row) - starts[level]
            if arePeaks, !isPeak(row, Int(candidate.label), levels[level]) { continue }
            guard var box = box(row, levels[level].boxes, levels[level].sizes, place(row, level), tensor) else {
                if options.needsAll { throw .unexpected(role: "boxes", expected: "numbers", found: "a box of NaN") }
                continue
            }
            if clips { box = box.cut(width: Float(width), height: Float(height)) }
            boxes.append(box)
            chosen.append((candidate, level, row))
        }
        let limit = max(1, min(options.most ?? decoding.maxDetections, decoding.maxDetections))
        let most = options.needsAll ? Self.mostCandidates : limit
        let mostOfClass = options.needsAll ? nil : decoding.maxDetectionsOfClass
        let iou = options.iou ?? decoding.iou
        func detection(_ index: Int) -> Detection {
            let (candidate, level, row) = chosen[index]
            return Detection(
                box: boxes[index], index: Int(candidate.label), confidence: candidate.score,
                extras: levels[level].extras.map { extras(row, $0, place(row, level), tensor) } ?? [],
                row: Int(candidate.row))
        }
        switch decoding.suppression {
        case .none, .peaks: return boxes.indices.prefix(most).map(detection)
        case .perClass, .all:
            return try Suppression.survivors(
                of: boxes, labels: decoding.suppression == .all ? nil : chosen.map(\.candidate.label),
                iou: iou, most: most, mostOfClass: mostOfClass, isCancelled: isCancelled
            ).map(detection)
        case .weighted:
            return try Suppression.means(
                of: boxes.indices.map(detection), iou: iou, most: most, isCancelled: isCancelled)
        }
    }
}

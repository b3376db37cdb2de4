internal import SystemSupport

/// The result of comparing two answers to one picture. Goldens, shadows, `ocelli compare` and the canary use this rule.
///
/// - Classes agree if the first labels are equal.
/// - Boxes agree if they can be paired one to one with equal labels and an overlap (IoU) of at least 0.5, for turned
///   boxes of these themselves; their masks and points must agree, too.
/// - Masks agree if each class has an overlap of at least 0.9. A class that covers less than 1 % of the picture in both
///   answers is ignored.
/// - Points agree if each was found in both answers or in neither, and its positions differ by at most 2 % of the
///   picture's longer side.
/// - Embeddings agree if their cosine is at least 0.99.
/// - Texts agree if their edit distance is at most 2 % of the longer one's characters (``TextDistance``).
/// - Values agree if they have the same names, numbers differ by at most 1 %, arrays have the same shape and a cosine
///   of at least 0.99, texts are equal, and the best labels are equal.
/// - Two empty answers agree; an empty answer disagrees with any other. An error agrees only with the same error.
package struct Agreement: Sendable, Hashable {
    package let agrees: Bool
    /// The difference of the answers, from 0 (none) to 1.
    package let difference: Double
    /// A description of the difference: `expected tabby 0.91, got goldfish 0.40`; nil if the answers agree.
    package let reason: String?

    private init(_ agrees: Bool, _ difference: Double, _ reason: @autoclosure () -> String) {
        self.agrees = agrees
        self.difference = difference.isFinite ? min(max(difference, 0), 1) : 1
        self.reason = agrees ? nil : reason()
    }

    /// The minimum overlap of two boxes, and of two masks.
    package static let boxOverlap = 0.5, maskOverlap = 0.9
    /// The minimum cosine of two embeddings.
    package static let cosine = 0.99
    /// The maximum distance of two points, relative to the picture's longer side.
    package static let pointDistance = 0.02
    /// The maximum edit distance of two texts, in percent of the number of characters of the longer one.
    package static let textDistance = 2
    /// The maximum difference of two numbers, relative to the larger one.
    package static let numberDifference = 0.01
    /// A class that covers a smaller share of the picture in both masks is ignored, because most of it is its edge.
    package static let minimumSegment = 0.01

    package init(expected: ComparableAnswer, found: ComparableAnswer) {
        switch (expected, found) {
        case (.classes(let a), .classes(let b)): self.init(a, b)
        case (.boxes(let a, let side), .boxes(let b, let other)):
            if side == other { self.init(a, b, side: side) } else { self = Self.sizes(side, other) }
        case (.segments(let a), .segments(let b)): self.init(a, b)
        case (.points(let a, let side), .points(let b, let other)):
            let far = Self.distant(a, b, side: side)
            if side == other {
                self.init(far == nil, far?.distance ?? 0, far?.reason ?? "")
            } else {
                self = Self.sizes(side, other)
            }
        case (.embedding(let a), .embedding(let b)): self.init(a.map(Double.init), b.map(Double.init))
        case (.text(let a), .text(let b)): self.init(a, b)
        case (.values(let a), .values(let b)): self.init(a, b)
        case (.failure(let a, _), .failure(let b, _)):
            self.init(a == b, a == b ? 0 : 1, "expected the error \(a), got the error \(b)")
        case (_, .failure(_, let message)): self.init(false, 1, "expected \(expected.kind), got an error: \(message)")
        default: self.init(false, 1, "expected \(expected.kind), got \(found.kind)")
        }
    }

    private static func sizes(_ a: Double, _ b: Double) -> Agreement {
        Agreement(false, 1, "expected a picture whose longer side is \(short(a)), got one of \(short(b))")
    }

    // MARK: Classes

    private init(_ expected: [ComparableAnswer.ScoredLabel], _ found: [ComparableAnswer.ScoredLabel]) {
        func words(_ entry: ComparableAnswer.ScoredLabel?) -> String {
            entry.map { "\($0.name) \(Self.hundredths($0.confidence))" } ?? "no class"
        }
        // A label missing in one answer counts as a confidence of 0.
        var shares: [String: (Double, Double)] = [:]
        for entry in expected { shares[entry.name, default: (0, 0)].0 += entry.confidence }
        for entry in found { shares[entry.name, default: (0, 0)].1 += entry.confidence }
        let distance = shares.values.reduce(0) { $0 + abs($1.0 - $1.1) } / 2
        self.init(
            expected.first?.name == found.first?.name, distance,
            "expected \(words(expected.first)), got \(words(found.first))")
    }

    // MARK: Boxes

    private init(_ expected: [ComparableAnswer.FoundBox], _ found: [ComparableAnswer.FoundBox], side: Double) {
        let matching = BoxMatching(expected, found, side: side)
        let count = max(expected.count, found.count)
        let words: String
        if let lost = matching.unmatchedLeft.first.map({ expected[$0] }) {
            words = "expected \(Self.words(lost)), got none like it among \(found.count)"
        } else if let extra = matching.unmatchedRight.first.map({ found[$0] }) {
            words =
                "expected \(expected.count == 1 ? "1 box" : "\(expected.count) boxes"), got \(Self.words(extra)) as well"
        } else {
            words = ""
        }
        let missing = count - matching.pairs
        self.init(missing == 0, count == 0 ? 0 : Double(missing) / Double(count), words)
    }

    private static func words(_ box: ComparableAnswer.FoundBox) -> String {
        "\(box.label) \(hundredths(box.confidence)) at \(short(box.x)),\(short(box.y)) (\(short(box.width))x\(short(box.height)))"
    }

    // MARK: Masks

    private init(_ expected: [ComparableAnswer.Segment], _ found: [ComparableAnswer.Segment]) {
        func byLabel(_ segments: [ComparableAnswer.Segment]) -> [String: RunMask] {
            Dictionary(segments.map { ($0.label, $0.mask) }) { first, _ in first }
        }
        let (a, b) = (byLabel(expected), byLabel(found))
        var worst: (label: String, overlap: Double)?
        for label in Set(a.keys).union(b.keys).sorted() {
            let (one, other) = (a[label], b[label])
            guard let any = one ?? other else { continue }
            let pixels = Double(any.width) * Double(any.height)
            guard Double(max(one?.area ?? 0, other?.area ?? 0)) >= Self.minimumSegment * pixels else { continue }
            let overlap = if let one, let other { one.overlap(with: other) } else { 0.0 }
            if overlap < worst?.overlap ?? 2 { worst = (label, overlap) }
        }
        let overlap = worst?.overlap ?? 1
        self.init(
            overlap >= Self.maskOverlap, 1 - overlap,
            "the mask of \(worst?.label ?? "") overlaps by \(Self.hundredths(overlap)), expected \(Self.maskOverlap) or more"
        )
    }

    // MARK: Points

    /// The point farthest from its expected position, if the distance is too large. Distances are relative to the
    /// picture's longer side.
    static func distant(
        _ expected: [ComparableAnswer.NamedPoint], _ found: [ComparableAnswer.NamedPoint], side: Double
    ) -> (distance: Double, reason: String)? {
        guard expected.count == found.count else {
            return (1, "expected \(expected.count) points, got \(found.count)")
        }
        var worst: (distance: Double, reason: String)?
        for (number, (one, other)) in zip(expected, found).enumerated() {
            switch (one.place, other.place) {
            case (nil, nil): continue
            case (let a?, let b?):
                let (x, y) = (a.x - b.x, a.y - b.y)
                let distance = (x * x + y * y).squareRoot() / side
                guard !(distance <= pointDistance), !(distance <= worst?.distance ?? 0) else { continue }
                worst = (
                    distance,
                    "point \(number + 1): expected \(short(a.x)),\(short(a.y)), got \(short(b.x)),\(short(b.y))"
                )
            case (_?, nil): return (1, "point \(number + 1) was not found")
            case (nil, _?): return (1, "point \(number + 1) was found, expected none")
            }
        }
        return worst
    }

    // MARK: Vectors

    private init(_ expected: [Double], _ found: [Double]) {
        guard expected.count == found.count else {
            self.init(false, 1, "expected \(expected.count) numbers, got \(found.count)")
            return
        }
        let cosine = Self.cosine(expected, found)
        self.init(
            cosine >= Self.cosine, 1 - cosine,
            "cosine \(Self.thousandths(cosine)), expected \(Self.cosine) or more")
    }

    /// 1 for two zero vectors, 0 if only one is zero; NaN if a number is not finite.
    package static func cosine(_ a: [Double], _ b: [Double]) -> Double {
        var (dot, one, other) = (0.0, 0.0, 0.0)
        for (x, y) in zip(a, b) {
            dot += x * y
            one += x * x
            other += y * y
        }
        if one == 0, other == 0 { return 1 }
        guard one > 0, other > 0 else { return one.isNaN || other.isNaN ? .nan : 0 }
        return dot / (one.squareRoot() * other.squareRoot())
    }

    // MARK: Texts

    private init(_ expected: String, _ found: String) {
        let distance = TextDistance(expected, found)
        let limit = distance.longer * Self.textDistance / 100
        let count = distance.edits(within: limit)
        // Beyond the limit an upper bound will do, which orders differences.
        let edits = count ?? max(limit + 1, distance.lineEdits)
        let difference = distance.longer == 0 ? 0 : Double(edits) / Double(distance.longer)
        let words = distance.firstDifference(of: 40)
        self.init(
            count != nil, difference,
            "more than \(limit) of \(distance.longer) characters differ: expected \"\(words.expected)\", got \"\(words.found)\""
        )
    }

    // MARK: Values

    private init(
        _ expected: [String: ComparableAnswer.OutputValue], _ found: [String: ComparableAnswer.OutputValue]
    ) {
        var worst = Agreement(true, 0, "")
        for name in Set(expected.keys).union(found.keys).sorted() {
            let part: Agreement
            switch (expected[name], found[name]) {
            case (let a?, let b?): part = Self.compare(a, b)
            case (_?, nil): part = Agreement(false, 1, "is missing")
            default: part = Agreement(false, 1, "is not expected")
            }
            guard !part.agrees, worst.agrees || part.difference > worst.difference else { continue }
            worst = Agreement(false, part.difference, "output \"\(name)\": \(part.reason ?? "")")
        }
        self = worst
    }

    private static func compare(
        _ expected: ComparableAnswer.OutputValue, _ found: ComparableAnswer.OutputValue
    ) -> Agreement {
        switch (expected, found) {
        case (.number(let a), .number(let b)): return compare(a, b)
        case (.text(let a), .text(let b)):
            return Agreement(a == b, a == b ? 0 : 1, "expected \"\(a.prefix(60))\", got \"\(b.prefix(60))\"")
        case (.labels(let a), .labels(let b)): return Agreement(scored(a), scored(b))
        case (.array(let shape, let a), .array(let other, let b)):
            guard shape == other, a.count == b.count else {
                return Agreement(false, 1, "expected the shape \(shape), got \(other)")
            }
            return a.count == 1 ? compare(a[0], b[0]) : Agreement(a, b)
        default: return Agreement(false, 1, "is of another kind")
        }
    }

    /// The labels sorted by value, the largest first; equal values by name.
    private static func scored(_ labels: [String: Double]) -> [ComparableAnswer.ScoredLabel] {
        labels.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { ComparableAnswer.ScoredLabel(index: 0, label: $0.key, confidence: $0.value) }
    }

    private static func compare(_ a: Double, _ b: Double) -> Agreement {
        if a == b || a.isNaN && b.isNaN { return Agreement(true, 0, "") }
        let difference = abs(a - b) / max(abs(a), abs(b))
        // Ignore rounding of numbers near zero.
        let agrees = difference <= numberDifference || abs(a - b) <= 1e-6
        return Agreement(agrees, difference, "expected \(a), got \(b)")
    }

    // MARK: Words

    static func hundredths(_ value: Double) -> String { decimal(value, places: 2) }
    static func thousandths(_ value: Double) -> String { decimal(value, places: 3) }
    private static func short(_ value: Double) -> String { decimal(value, places: 0) }

    private static func decimal(_ value: Double, places: Int) -> String {
        DecimalText.fixed(value, places: places) ?? "\(value)"
    }
}

/// The result of comparing two answers to one picture by the one rule of goldens, shadows, `ocelli compare` and the
/// canary.
///
/// - Classes agree when the first labels are the same.
/// - Boxes agree when each has one of the same label with an overlap (IoU) of at least 0.5 in the other answer, one to
///   one; masks and points that were found with them agree too.
/// - Masks agree when each class has an overlap of at least 0.9. A class with less than 1 % of the picture in both
///   answers does not count.
/// - Points agree when each was found in both or in neither, and lies within 2 % of the picture's longer side.
/// - Embeddings agree when their cosine is at least 0.99.
/// - Values agree when they have the same names, and numbers differ by at most 1 %, arrays have the same shape and a
///   cosine of at least 0.99, texts are equal, and of labels with values the first is the same.
/// - Two empty answers agree, an empty one and another do not; errors agree with the same error alone.
package struct Agreement: Sendable, Hashable {
    package let agrees: Bool
    /// The difference of the answers, 0 (none) to 1.
    package let difference: Double
    /// The difference in words: `expected tabby 0.91, got goldfish 0.40`; nil where the answers agree.
    package let reason: String?

    private init(_ agrees: Bool, _ difference: Double, _ reason: @autoclosure () -> String) {
        self.agrees = agrees
        self.difference = difference.isFinite ? min(max(difference, 0), 1) : 1
        self.reason = agrees ? nil : reason()
    }

    /// The least overlap of two boxes, and of two masks.
    package static let boxOverlap = 0.5, maskOverlap = 0.9
    /// The least cosine of two embeddings.
    package static let cosine = 0.99
    /// The greatest distance of two points, over the picture's longer side.
    package static let pointDistance = 0.02
    /// The greatest difference of two numbers, over the larger.
    package static let numberDifference = 0.01
    /// A class with a smaller part of the picture in both masks does not count: its edge is most of it.
    package static let leastSegment = 0.01

    /// Compares an answer with the expected one.
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
        // What is listed in one answer alone counts as a confidence of 0 in the other.
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
            guard Double(max(one?.area ?? 0, other?.area ?? 0)) >= Self.leastSegment * pixels else { continue }
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

    /// The point that is farthest from the expected place, if that is too far; the distance is over the picture's
    /// longer side.
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

    /// 1 for two vectors of zeros, 0 for zeros and others; NaN where a number is not finite.
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

    /// The labels by their values, the largest first; of equal ones the first by name.
    private static func scored(_ labels: [String: Double]) -> [ComparableAnswer.ScoredLabel] {
        labels.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { ComparableAnswer.ScoredLabel(index: 0, label: $0.key, confidence: $0.value) }
    }

    private static func compare(_ a: Double, _ b: Double) -> Agreement {
        if a == b || a.isNaN && b.isNaN { return Agreement(true, 0, "") }
        let difference = abs(a - b) / max(abs(a), abs(b))
        // Rounding of a number that is next to nothing is no difference.
        let agrees = difference <= numberDifference || abs(a - b) <= 1e-6
        return Agreement(agrees, difference, "expected \(a), got \(b)")
    }

    // MARK: Words

    static func hundredths(_ value: Double) -> String { decimal(value, places: 2) }
    static func thousandths(_ value: Double) -> String { decimal(value, places: 3) }
    private static func short(_ value: Double) -> String { decimal(value, places: 0) }

    private static func decimal(_ value: Double, places: Int) -> String {
        let factor = places == 0 ? 1.0 : places == 2 ? 100 : 1_000
        let scaled = (value * factor).rounded()
        guard scaled.isFinite, abs(scaled) < 1e15 else { return "\(value)" }
        let whole = Int64(abs(scaled)), unit = Int64(factor)
        let digits = String(whole % unit)
        let fraction = places == 0 ? "" : "." + String(repeating: "0", count: places - digits.count) + digits
        return (scaled < 0 ? "-" : "") + "\(whole / unit)" + fraction
    }
}

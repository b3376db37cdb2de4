internal import Glibc

/// The rule by which answers of two engines agree. All its numbers are here.
///
/// Each value, and the root mean square of all differences, must be within a tolerance. Where that is not so, the
/// differences among correct kernels of the referee explain it, or the first engine is wrong (``Yardstick``).
struct AgreementRule {
    let traits: FileTraits

    /// The largest difference of floating-point numbers that is due to rounding, as a fraction of the output's range.
    private static let tolerance = 1e-3
    /// The steps of 8 and 16 bits by which intermediate rounding to integers changes an output.
    private static let steps = 2.0
    /// The first engine may differ this many times as much as the referee's two sets of kernels do: in the root mean
    /// square and in the largest difference; and in the largest difference of a part of few operators.
    static let kernels = 3.0, largestInPart = 2.0
    /// The first engine may differ this many times as much as an answer to a nudged input. A step of 8 bits in every
    /// value of an input changes more than rounding does: correct kernels of networks of up to 40 layers differed by at
    /// most 0.64 times as much, and by 0.8 times in the largest difference.
    static let nudgeOfIntegers = 1.0, nudgeOfNumbers = 3.0
    /// One of this many indices may differ without another explanation: rounding changes which of two nearly equal
    /// values is the largest.
    static let indicesPerException = 50_000
    /// Changes of an input that stand for the rounding of intermediate values, as fractions of the input's range: one
    /// step of 8 bits, or the rounding of a few hundred additions in 32 bits.
    static let integerNudge = 1.0 / 256, numberNudge = 1.0 / 262_144
    /// Changes of values of 16 bits, as fractions of the value: one step.
    static let float16Nudge = 1.0 / 1_024, bfloat16Nudge = 1.0 / 128

    /// The rule for two answers of one engine to the same input: integers are equal, in their order.
    static var ofOneEngine: AgreementRule {
        var traits = FileTraits()
        traits.selectsOnly = true
        return AgreementRule(traits: traits)
    }

    /// The result for one output and one input.
    struct Outcome {
        /// The value found and the expected one that differ most; nil if the outputs agree.
        var worst: (found: Double, expected: Double)?
        /// The largest difference as a fraction of the range, of values that are numbers in both.
        var largest = 0.0
        /// True if they agree with their rows in another order.
        var isReordered = false
    }

    /// Compares answers of the same shape.
    func compare(_ found: EngineAnswer, _ expected: EngineAnswer, _ pattern: ProbePattern) -> Outcome {
        var outcome = Outcome()
        if found.isIdentical(to: expected) { return outcome }
        let a = found.values, b = expected.values
        guard a.count == b.count else {
            outcome.worst = (Double(a.count), Double(b.count))
            return outcome
        }
        let extent = Self.extent(of: b), allowed = allowed(expected.type, extent: extent)
        var worst = -1.0, largest = -1.0, ofLargest = (0.0, 0.0)
        var squares = 0.0, signal = 0.0
        let pattern = effective(pattern, expected.type)
        for (x, y) in zip(a, b) {
            let distance = abs(x - y)
            if distance.isFinite {
                squares += distance * distance
                signal += y * y
                if distance > largest { (largest, ofLargest) = (distance, (x, y)) }
            }
            guard !Self.areEqual(x, y, allowed, pattern) else { continue }
            // A distance of NaN counts as the largest.
            if !(distance <= worst) {
                worst = distance.isNaN ? .infinity : distance
                outcome.worst = (x, y)
            }
        }
        if extent > 0 { outcome.largest = max(0, largest / extent) }
        // Small differences of many values are more than rounding.
        let rounding = rounding(expected.type)
        if outcome.worst == nil {
            let isTooMuch = pattern.isGradual && rounding > 0 && squares > rounding * rounding * signal
            outcome.worst = isTooMuch ? ofLargest : nil
            return outcome
        }
        guard !traits.selectsOnly, found.isComplete, expected.isComplete,
            let width = SortedRows.width(expected.shape, type: expected.type),
            SortedRows.areEqual(b, a, width: width, { Self.areEqual($1, $0, allowed, pattern) })
        else { return outcome }
        return Outcome(isReordered: true)
    }

    /// The pattern by which answers to a pattern are compared: truths of comparisons with NaN are defined, as those of
    /// other numbers are.
    func effective(_ pattern: ProbePattern, _ type: ElementType) -> ProbePattern {
        pattern == .nan && traits.selectsOnly && !type.isFloatingPoint ? .large : pattern
    }

    /// True if a value is equal to the expected one except for rounding. NaN must not disappear; which infinities an
    /// operator makes NaN is not defined.
    static func areEqual(_ found: Double, _ expected: Double, _ allowed: Double, _ pattern: ProbePattern) -> Bool {
        switch pattern {
        case .nan: !expected.isNaN || found.isNaN
        case .infinities where expected.isNaN: true
        default:
            found == expected || abs(found - expected) <= allowed || (found.isNaN && expected.isNaN)
        }
    }

    /// The difference of a value that is due to rounding.
    func allowed(_ type: ElementType, extent: Double) -> Double {
        if type.isFloatingPoint { return max(Self.tolerance, traits.rounding) * extent }
        guard !Self.isIndex(type) else { return 0 }
        if traits.computesInIntegers { return Self.steps }
        // A number that is cast to an integer may be just below it.
        return traits.selectsOnly || traits.takesAnyInteger ? 0 : 1
    }

    /// The root mean square of differences that is due to rounding, as a fraction of that of the values; 0 for
    /// integers.
    func rounding(_ type: ElementType) -> Double {
        switch type {
        case .float16: max(Self.float16Nudge, traits.rounding)
        case .bfloat16: max(Self.bfloat16Nudge, traits.rounding)
        default: type.isFloatingPoint ? traits.rounding : 0
        }
    }

    /// The range of some values; at least a hundredth of the largest magnitude, because nearly equal values differ
    /// only by rounding. A single value has no range: its magnitude.
    static func extent(of values: [Double]) -> Double {
        var minimum = Double.infinity, maximum = -Double.infinity
        for value in values where value.isFinite {
            minimum = min(minimum, value)
            maximum = max(maximum, value)
        }
        guard minimum <= maximum else { return 0 }
        let largest = max(abs(minimum), abs(maximum))
        return max(maximum - minimum, values.count == 1 ? largest : largest / 100)
    }

    /// True if values of an output are indices or truths: their differences have no size.
    static func isIndex(_ type: ElementType) -> Bool {
        switch type {
        case .uint8, .int8, .int16, .uint16: false
        default: !type.isFloatingPoint
        }
    }
}

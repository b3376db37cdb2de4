internal import FoundationEssentials

/// The answers of a model that ran on one stream, to compare others with: a sample of the values of each output.
struct ReferenceAnswers: Sendable, Codable {
    /// The sampled values of one output.
    struct Output: Sendable, Codable {
        /// The extents that this answer had.
        let shape: [Int]
        /// 32-bit floats, little endian. JSON has no NaN.
        let values: Data
    }

    /// The outputs' answers in the plan's order.
    var answers: [ProbePattern: [Output]] = [:]
    /// True if the same input gave different answers on one stream.
    var isRandom = false
    /// The difference that several streams once showed from these: then the model runs with one stream, whatever the
    /// next compilation is like.
    var difference: String?
    /// The greatest difference of values that is due to rounding, as a part of the output's largest.
    var tolerance = 1e-4

    /// The same, for answers that were computed in a batch: by other kernels, which add and round differently.
    var forBatches: ReferenceAnswers {
        var copy = self
        copy.tolerance = 0.05
        return copy
    }

    /// The ``tolerance`` for values that were computed in a precision; nil is 32-bit floats.
    static func tolerance(precision: String?) -> Double {
        precision.map { $0.contains("16") } ?? false ? 0.02 : 1e-4
    }

    /// More values are not kept, all outputs together: they are in memory for as long as the model is.
    private static let mostValues = 65_536
    /// One of so many values may differ: a place that is the largest by a hair may be another after rounding.
    private static let exceptions = 500

    /// The answers that requests hold after an inference; nil if the engine gives an output as a value instead of a
    /// tensor.
    static func outputs(of request: any EngineOutputs, plan: ModelPlan) throws(EngineError) -> [Output] {
        let most = max(64, mostValues / max(1, plan.outputs.count))
        var outputs: [Output] = []
        for output in plan.outputs {
            if case .feature = output.kind { continue }
            let type = output.description.elementType
            outputs.append(try request.withOutput(output.index) { sample($1, shape: $0, type: type, most: most) })
        }
        return outputs
    }

    private static func sample(_ raw: UnsafeRawBufferPointer, shape: Shape, type: ElementType, most: Int) -> Output {
        let size = type.byteCount, count = size > 0 ? raw.count / size : 0
        // Steps without a common divisor with the count come to every row, column and channel.
        var step = max(1, count / max(1, most)) | 1
        while step > 1, greatestCommonDivisor(step, count) > 1 { step += 2 }
        var values = Data(capacity: 4 * min(count, most))
        var place = 0
        for _ in 0..<min(count, most) {
            let element = UnsafeRawBufferPointer(rebasing: raw[place * size..<(place + 1) * size])
            ElementConversion.read(element, as: type) { _, value in
                withUnsafeBytes(of: Float(value).bitPattern.littleEndian) { values.append(contentsOf: $0) }
            }
            place = (place + step) % count
        }
        return Output(shape: shape.dimensions, values: values)
    }

    private static func greatestCommonDivisor(_ a: Int, _ b: Int) -> Int {
        b == 0 ? a : greatestCommonDivisor(b, a % b)
    }

    /// The difference between answers to a pattern and these, by more than rounding; nil if there is none.
    func difference(_ found: [Output], to pattern: ProbePattern, plan: ModelPlan) -> String? {
        guard let expected = answers[pattern] else { return nil }
        let plans = plan.outputs.filter { if case .feature = $0.kind { false } else { true } }
        guard expected.count == found.count, found.count == plans.count else {
            return "\(found.count) outputs instead of \(expected.count)"
        }
        for (index, output) in plans.enumerated() {
            let (a, b) = (expected[index], found[index])
            let name = "output \"\(output.description.name)\""
            guard a.shape == b.shape, a.values.count == b.values.count else {
                return "\(name) has shape \(Shape(b.shape)) instead of \(Shape(a.shape))"
            }
            if let (was, isNow) = Self.difference(
                a.values, b.values, shape: Shape(a.shape), type: output.description.elementType,
                tolerance: tolerance)
            {
                return "\(name) has \(isNow) instead of \(was)"
            }
        }
        return nil
    }

    /// The two values that are farthest apart, if more differ than rounding explains.
    private static func difference(
        _ expected: Data, _ found: Data, shape: Shape, type: ElementType, tolerance: Double
    ) -> (Float, Float)? {
        difference(expected, found, shape: shape, type: type) { values in
            let largest = values.reduce(Float(0)) { $1.isFinite ? max($0, abs($1)) : $0 }
            return switch type {
            case .uint8, .int8: 2
            default: type.isFloatingPoint ? Float(tolerance) * largest : 0
            }
        }
    }

    /// - Parameter allowed: the difference that is due to rounding, by the expected values.
    fileprivate static func difference(
        _ expected: Data, _ found: Data, shape: Shape, type: ElementType, allowed: ([Float]) -> Float
    ) -> (Float, Float)? {
        let a = floats(expected), b = floats(found), allowed = allowed(a)
        var count = 0, worst: (distance: Float, Float, Float)?
        func areEqual(_ a: Float, _ b: Float) -> Bool { a == b || abs(a - b) <= allowed || (a.isNaN && b.isNaN) }
        for (a, b) in zip(a, b) where !areEqual(a, b) {
            count += 1
            let distance = abs(a - b)
            // A distance that is NaN counts as the greatest.
            if worst.map({ !(distance <= $0.distance) }) ?? true { worst = (distance, a, b) }
        }
        guard let worst, count > a.count / exceptions else { return nil }
        if let width = rowWidth(shape, type: type), a.count == shape.elementCount,
            hasSameRows(a, b, width: width, areEqual)
        {
            return nil
        }
        return (worst.1, worst.2)
    }

    /// More rows are not searched for one another: the lists of detectors and classifiers are shorter.
    private static let mostRows = 1024

    /// The values of a row of a list that may be sorted by score: a detection of several values, or one place in a
    /// table. Rows with nearly equal scores change places by rounding. Nil for other outputs.
    private static func rowWidth(_ shape: Shape, type: ElementType) -> Int? {
        let extents = Array(shape.dimensions.drop { $0 == 1 })
        // Bytes are quantized values, and where a class has its score is its meaning.
        let isPlace = !type.isFloatingPoint && type.byteCount > 1
        switch extents.count {
        case 1 where isPlace && extents[0] <= mostRows: return 1
        case 2 where extents[0] <= mostRows && extents[1] > 1: return extents[1]
        default: return nil
        }
    }

    /// True if the rows are the same, but for their order.
    private static func hasSameRows(
        _ expected: [Float], _ found: [Float], width: Int, _ areEqual: (Float, Float) -> Bool
    ) -> Bool {
        var left = Array(0..<found.count / width)
        for row in 0..<expected.count / width {
            let match = left.firstIndex { other in
                (0..<width).allSatisfy { areEqual(expected[row * width + $0], found[other * width + $0]) }
            }
            guard let match else { return false }
            left.remove(at: match)
        }
        return true
    }

    fileprivate static func floats(_ data: Data) -> [Float] {
        data.withUnsafeBytes { raw in
            (0..<raw.count / 4).map {
                Float(bitPattern: UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self)))
            }
        }
    }
}

extension ReferenceAnswers.Output {
    /// The sampled values.
    var floats: [Float] { ReferenceAnswers.floats(values) }

    /// The value here and the expected one that are farthest apart, if more differ than rounding explains; nil if none
    /// do.
    /// - Parameter allowed: the difference that is due to rounding, by the expected values.
    func difference(
        from expected: Self, type: ElementType, allowed: ([Float]) -> Float
    ) -> (Float, Float)? {
        ReferenceAnswers.difference(expected.values, values, shape: Shape(shape), type: type, allowed: allowed)
            .map { ($0.1, $0.0) }
    }
}

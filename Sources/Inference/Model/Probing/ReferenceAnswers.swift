internal import FoundationEssentials

/// The answers of a model that ran on one stream, as the reference of comparisons: a sample of the values of each
/// output.
struct ReferenceAnswers: Sendable, Codable {
    /// The sampled values of one output.
    struct Output: Sendable, Codable {
        /// The shape of this answer.
        let shape: [Int]
        /// The values as 32-bit floats, little-endian. Binary, because JSON has no NaN.
        let values: Data
    }

    /// The answers of the outputs in the plan's order, by pattern.
    var answers: [ProbePattern: [Output]] = [:]
    /// True if one stream gave different answers to the same input.
    var isRandom = false
    /// The difference that several streams have shown from these answers; the model then runs with one stream,
    /// regardless of later compilations.
    var difference: String?
    /// The maximum difference of values that is due to rounding, as a fraction of the output's largest magnitude.
    var tolerance = 1e-4

    /// The reference with the tolerance for batches: other kernels compute these, which add and round in a different
    /// order.
    var forBatches: ReferenceAnswers {
        var copy = self
        copy.tolerance = 0.05
        return copy
    }

    /// The ``tolerance`` for a precision of the computation; nil is 32-bit floats.
    static func tolerance(precision: String?) -> Double {
        precision.map { $0.contains("16") } ?? false ? 0.02 : 1e-4
    }

    /// The maximum number of sampled values of all outputs together: they stay in memory as long as the model.
    private static let maximumValues = 65_536
    /// One of this many values may differ: rounding can change which of two nearly equal values is the largest.
    private static let exceptions = 500

    /// The maximum number of sampled values of one output.
    static func maximumValues(of plan: ModelPlan) -> Int { max(64, maximumValues / max(1, plan.outputs.count)) }

    /// The sampled values of each output after an inference. Outputs that the engine returns as values instead of
    /// tensors are omitted.
    static func outputs(of request: any EngineOutputs, plan: ModelPlan) throws(EngineError) -> [Output] {
        let maximum = maximumValues(of: plan)
        var outputs: [Output] = []
        for output in plan.outputs {
            if case .feature = output.kind { continue }
            let type = output.description.elementType
            outputs.append(try request.withOutput(output.index) { sample($1, shape: $0, type: type, maximum: maximum) })
        }
        return outputs
    }

    static func sample(_ raw: UnsafeRawBufferPointer, shape: Shape, type: ElementType, maximum: Int) -> Output {
        let size = type.byteCount, count = size > 0 ? raw.count / size : 0
        var values = Data(capacity: 4 * min(count, maximum))
        for place in SamplePlaces(of: count, maximum: maximum) {
            let element = UnsafeRawBufferPointer(rebasing: raw[place * size..<(place + 1) * size])
            ElementConversion.read(element, as: type) { _, value in
                withUnsafeBytes(of: Float(value).bitPattern.littleEndian) { values.append(contentsOf: $0) }
            }
        }
        return Output(shape: shape.dimensions, values: values)
    }

    /// The difference between these answers and those found for a pattern, if rounding does not explain it; otherwise
    /// nil.
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

    /// The pair of values with the largest difference, if more values differ than rounding explains; otherwise nil.
    private static func difference(
        _ expected: Data, _ found: Data, shape: Shape, type: ElementType, tolerance: Double
    ) -> (Float, Float)? {
        let a = floats(expected), b = floats(found)
        let allowed: Float =
            switch type {
            case .uint8, .int8: 2
            default: type.isFloatingPoint ? Float(tolerance) * (a.lazy.filter(\.isFinite).map(abs).max() ?? 0) : 0
            }
        var count = 0, worst: (distance: Float, Float, Float)?
        func areEqual(_ a: Float, _ b: Float) -> Bool { a == b || abs(a - b) <= allowed || (a.isNaN && b.isNaN) }
        for (a, b) in zip(a, b) where !areEqual(a, b) {
            count += 1
            let distance = abs(a - b)
            // A distance of NaN is treated as the largest.
            if worst.map({ !(distance <= $0.distance) }) ?? true { worst = (distance, a, b) }
        }
        guard let worst, count > a.count / exceptions else { return nil }
        if let width = SortedRows.width(shape, type: type), a.count == shape.elementCount,
            SortedRows.areEqual(a, b, width: width, areEqual)
        {
            return nil
        }
        return (worst.1, worst.2)
    }

    private static func floats(_ data: Data) -> [Float] {
        data.withUnsafeBytes { raw in
            (0..<raw.count / 4).map {
                Float(bitPattern: UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self)))
            }
        }
    }
}

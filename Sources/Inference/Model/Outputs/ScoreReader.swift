internal import Glibc

/// Converts the raw memory of a labelled output to scores.
struct ScoreReader: Sendable {
    let elementType: ElementType
    let linear: LinearTransform?
    let activation: ModelManifest.Activation?

    /// Calls `body` with one score per element. 32-bit floats that need no transform are passed in the engine's memory;
    /// other scores are converted into one temporary array.
    func withScores<R>(_ raw: UnsafeRawBufferPointer, _ body: (UnsafeBufferPointer<Float>) -> R) -> R {
        if elementType == .float32, linear == nil, activation == nil,
            Int(bitPattern: raw.baseAddress) % MemoryLayout<Float>.alignment == 0
        {
            return body(raw.assumingMemoryBound(to: Float.self))
        }
        let count = elementType.byteCount == 0 ? 0 : raw.count / elementType.byteCount
        return withUnsafeTemporaryAllocation(of: Float.self, capacity: max(count, 1)) { scores in
            ElementConversion.read(raw, as: elementType) { index, value in
                scores.initializeElement(at: index, to: Float(linear?(value) ?? value))
            }
            let scores = UnsafeMutableBufferPointer(rebasing: scores[..<count])
            switch activation {
            case .softmax: Self.softmax(scores)
            case .sigmoid: for index in scores.indices { scores[index] = 1 / (1 + exp(-scores[index])) }
            case nil: break
            }
            return body(UnsafeBufferPointer(scores))
        }
    }

    /// The least confidence above 0 that the output can express, halved: what a confidence of 0 may be.
    var leastConfidence: Float {
        guard activation == nil else { return .leastNonzeroMagnitude }
        if elementType == .float16 { return 0x1p-25 }
        guard elementType.integerRange != nil, case .scaleThenBias(let scale, _)? = linear else {
            return .leastNonzeroMagnitude
        }
        return Float(abs(scale) / 2)
    }

    /// The error for scores of which one is NaN.
    func notNumbers(_ output: String) -> InferenceError {
        .invalidOutput(
            name: output,
            reason: activation == .softmax
                ? "its softmax is not a number, because a score is NaN or infinite, or all are -infinity"
                : "a score is NaN")
    }

    /// Subtracts the largest value first, so that no exponential overflows. All are NaN if one is NaN or infinite, or
    /// if all are -infinity.
    private static func softmax(_ scores: UnsafeMutableBufferPointer<Float>) {
        guard let highest = scores.max() else { return }
        var sum: Double = 0
        for index in scores.indices {
            scores[index] = exp(scores[index] - highest)
            sum += Double(scores[index])
        }
        let factor = Float(1 / sum)
        for index in scores.indices { scores[index] *= factor }
    }
}

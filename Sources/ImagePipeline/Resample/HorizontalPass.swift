import CResample

/// Makes a row of outputs of a row of source pixels.
struct HorizontalPass {
    private let weights: ResampleWeights
    private let channels: Int
    /// Every output is a copy: no sums.
    private let copies: Bool
    /// And each of the pixel at the same place.
    let isIdentity: Bool
    /// Each coefficient four times, for the four bytes of a pixel.
    private let repeated: [Int32]

    init(weights: ResampleWeights, channels: Int) {
        self.weights = weights
        self.channels = channels
        copies = weights.isSelection
        isIdentity = weights.isIdentity
        repeated = channels == 4 && !copies ? Self.repeatFourTimes(weights.coefficients) : []
    }

    /// `source` has the pixels that the weights refer to and 4 readable bytes behind them, `destination` room for all outputs.
    func apply(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>) {
        if channels == 1 {
            gray(source, destination)
        } else if copies {
            copy(UnsafeRawPointer(source), UnsafeMutableRawPointer(destination))
        } else {
            weights.withUnsafeWeights { weights in
                repeated.withUnsafeBufferPointer { factors in
                    var weights = weights
                    weights.factors = factors.baseAddress
                    cresample_horizontal(&weights, source, destination)
                }
            }
        }
    }

    private static func repeatFourTimes(_ coefficients: [Int32]) -> [Int32] {
        [Int32](unsafeUninitializedCapacity: coefficients.count * 4) { buffer, count in
            // One store of four for each coefficient, in memory of that size.
            guard let base = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
            for (index, coefficient) in coefficients.enumerated() {
                base.storeBytes(
                    of: SIMD4(repeating: coefficient), toByteOffset: index &* 16, as: SIMD4<Int32>.self)
            }
            count = coefficients.count * 4
        }
    }

    // The functions below, and the C one, use pointers of arrays. What they reach: `starts` and `counts` have an element for
    // each output and the coefficients `stride`, of which `counts[output] <= stride` are used; and
    // `starts[output] + counts[output]` is never more than the pixels of a row, for the row was chosen by it.

    private func copy(_ source: UnsafeRawPointer, _ destination: UnsafeMutableRawPointer) {
        weights.starts.withUnsafeBufferPointer { starts in
            for (output, start) in starts.enumerated() {
                let pixel = source.loadUnaligned(fromByteOffset: Int(start) &* 4, as: UInt32.self)
                destination.storeBytes(of: pixel, toByteOffset: output &* 4, as: UInt32.self)
            }
        }
    }

    private func gray(_ source: UnsafePointer<UInt8>, _ destination: UnsafeMutablePointer<UInt8>) {
        weights.withUnsafeWeights { weights in
            guard let starts = weights.starts, let counts = weights.counts, var factors = weights.factors else {
                return
            }
            for output in 0..<weights.outputs {
                var sum = ResampleWeights.half
                let pixels = source + Int(starts[output])
                for tap in 0..<Int(counts[output]) {
                    sum &+= Int32(pixels[tap]) &* factors[tap]
                }
                let level = max(0, min(255, sum &>> ResampleWeights.precision))
                destination[output] = UInt8(truncatingIfNeeded: level)
                factors += weights.stride
            }
        }
    }
}

extension ResampleWeights {
    /// What rounds a sum to the nearest level.
    static let half: Int32 = 1 << (precision - 1)

    /// The weights as the C functions take them, for the time of the call.
    @inline(__always)
    func withUnsafeWeights(_ body: (cresample_weights) -> Void) {
        starts.withUnsafeBufferPointer { starts in
            counts.withUnsafeBufferPointer { counts in
                coefficients.withUnsafeBufferPointer { factors in
                    body(
                        cresample_weights(
                            starts: starts.baseAddress, counts: counts.baseAddress, factors: factors.baseAddress,
                            stride: stride, outputs: outputCount))
                }
            }
        }
    }
}

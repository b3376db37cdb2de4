import CResample

/// Weights as the C functions take them: every output has the same number of coefficients, so many as fill whole vectors of eight.
///
/// Outputs need one or two source pixels more or less than their neighbours. A loop that counts them is guessed wrongly by the
/// processor at about every second output, which costs as much as the sums; factors of 0 cost next to nothing.
struct EvenTaps {
    /// By output: the first source pixel.
    private let starts: [Int32]
    /// `taps` for each output, each as often as a pixel has bytes.
    private let factors: [Int32]
    private let taps: Int
    private let channels: Int

    /// - Parameters:
    ///   - weights: of at least one output.
    ///   - channels: bytes of a pixel, 1 or 4.
    init(_ weights: ResampleWeights, channels: Int) {
        let whole = channels == 1 ? 8 : 2
        let taps = (Int(weights.counts.max() ?? 1) + whole - 1) & ~(whole - 1)
        let pixels = weights.sourceRange.upperBound
        var starts: [Int32] = []
        starts.reserveCapacity(weights.outputCount)
        factors = [Int32](unsafeUninitializedCapacity: weights.outputCount * taps * channels) { buffer, count in
            // One store of one or four for each coefficient, in memory of that size.
            guard let base = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
            var place = 0
            for output in 0..<weights.outputCount {
                // Zeros come behind, or before where the row would end: no pixel is read that the row does not have, but up to
                // seven bytes where it has fewer than `taps`.
                let wanted = Int(weights.starts[output])
                let start = max(0, min(wanted, pixels - taps))
                starts.append(Int32(start))
                let coefficients = weights.coefficients[(output * weights.stride)...].prefix(
                    Int(weights.counts[output]))
                for tap in 0..<taps {
                    let index = tap - (wanted - start)
                    let coefficient =
                        coefficients.indices.contains(coefficients.startIndex + index)
                        ? coefficients[coefficients.startIndex + index] : 0
                    if channels == 1 {
                        base.storeBytes(of: coefficient, toByteOffset: place, as: Int32.self)
                    } else {
                        base.storeBytes(
                            of: SIMD4(repeating: coefficient), toByteOffset: place, as: SIMD4<Int32>.self)
                    }
                    place += 4 * channels
                }
            }
            count = weights.outputCount * taps * channels
        }
        self.starts = starts
        self.taps = taps
        self.channels = channels
    }

    /// `source` has the pixels that the weights refer to and 8 readable bytes behind them, `destination` room for all outputs.
    func apply(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>) {
        // `starts` has an element for each output and `factors` `taps * channels`; `starts[output] + taps` is at most a vector of
        // eight bytes more than the pixels of a row, and not more where the row has `taps`.
        starts.withUnsafeBufferPointer { starts in
            factors.withUnsafeBufferPointer { factors in
                var weights = cresample_weights(
                    starts: starts.baseAddress, factors: factors.baseAddress, taps: taps, outputs: starts.count)
                if channels == 1 {
                    cresample_horizontal_gray(&weights, source, destination)
                } else {
                    cresample_horizontal(&weights, source, destination)
                }
            }
        }
    }
}

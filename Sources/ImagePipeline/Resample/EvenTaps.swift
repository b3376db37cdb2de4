import CResample

/// Weights as the C functions take them: every output has the same number of coefficients, so many as fill whole
/// groups.
///
/// Outputs need one or two source pixels more or less than their neighbours. A loop that counts them is guessed wrongly
/// by the processor at about every second output, which costs as much as the sums; factors of 0 cost next to nothing.
struct EvenTaps {
    /// By output: the first source pixel.
    private let starts: [Int32]
    /// `taps` for each output.
    private let halves: [Int16]
    private let taps: Int
    private let channels: Int

    /// - Parameters:
    ///   - weights: of at least one output.
    ///   - channels: bytes of a pixel, 1 or 4.
    init(_ weights: ResampleWeights, channels: Int) {
        let group = channels == 1 ? Int(CRESAMPLE_GRAY_GROUP) : Int(CRESAMPLE_PIXEL_GROUP)
        let taps = (Int(weights.counts.max() ?? 1) + group - 1) & ~(group - 1)
        let pixels = weights.sourceRange.upperBound
        // Four outputs are made at a time: what is one more than there are is made of nothing, at the start of the row.
        let outputs = (weights.outputCount + 3) & ~3
        var starts = [Int32](repeating: 0, count: outputs)
        var factors = [Int32](repeating: 0, count: outputs * taps)
        for output in 0..<weights.outputCount {
            // Zeros come behind, or before where the row would end: no pixel is read that the row does not have, but
            // less than a group where it has fewer than `taps`.
            let wanted = Int(weights.starts[output])
            let start = max(0, min(wanted, pixels - taps))
            starts[output] = Int32(start)
            let from = output * weights.stride
            let to = output * taps + wanted - start
            for tap in 0..<Int(weights.counts[output]) { factors[to + tap] = weights.coefficients[from + tap] }
        }
        self.starts = starts
        halves = CoefficientHalves.array(factors, inGroupsOf: group)
        self.taps = taps
        self.channels = channels
    }

    /// `source` has the pixels that the weights refer to and 15 readable bytes behind them, `destination` room for all
    /// outputs, rounded up to four.
    func apply(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>) {
        // `starts` has an element for each output and `halves` twice `taps`; `starts[output] + taps` is less than a
        // group more than the pixels of a row, which is at most 15 bytes, and not more where the row has `taps`.
        starts.withUnsafeBufferPointer { starts in
            halves.withUnsafeBufferPointer { halves in
                var weights = cresample_weights(
                    starts: starts.baseAddress, halves: halves.baseAddress, taps: taps, outputs: starts.count)
                if channels == 1 {
                    cresample_horizontal_gray(ResampleLevel.best, &weights, source, destination)
                } else {
                    cresample_horizontal(ResampleLevel.best, &weights, source, destination)
                }
            }
        }
    }
}

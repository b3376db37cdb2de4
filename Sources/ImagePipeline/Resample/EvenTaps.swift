import CResample

/// Weights in the form that the C functions take: every output has the same number of coefficients, a multiple of the
/// group size.
///
/// Outputs need one or two source pixels more or less than their neighbours. The processor mispredicts the end of a
/// loop over them at about every second output, which costs as much as the sums; factors of 0 cost almost nothing.
struct EvenTaps {
    /// By output: the first source pixel.
    private let starts: [Int32]
    /// `taps` coefficients for each output, in halves.
    private let halves: [Int16]
    private let taps: Int
    private let channels: Int

    /// - Parameters:
    ///   - weights: the weights of at least one output.
    ///   - channels: bytes per pixel, 1 or 4.
    init(_ weights: ResampleWeights, channels: Int) {
        let group = channels == 1 ? Int(CRESAMPLE_GRAY_GROUP) : Int(CRESAMPLE_PIXEL_GROUP)
        let taps = (Int(weights.counts.max() ?? 1) + group - 1) & ~(group - 1)
        let pixels = weights.sourceRange.upperBound
        // Four outputs are computed at a time. Extra ones at the end have factors of 0 and read the start of the row.
        let outputs = (weights.outputCount + 3) & ~3
        var starts = [Int32](repeating: 0, count: outputs)
        var factors = [Int32](repeating: 0, count: outputs * taps)
        for output in 0..<weights.outputCount {
            // Zeros follow the factors, or precede them at the end of a row, so that no pixel outside the row is read,
            // except fewer than a group if the row has fewer than `taps` pixels.
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

    /// Computes a row. `source` has the pixels that the weights refer to and 15 readable bytes after them;
    /// `destination` has room for all outputs, rounded up to a multiple of four.
    func apply(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>) {
        // `starts` has an element for each output and `halves` twice `taps`. `starts[output] + taps` exceeds the pixels
        // of a row by less than a group, at most 15 bytes, and only if the row has fewer than `taps` pixels.
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

/// Makes a row of outputs of a row of source pixels.
struct HorizontalPass {
    private let weights: ResampleWeights
    private let channels: Int
    /// Every output is a copy: no sums.
    private let copies: Bool
    /// And each of the pixel at the same place.
    let isIdentity: Bool
    /// For pixels of four bytes: the same number of coefficients for each output, each four times, once for each byte.
    private let even: EvenTaps?

    init(weights: ResampleWeights, channels: Int) {
        self.weights = weights
        self.channels = channels
        copies = weights.isSelection
        isIdentity = weights.isIdentity
        even = channels == 4 && !copies ? EvenTaps(weights) : nil
    }

    /// `source` has the pixels that the weights refer to and 4 readable bytes behind them, `destination` room for all outputs.
    func apply(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>) {
        if channels == 1 {
            gray(source, destination)
        } else if copies {
            copy(UnsafeRawPointer(source), UnsafeMutableRawPointer(destination))
        } else {
            even?.apply(source, to: destination)
        }
    }

    // The functions below use pointers of arrays. What they reach: `starts` and `counts` have an element for
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
        weights.coefficients.withUnsafeBufferPointer { coefficients in
            guard var factors = coefficients.baseAddress else { return }
            for output in 0..<weights.outputCount {
                var sum = ResampleWeights.half
                let pixels = source + Int(weights.starts[output])
                for tap in 0..<Int(weights.counts[output]) {
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
}

/// Makes a row of outputs of a row of source pixels.
struct HorizontalPass {
    private let weights: ResampleWeights
    private let channels: Int
    /// Every output is a copy: no sums.
    private let copies: Bool
    /// And each of the pixel at the same place.
    let isIdentity: Bool
    /// The same number, where there are sums, of coefficients for each output.
    private let even: EvenTaps?

    init(weights: ResampleWeights, channels: Int) {
        self.weights = weights
        self.channels = channels
        copies = weights.isSelection
        isIdentity = weights.isIdentity
        even = copies ? nil : EvenTaps(weights, channels: channels)
    }

    /// `source` has the pixels that the weights refer to and 15 readable bytes behind them, `destination` room for all
    /// outputs and for 15 bytes behind them.
    func apply(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>) {
        if let even {
            even.apply(source, to: destination)
        } else if channels == 1 {
            copyGray(source, destination)
        } else {
            copy(UnsafeRawPointer(source), UnsafeMutableRawPointer(destination))
        }
    }

    // The functions below use pointers of arrays: `starts` has an element for each output, which is a pixel of a row,
    // for the row was chosen by it.

    private func copy(_ source: UnsafeRawPointer, _ destination: UnsafeMutableRawPointer) {
        weights.starts.withUnsafeBufferPointer { starts in
            for (output, start) in starts.enumerated() {
                let pixel = source.loadUnaligned(fromByteOffset: Int(start) &* 4, as: UInt32.self)
                destination.storeBytes(of: pixel, toByteOffset: output &* 4, as: UInt32.self)
            }
        }
    }

    private func copyGray(_ source: UnsafePointer<UInt8>, _ destination: UnsafeMutablePointer<UInt8>) {
        weights.starts.withUnsafeBufferPointer { starts in
            for (output, start) in starts.enumerated() { destination[output] = source[Int(start)] }
        }
    }
}

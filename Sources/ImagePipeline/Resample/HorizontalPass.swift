/// Computes a row of outputs from a row of source pixels.
struct HorizontalPass {
    private let weights: ResampleWeights
    private let channels: Int
    /// True if every output is a copy, without sums.
    private let copies: Bool
    /// True if every output is a copy of the pixel at the same place.
    let isIdentity: Bool
    /// The weights in even form; nil if outputs are copies.
    private let even: EvenTaps?

    init(weights: ResampleWeights, channels: Int) {
        self.weights = weights
        self.channels = channels
        copies = weights.isSelection
        isIdentity = weights.isIdentity
        even = copies ? nil : EvenTaps(weights, channels: channels)
    }

    /// Computes a row. `source` has the pixels that the weights refer to and 15 readable bytes after them;
    /// `destination` has room for all outputs and 15 bytes after them.
    func apply(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>) {
        if let even {
            even.apply(source, to: destination)
        } else if channels == 1 {
            copyGray(source, destination)
        } else {
            copy(UnsafeRawPointer(source), UnsafeMutableRawPointer(destination))
        }
    }

    // The functions below use pointers of arrays. `starts` has an element for each output, which is the index of a
    // pixel of the row, because the row's region was derived from it.

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

/// Makes a row of outputs of a row of source pixels.
struct HorizontalPass {
    private let weights: ResampleWeights
    private let channels: Int
    /// Every output is a copy: no sums.
    private let copies: Bool
    /// And each of the pixel at the same place.
    let isIdentity: Bool

    init(weights: ResampleWeights, channels: Int) {
        self.weights = weights
        self.channels = channels
        copies = weights.isSelection
        isIdentity = copies && weights.starts.indices.allSatisfy { weights.starts[$0] == $0 }
    }

    /// `source` has the pixels that the weights refer to, `destination` room for all outputs.
    func apply(_ source: UnsafePointer<UInt8>, to destination: UnsafeMutablePointer<UInt8>) {
        weights.starts.withUnsafeBufferPointer { starts in
            weights.counts.withUnsafeBufferPointer { counts in
                weights.coefficients.withUnsafeBufferPointer { coefficients in
                    // Not empty: a specification has at least one output.
                    guard let starts = starts.baseAddress, let counts = counts.baseAddress,
                        let coefficients = coefficients.baseAddress
                    else { return }
                    if channels == 4 {
                        color(source, destination, starts, counts, coefficients)
                    } else {
                        gray(source, destination, starts, counts, coefficients)
                    }
                }
            }
        }
    }

    // The pointers of the functions below are within the weights' arrays and the rows, which were made for them: `starts` and
    // `counts` have `outputCount` elements, `coefficients` `stride` for each, and starts + counts <= pixels in the row.

    private func color(
        _ source: UnsafePointer<UInt8>, _ destination: UnsafeMutablePointer<UInt8>, _ starts: UnsafePointer<Int>,
        _ counts: UnsafePointer<Int>, _ coefficients: UnsafePointer<Int32>
    ) {
        let from = UnsafeRawPointer(source)
        let to = UnsafeMutableRawPointer(destination)
        if copies {
            for output in 0..<weights.outputCount {
                let pixel = from.loadUnaligned(fromByteOffset: starts[output] &* 4, as: UInt32.self)
                to.storeBytes(of: pixel, toByteOffset: output &* 4, as: UInt32.self)
            }
            return
        }
        for output in 0..<weights.outputCount {
            var sum = SIMD4<Int32>(repeating: ResampleWeights.half)
            var pixel = from + starts[output] &* 4
            let factors = coefficients + output &* weights.stride
            for tap in 0..<counts[output] {
                let value = SIMD4<Int32>(truncatingIfNeeded: pixel.loadUnaligned(as: SIMD4<UInt8>.self))
                sum &+= value &* factors[tap]
                pixel += 4
            }
            to.storeBytes(of: ResampleWeights.levels(sum), toByteOffset: output &* 4, as: SIMD4<UInt8>.self)
        }
    }

    private func gray(
        _ source: UnsafePointer<UInt8>, _ destination: UnsafeMutablePointer<UInt8>, _ starts: UnsafePointer<Int>,
        _ counts: UnsafePointer<Int>, _ coefficients: UnsafePointer<Int32>
    ) {
        for output in 0..<weights.outputCount {
            var sum = ResampleWeights.half
            let pixels = source + starts[output]
            let factors = coefficients + output &* weights.stride
            for tap in 0..<counts[output] {
                sum &+= Int32(pixels[tap]) &* factors[tap]
            }
            destination[output] = UInt8(truncatingIfNeeded: max(0, min(255, sum >> ResampleWeights.precision)))
        }
    }
}

extension ResampleWeights {
    /// What rounds a sum to the nearest level.
    static let half: Int32 = 1 << (precision - 1)

    /// From sums to levels.
    @inline(__always)
    static func levels(_ sum: SIMD4<Int32>) -> SIMD4<UInt8> {
        let shifted = sum &>> SIMD4(repeating: precision)
        return SIMD4<UInt8>(truncatingIfNeeded: shifted.clamped(lowerBound: .zero, upperBound: SIMD4(repeating: 255)))
    }
}

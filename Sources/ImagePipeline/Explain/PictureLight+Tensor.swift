extension ImagePipeline {
    /// Measures the light of the pixels in a tensor that ``prepare(_:frame:into:options:isCancelled:)`` has filled. The
    /// margins of a picture that does not fill the tensor do not count.
    ///
    /// At most 32 rows and 32 columns at equal distances are looked at, each pixel with its neighbours to the right and
    /// below, so that it takes the same time for tensors of all sizes.
    ///
    /// - Parameters:
    ///   - tensor: `spec.byteCount` bytes, of any alignment.
    ///   - info: the description that `prepare` returned; for a window of a picture, that of the window.
    ///   - options: those of `prepare`; for a window without its box.
    /// - Returns: nil if the tensor has another size.
    package func light(
        of tensor: UnsafeRawBufferPointer, info: ImageInfo, options: ImageDecodeOptions
    ) -> PictureLight? {
        guard tensor.count == spec.byteCount, let base = tensor.baseAddress else { return nil }
        let transposes = Orientation(exif: info.orientation).transposes
        let framing = Framing(
            width: max(1, transposes ? info.height : info.width), height: max(1, transposes ? info.width : info.height),
            spec: spec, options: options)
        let whole = (x: 0..<spec.width, y: 0..<spec.height)
        let x = whole.x.clamped(to: framing.x.filled), y = whole.y.clamped(to: framing.y.filled)
        let sampler = LightSampler(
            spec, base, x: x.isEmpty ? whole.x : x, y: y.isEmpty ? whole.y : y)
        return switch spec.element {
        case .uint8: sampler.light(of: UInt8.self)
        case .int8: sampler.light(of: Int8.self)
        case .int32: sampler.light(of: Int32.self)
        case .float16: sampler.light(of: Float16.self)
        case .float32: sampler.light(of: Float.self)
        }
    }
}

extension AxisFraming {
    /// The pixels of the tensor's axis that the picture fills.
    fileprivate var filled: Range<Int> { destination..<destination + max(0, outputs.count) }
}

/// An element of a tensor as a number.
private protocol LightElement: BitwiseCopyable {
    var number: Float { get }
}

extension UInt8: LightElement { fileprivate var number: Float { Float(self) } }
extension Int8: LightElement { fileprivate var number: Float { Float(self) } }
extension Int32: LightElement { fileprivate var number: Float { Float(self) } }
extension Float16: LightElement { fileprivate var number: Float { Float(self) } }
extension Float: LightElement { fileprivate var number: Float { self } }

/// Reads the luma (ITU-R BT.601) of some pixels of a tensor, in levels of 0 to 255.
private struct LightSampler {
    /// The maximum number of rows and of columns that are looked at.
    private static let most = 32

    private let base: UnsafeRawPointer
    private let x: Range<Int>, y: Range<Int>
    /// The distances of elements in a row, in a column, and of channels.
    private let column: Int, row: Int, channel: Int
    /// The luma is the sum of the elements by these factors, and the summand.
    private let factors: SIMD3<Float>, summand: Float
    private let isGray: Bool

    init(_ spec: ImageTensorSpec, _ base: UnsafeRawPointer, x: Range<Int>, y: Range<Int>) {
        self.base = base
        (self.x, self.y) = (x, y)
        let channels = spec.channels
        column = spec.layout == .nhwc ? channels : 1
        row = spec.width * column
        channel = spec.layout == .nhwc ? 1 : spec.width * spec.height
        isGray = spec.channelOrder == .gray
        let (scale, bias) = spec.normalization?.linear ?? (spec.scale, spec.bias)
        var factors = SIMD3<Float>(repeating: 0), summand: Float = 0
        for (index, weight) in (isGray ? [1] : [0.299, 0.587, 0.114] as [Float]).enumerated()
        where index < scale.count && index < bias.count && scale[index] != 0 {
            factors[spec.channelOrder == .bgr ? 2 - index : index] = weight / scale[index]
            summand -= weight * bias[index] / scale[index]
        }
        (self.factors, self.summand) = (factors, summand)
    }

    /// The luma of a pixel, which must be in the tensor.
    @inline(__always)
    private func luma<Element: LightElement>(_ x: Int, _ y: Int, _: Element.Type) -> Float {
        let index = y &* row &+ x &* column, size = MemoryLayout<Element>.size
        @inline(__always) func element(_ place: Int) -> Float {
            base.loadUnaligned(fromByteOffset: (index &+ place &* channel) &* size, as: Element.self).number
        }
        var value = summand + factors[0] * element(0)
        if !isGray { value += factors[1] * element(1) + factors[2] * element(2) }
        // Also for a value that is not a number.
        return value > 0 ? min(value, 255) : 0
    }

    func light<Element: LightElement>(of _: Element.Type) -> PictureLight {
        var sum = 0.0, squares = 0.0, count = 0.0, steps = 0.0, stepCount = 0.0
        for y in stride(from: y.lowerBound, to: y.upperBound, by: Self.step(y)) {
            for x in stride(from: x.lowerBound, to: x.upperBound, by: Self.step(x)) {
                let here = luma(x, y, Element.self)
                sum += Double(here)
                squares += Double(here) * Double(here)
                count += 1
                if x &+ 1 < self.x.upperBound {
                    steps += Double(abs(luma(x &+ 1, y, Element.self) - here))
                    stepCount += 1
                }
                if y &+ 1 < self.y.upperBound {
                    steps += Double(abs(luma(x, y &+ 1, Element.self) - here))
                    stepCount += 1
                }
            }
        }
        guard count > 0 else { return PictureLight(brightness: 0, contrast: 0, sharpness: 0) }
        let mean = sum / count
        let deviation = max(0, squares / count - mean * mean).squareRoot()
        let sharpness = stepCount > 0 ? steps / stepCount / (deviation + 5) : 0
        return PictureLight(
            brightness: Float(mean / 255), contrast: Float(min(1, deviation / 128)),
            sharpness: Float(sharpness / (1 + sharpness)))
    }

    /// The smallest distance with which at most ``most`` places of an axis are looked at.
    private static func step(_ axis: Range<Int>) -> Int { max(1, (axis.count + most - 1) / most) }
}

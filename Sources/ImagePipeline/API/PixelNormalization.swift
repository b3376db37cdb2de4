/// Normalization as in training code: `(pixel * rescale + offset - mean) / std`.
///
/// Computed like NumPy for 8-bit pixels: the product in double precision, the rest in single precision. Therefore the
/// values are equal bit for bit to those of Hugging Face's image processors.
public struct PixelNormalization: Sendable, Hashable, Codable {
    /// The factor of each level; usually 1/255.
    public var rescale: Double
    /// Added after that; usually 0.
    public var offset: Double
    /// By channel: red, green, blue, in any order of the tensor; one value for gray.
    public var mean: [Double]
    /// By channel, like `mean`; not 0.
    public var std: [Double]
    /// Divide by `std` a second time, like EfficientNet's processor (`include_top`).
    public var dividesTwice: Bool

    /// Creates a normalization.
    public init(
        rescale: Double = 1 / 255, offset: Double = 0, mean: [Double], std: [Double], dividesTwice: Bool = false
    ) {
        self.rescale = rescale
        self.offset = offset
        self.mean = mean
        self.std = std
        self.dividesTwice = dividesTwice
    }

    /// The value of a level in a channel.
    func value(_ level: Int, channel: Int) -> Float {
        var value = Float(Double(level) * rescale)
        if offset != 0 { value += Float(offset) }
        value = (value - Float(mean[channel])) / Float(std[channel])
        return dividesTwice ? value / Float(std[channel]) : value
    }

    /// The nearest `scale` and `bias`, by channel.
    public var linear: (scale: [Float], bias: [Float]) {
        let divisors = std.map { dividesTwice ? $0 * $0 : $0 }
        return (
            divisors.map { Float(rescale / $0) }, zip(mean, divisors).map { Float((offset - $0) / $1) }
        )
    }
}

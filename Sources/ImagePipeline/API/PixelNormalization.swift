/// Normalization as in training code: `(pixel * rescale + offset - mean) / std`.
///
/// Computed like NumPy for 8-bit pixels: the product in double precision, the rest in single precision. So the values
/// equal those of Hugging Face's image processors bit for bit.
public struct PixelNormalization: Sendable, Hashable, Codable {
    /// The factor of each level; usually 1/255.
    public var rescale: Double
    /// The summand after `rescale`; usually 0.
    public var offset: Double
    /// The mean of each channel: red, green, blue, whatever the order in the tensor; one value for gray.
    public var mean: [Double]
    /// The standard deviation of each channel, in the order of `mean`; not 0.
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

    /// The nearest equivalent `scale` and `bias`, by channel.
    public var linear: (scale: [Float], bias: [Float]) {
        let divisors = std.map { dividesTwice ? $0 * $0 : $0 }
        return (
            divisors.map { Float(rescale / $0) }, zip(mean, divisors).map { Float((offset - $0) / $1) }
        )
    }
}

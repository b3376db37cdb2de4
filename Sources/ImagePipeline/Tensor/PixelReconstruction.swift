/// Converts a tensor back to pixels: for models that return a picture, and to show the input of a model.
///
/// Each pixel value is `(value + bias) * scale`, rounded, halves away from zero, and clamped to 0...255. NaN becomes 0.
public struct PixelReconstruction: Sendable, Hashable {
    /// Columns, at least 1.
    public var width: Int
    /// Rows, at least 1.
    public var height: Int
    /// The order of channels in the tensor.
    public var channelOrder: ChannelOrder
    /// The order of axes.
    public var layout: TensorLayout
    /// The type of elements.
    public var element: PixelElement
    /// The factor of each channel: red, green, blue, whatever the order in the tensor; one value for gray.
    public var scale: [Float]
    /// The summand of each channel, in the order of `scale`.
    public var bias: [Float]

    /// Creates a description.
    ///
    /// Wide: all but the size have defaults. Empty `scale` and `bias` stand for ones and zeros.
    public init(
        width: Int, height: Int, channelOrder: ChannelOrder = .rgb, layout: TensorLayout = .nhwc,
        element: PixelElement = .uint8, scale: [Float] = [], bias: [Float] = []
    ) {
        self.width = width
        self.height = height
        self.channelOrder = channelOrder
        self.layout = layout
        self.element = element
        self.scale = scale.isEmpty ? Array(repeating: 1, count: channelOrder.channels) : scale
        self.bias = bias.isEmpty ? Array(repeating: 0, count: channelOrder.channels) : bias
    }

    /// The inverse of an input's specification, for the pixels that the model received.
    public init(undoing spec: ImageTensorSpec) {
        let (scale, bias) = spec.normalization?.linear ?? (spec.scale, spec.bias)
        self.init(
            width: spec.width, height: spec.height, channelOrder: spec.channelOrder, layout: spec.layout,
            element: spec.element, scale: scale.map { $0 == 0 ? 0 : 1 / $0 }, bias: bias.map { -$0 })
    }

    /// The pixels: 3 bytes each (red, green, blue), or 1 for gray; row by row.
    ///
    /// - Parameter tensor: `width * height * channels` elements, of any alignment.
    /// - Throws: `wrongSize` or `invalidSpec`.
    public func pixels(_ tensor: UnsafeRawBufferPointer) throws(ImageError) -> [UInt8] {
        let channels = channelOrder.channels
        // Apply the checks of inputs, which also bound the products below.
        try ImageTensorSpec(
            width: width, height: height, channelOrder: channelOrder, layout: layout, element: element, scale: scale,
            bias: bias
        ).validate()
        let expected = width * height * channels * element.byteCount
        guard tensor.count == expected, let base = tensor.baseAddress else {
            throw .wrongSize(expected: expected, got: tensor.count)
        }
        let count = width * height
        var pixels = [UInt8](repeating: 0, count: count * channels)
        for channel in 0..<channels {
            let position = channelOrder == .bgr ? 2 - channel : channel
            let start = (layout == .nchw ? position * count : position) * element.byteCount
            let step = (layout == .nchw ? 1 : channels) * element.byteCount
            let bias = self.bias[channel]
            let scale = self.scale[channel]
            for index in 0..<count {
                // Within the tensor, because its size was compared with the sum of all steps.
                let value = load(base + start + index &* step)
                pixels[index &* channels &+ channel] = Self.level((value + bias) * scale)
            }
        }
        return pixels
    }

    /// The pixels as a PNG file.
    public func png(_ tensor: UnsafeRawBufferPointer) throws(ImageError) -> [UInt8] {
        let pixels = try pixels(tensor)
        var result = Result<[UInt8], ImageError>.success([])
        pixels.withUnsafeBytes { bytes in
            do throws(ImageError) {
                result = .success(
                    try PNGEncoder.encode(
                        width: width, height: height, channels: channelOrder.channels, pixels: bytes))
            } catch {
                result = .failure(error)
            }
        }
        return try result.get()
    }

    @inline(__always)
    private func load(_ address: UnsafeRawPointer) -> Float {
        switch element {
        case .uint8: Float(address.load(as: UInt8.self))
        case .int8: Float(address.load(as: Int8.self))
        case .int32: Float(address.loadUnaligned(as: Int32.self))
        case .float16: Float(address.loadUnaligned(as: Float16.self))
        case .float32: address.loadUnaligned(as: Float.self)
        }
    }

    private static func level(_ value: Float) -> UInt8 {
        guard value > 0 else { return 0 }  // also for NaN
        return value < 255 ? UInt8(value.rounded(.toNearestOrAwayFromZero)) : 255
    }
}

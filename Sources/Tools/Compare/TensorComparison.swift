internal import FileFormats
internal import ImagePipeline
internal import Inference
internal import SystemSupport

/// Finds the difference between a tensor and that of the model's original.
enum TensorComparison {
    struct Finding {
        /// The mean and the largest difference, in levels of 0 to 255.
        let mean: Double, largest: Double
        /// The change that would make both equal, as text; nil if they are equal.
        let difference: String?

        var isSame: Bool { difference == nil }
    }

    /// - Parameters:
    ///   - bytes: the picture.
    ///   - made: the tensor that the bundle makes from it.
    ///   - npy: the header of the original's tensor.
    ///   - values: the numbers of the original's tensor.
    /// - Throws: a sentence with the reason why the two cannot be compared.
    static func run(
        _ bytes: [UInt8], made: PreprocessedImage, npy: NPYFile, values: [Float]
    ) throws(CommandError) -> Finding {
        let spec = made.spec
        let own = spec.shape
        // Also compare the same pixels with the channels on the other side: scripts may save a tensor before they
        // transpose it.
        var layout = spec.layout
        if npy.shape != own, npy.shape != Array(own.dropFirst()) {
            let isPlanar = spec.layout == .nchw
            let other =
                isPlanar
                ? [1, spec.height, spec.width, spec.channels] : [1, spec.channels, spec.height, spec.width]
            guard npy.shape == other || npy.shape == Array(other.dropFirst()) else {
                throw CommandError("has shape \(npy.shape), the bundle's tensor has \(own)")
            }
            layout = isPlanar ? .nhwc : .nchw
        }
        let table = levels(of: spec)
        // The size of one level in the tensor, by channel; a constant channel cannot be compared.
        let steps = table.map { ($0[255] - $0[0]) / 255 }
        guard steps.allSatisfy({ $0 != 0 && $0.isFinite }) else {
            throw CommandError("cannot be compared: the bundle's normalization is constant")
        }
        let expected = Picture(values: values, spec: spec, layout: layout)
        let found = Picture(values: floats(made.tensor, spec.element), spec: spec, layout: spec.layout)
        let (mean, largest) = difference(expected, found, steps: steps)
        guard largest > 1.05 else { return Finding(mean: mean, largest: largest, difference: nil) }
        return Finding(mean: mean, largest: largest, difference: try explain(bytes, spec, expected, table, mean))
    }

    /// The values by channel, in the tensor's order, then by pixel.
    private struct Picture {
        let channels: [[Float]]

        init(values: [Float], spec: ImageTensorSpec, layout: TensorLayout) {
            let count = spec.width * spec.height
            let isPlanar = layout == .nchw
            channels = (0..<spec.channels).map { channel in
                (0..<count).map { values[isPlanar ? channel * count + $0 : $0 * spec.channels + channel] }
            }
        }
    }

    private static func floats(_ tensor: [UInt8], _ element: PixelElement) -> [Float] {
        tensor.withUnsafeBytes { raw in
            (0..<raw.count / element.byteCount).map { index in
                switch element {
                case .uint8: Float(raw[index])
                case .int8: Float(Int8(bitPattern: raw[index]))
                case .int32: Float(raw.loadUnaligned(fromByteOffset: index * 4, as: Int32.self))
                case .float16: Float(Float16(bitPattern: raw.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self)))
                case .float32: raw.loadUnaligned(fromByteOffset: index * 4, as: Float.self)
                }
            }
        }
    }

    /// The value of each level, by channel in the tensor's order.
    private static func levels(of spec: ImageTensorSpec) -> [[Float]] {
        let (scale, bias) = spec.normalization?.linear ?? (spec.scale, spec.bias)
        return order(spec.channelOrder).map { channel in (0..<256).map { Float($0) * scale[channel] + bias[channel] } }
    }

    private static func order(_ order: ChannelOrder) -> [Int] {
        switch order {
        case .rgb: [0, 1, 2]
        case .bgr: [2, 1, 0]
        case .gray: [0]
        }
    }

    private static func difference(_ one: Picture, _ other: Picture, steps: [Float]) -> (mean: Double, largest: Double)
    {
        var sum = 0.0, largest = 0.0, count = 0
        for (channel, step) in steps.enumerated() {
            for (a, b) in zip(one.channels[channel], other.channels[channel]) {
                let difference = Double(abs((a - b) / step))
                sum += difference.isFinite ? difference : 255
                largest = max(largest, difference.isFinite ? difference : 255)
                count += 1
            }
        }
        return (count == 0 ? 0 : sum / Double(count), largest)
    }

    /// The usual preprocessing that comes closest to the original's tensor, as a description of the first step that
    /// differs from the bundle's.
    private static func explain(
        _ bytes: [UInt8], _ spec: ImageTensorSpec, _ expected: Picture, _ table: [[Float]], _ mean: Double
    ) throws(CommandError) -> String {
        var best = (mean: mean, words: [String]())
        let own = PreprocessingVariants.Variant(words: "") { _ in }
        let orders: [ChannelOrder] =
            spec.channelOrder == .gray ? [.gray] : [spec.channelOrder, spec.channelOrder == .rgb ? .bgr : .rgb]
        for ignores in [false, true] {
            for geometry in [own] + PreprocessingVariants.geometries(width: spec.width, height: spec.height) {
                for resampler in [own] + PreprocessingVariants.resamplers {
                    var variant = spec
                    geometry.apply(&variant)
                    resampler.apply(&variant)
                    variant.element = .uint8
                    variant.normalization = nil
                    variant.scale = [Float](repeating: 1, count: variant.channels)
                    variant.bias = [Float](repeating: 0, count: variant.channels)
                    variant.decodeMargin = .infinity
                    guard let pixels = pixels(bytes, variant, ignoresOrientation: ignores) else { continue }
                    for order in orders {
                        for (words, levels) in normalizations(spec, order, table) {
                            let difference = self.difference(
                                expected, pixels, from: spec.channelOrder, to: order, levels)
                            // Prefer a combination with fewer changes, unless another one is clearly closer.
                            guard difference < best.mean * 0.8 - 0.01 else { continue }
                            var steps = [geometry.words, resampler.words].filter { !$0.isEmpty }
                            if ignores { steps.insert("the orientation is not applied", at: 0) }
                            if order != spec.channelOrder { steps.append("\"format\": \"\(order.rawValue)\"") }
                            if !words.isEmpty { steps.append("normalized by \(words)") }
                            best = (difference, steps)
                        }
                    }
                }
            }
        }
        guard let first = best.words.first else {
            return "no usual step explains it"
        }
        let rest = best.words.dropFirst()
        return "first at: \(first)" + (rest.isEmpty ? "" : ", then \(rest.joined(separator: ", "))")
            + " (with that the mean difference is \(rounded(best.mean)))"
    }

    static func rounded(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }

    /// A value rounded to a millionth, for differences that are small if everything is correct.
    static func exact(_ value: Double) -> String { "\((value * 1e6).rounded() / 1e6)" }

    private static func pixels(_ bytes: [UInt8], _ spec: ImageTensorSpec, ignoresOrientation: Bool) -> Picture? {
        guard let pipeline = try? ImagePipeline(spec: spec) else { return nil }
        var tensor = [UInt8](repeating: 0, count: spec.byteCount)
        let isMade = bytes.withUnsafeBytes { picture in
            tensor.withUnsafeMutableBytes { tensor in
                (try? pipeline.prepare(
                    picture, into: tensor,
                    options: ImageDecodeOptions(orientation: ignoresOrientation ? .ignore : .apply, fullDecode: true)))
                    != nil
            }
        }
        return isMade ? Picture(values: tensor.map(Float.init), spec: spec, layout: spec.layout) : nil
    }

    /// The bundle's own normalization, and the usual ones: the value of each level, by channel of `order`.
    private static func normalizations(
        _ spec: ImageTensorSpec, _ order: ChannelOrder, _ table: [[Float]]
    ) -> [(String, [[Float]])] {
        // The bundle's own normalization belongs to the colour, not to the position.
        let own = order == spec.channelOrder ? table : table.reversed()
        let usual = PreprocessingVariants.normalizations.map { entry in
            let (scale, bias) = entry.form.linear
            return (
                entry.words,
                self.order(order).map { channel in (0..<256).map { Float($0) * scale[channel] + bias[channel] } }
            )
        }
        return [("", own)] + usual
    }

    /// The mean difference in levels, over every seventh pixel.
    private static func difference(
        _ expected: Picture, _ pixels: Picture, from: ChannelOrder, to: ChannelOrder, _ levels: [[Float]]
    ) -> Double {
        var sum = 0.0, count = 0
        for channel in expected.channels.indices {
            let source = from == to ? channel : expected.channels.count - 1 - channel
            let step = (levels[channel][255] - levels[channel][0]) / 255
            let values = expected.channels[channel], found = pixels.channels[source]
            for place in stride(from: 0, to: values.count, by: 7) {
                let level = levels[channel][Int(max(0, min(255, found[place])))]
                let difference = Double(abs((values[place] - level) / step))
                sum += difference.isFinite ? min(255, difference) : 255
                count += 1
            }
        }
        return count == 0 ? 0 : sum / Double(count)
    }
}

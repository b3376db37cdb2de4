import ImagePipeline
import Testing

/// Compares layouts, orders, elements, scale and bias with the plain tensor of RGB levels.
@Suite struct TensorFormTests {
    static let forms: [ImageTensorSpec] = TensorLayout.allCases.flatMap { layout in
        [ChannelOrder.rgb, .bgr].flatMap { order in
            PixelElement.allCases.map { element in
                ImageTensorSpec(
                    width: 21, height: 13, channelOrder: order, layout: layout, element: element,
                    scale: element == .uint8 ? [1, 0.5, 2] : [0.017, 1 / 127.5, 1], bias: [-2.1, -1, 3.5])
            }
        }
    }

    @Test(
        "every layout, channel order and element type holds the same scaled and biased levels",
        arguments: forms, ["scene.png", "orientation-6.jpg", "orientation-3.png", "gray-8.png"])
    func everyFormHoldsTheSamePicture(_ spec: ImageTensorSpec, _ file: String) throws {
        let picture = try Fixtures.bytes(file)
        let levels = try ImagePipeline(spec: ImageTensorSpec(width: 21, height: 13)).tensor(picture)
        let tensor = try ImagePipeline(spec: spec).tensor(picture)
        let pixels = 21 * 13
        for pixel in 0..<pixels {
            for channel in 0..<3 {
                let position = spec.channelOrder == .bgr ? 2 - channel : channel
                let index = spec.layout == .nchw ? position * pixels + pixel : pixel * 3 + position
                let expected = Float(levels[pixel * 3 + channel]) * spec.scale[channel] + spec.bias[channel]
                let matches = tensor.withUnsafeBytes { Self.element(spec.element, $0, index, expected) }
                #expect(matches, "pixel \(pixel), channel \(channel)")
            }
        }
    }

    static func element(
        _ element: PixelElement, _ tensor: UnsafeRawBufferPointer, _ index: Int, _ expected: Float
    ) -> Bool {
        let rounded = expected.rounded(.toNearestOrAwayFromZero)
        return switch element {
        case .uint8: Float(tensor[index]) == max(0, min(255, rounded))
        case .int8: Float(Int8(bitPattern: tensor[index])) == max(-128, min(127, rounded))
        case .int32: Float(tensor.loadUnaligned(fromByteOffset: index * 4, as: Int32.self)) == rounded
        case .float16: tensor.loadUnaligned(fromByteOffset: index * 2, as: Float16.self) == Float16(expected)
        case .float32: tensor.loadUnaligned(fromByteOffset: index * 4, as: Float.self) == expected
        }
    }

    @Test("a float tensor can be written to an unaligned address")
    func theDestinationNeedNotBeAligned() throws {
        let picture = try Fixtures.bytes("scene.png")
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 10, height: 10, element: .float32))
        let expected = try pipeline.tensor(picture)
        var memory = [UInt8](repeating: 0, count: pipeline.spec.byteCount + 1)
        _ = try picture.withUnsafeBytes { bytes in
            try memory.withUnsafeMutableBytes {
                try pipeline.prepare(bytes, into: UnsafeMutableRawBufferPointer(rebasing: $0[1...]))
            }
        }
        #expect(Array(memory[1...]) == expected)
    }

    @Test(
        "a specification with an invalid size, scale, bias or resize is refused",
        arguments: [
            ImageTensorSpec(width: 0, height: 4), ImageTensorSpec(width: 4, height: 1 << 40),
            ImageTensorSpec(width: 4, height: 4, scale: [1]), ImageTensorSpec(width: 4, height: 4, bias: [1, .nan, 2]),
            ImageTensorSpec(width: 4, height: 4, resizeShorterSide: 0),
            ImageTensorSpec(width: 4, height: 4, channelOrder: .gray, scale: [1, 2, 3]),
        ])
    func aSpecThatContradictsItselfIsRefused(_ spec: ImageTensorSpec) {
        #expect(throws: ImageError.self) { try ImagePipeline(spec: spec) }
    }

    @Test("a destination buffer of another size is refused")
    func aTensorOfAnotherSizeIsRefused() throws {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 4, height: 4))
        var memory = [UInt8](repeating: 0, count: 47)
        #expect(throws: ImageError.wrongSize(expected: 48, got: 47)) {
            try Fixtures.bytes("scene.png").withUnsafeBytes { bytes in
                try memory.withUnsafeMutableBytes { try pipeline.prepare(bytes, into: $0) }
            }
        }
    }
}

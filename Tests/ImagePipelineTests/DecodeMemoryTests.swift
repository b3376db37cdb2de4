import ImagePipeline
import Testing

/// The memory for decoding a picture is predicted from its header.
@Suite struct DecodeMemoryTests {
    private func memory(_ bytes: [UInt8], _ limits: ImageLimits = ImageLimits()) throws -> Int {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 16, height: 16), limits: limits)
        return bytes.withUnsafeBytes { pipeline.memoryToDecode($0) }
    }

    /// The decoder's error states the memory that it would hold for the picture.
    @Test(
        "the memory predicted from a header is at least that of the decoder, and not much more",
        arguments: Fixtures.names)
    func isWhatTheDecoderHolds(_ file: String) throws {
        let bytes = try Fixtures.bytes(file)
        let info = try ImagePipeline.probe(bytes)
        let rows = (info.width + info.height) * 512
        var spec = ImageTensorSpec(width: 16, height: 16)
        spec.cropAndScale = .scaleFill
        let strict = try ImagePipeline(spec: spec, limits: ImageLimits(maxBytes: 0))
        var held = 0
        do {
            _ = try strict.tensor(bytes)
        } catch ImageError.tooMuchMemory(let needed, _, _) {
            held = needed
        }
        let found = try memory(bytes)
        // Twice as much for WebPs that are lossless or have transparency, because libwebp has pixels of its own. Four
        // times as much for interlaced PNGs of one channel, because the header does not state their output.
        #expect(found >= held + rows && found <= held * 4 + rows + 100_000, "\(file): \(found), holds \(held)")
        if held == 0 { #expect(found == rows, "\(file)") }
    }

    @Test("the predicted memory of a progressive JPEG, interlaced PNG or WebP includes the whole picture")
    func formatsWithoutRows_areCountedWhole() throws {
        #expect(Fixtures.names.count > 60)
        for (file, minimum) in [
            ("scene-progressive.jpg", 150 * 113 * 2), ("rgba-8-interlaced.png", 32 * 4),
            ("scene-lossy.webp", 90 * 70 * 4),
        ] {
            let bytes = try Fixtures.bytes(file)
            let info = try ImagePipeline.probe(bytes)
            #expect(try memory(bytes) >= (info.width + info.height) * 512 + minimum, "\(file)")
        }
    }

    @Test("the predicted memory is 0 for unsupported formats and for pictures above the limits")
    func whatIsRefusedTakesNothing() throws {
        #expect(try memory([]) == 0)
        #expect(try memory(Array("GIF89a".utf8)) == 0)
        let bytes = try Fixtures.bytes("rgb-8-interlaced.png")
        for count in 0..<60 { _ = try memory(Array(bytes.prefix(count))) }
        var bomb = bytes
        bomb[16...23] = [0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF]
        #expect(try memory(bomb) == 0)
        #expect(try memory(bomb, ImageLimits(maxPixels: .max)) == 0, "sides that no format has")
        #expect(try memory(bytes, ImageLimits(maxPixels: 1)) == 0)
    }
}

import ImagePipeline
import Testing

@Suite struct PNGEncoderTests {
    @Test("an encoded PNG decodes to the same pixels")
    func whatIsEncodedIsDecodedAgain() throws {
        let pixels = (0..<5 * 3 * 3).map { UInt8($0 * 5) }
        let file = try pixels.withUnsafeBytes { try PNGEncoder.encode(width: 5, height: 3, channels: 3, pixels: $0) }
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 5, height: 3))
        var tensor = [UInt8](repeating: 0, count: pipeline.spec.byteCount)
        let info = try file.withUnsafeBytes { bytes in
            try tensor.withUnsafeMutableBytes { try pipeline.prepare(bytes, into: $0) }
        }
        #expect(info == ImageInfo(format: .png, width: 5, height: 3, orientation: 1))
        #expect(tensor == pixels)
    }

    @Test("the PNG encoder refuses a pixel buffer of another size")
    func aBufferOfAnotherSizeIsRefused() {
        #expect(throws: ImageError.wrongSize(expected: 12, got: 11)) {
            try [UInt8](repeating: 0, count: 11).withUnsafeBytes {
                try PNGEncoder.encode(width: 2, height: 2, channels: 3, pixels: $0)
            }
        }
    }
}

import ImagePipeline
import Testing

/// Processes of ITU-T T.81 beyond the usual two: decoded, or refused in a sentence that says what the picture is.
@Suite struct JPEGCodingTests {
    /// A picture whose frame header says something else. Its marker is 0xFF, then the process; 2 bytes of length; the
    /// precision.
    private func refusal(process: UInt8 = 0xC0, precision: UInt8 = 8) throws -> ImageError? {
        var bytes = try Fixtures.bytes("scene-420.jpg")
        let frame = try #require(bytes.indices.dropLast().first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xC0 })
        bytes[frame + 1] = process
        bytes[frame + 4] = precision
        do {
            _ = try ImagePipeline.probe(bytes)
            return nil
        } catch {
            return error as? ImageError
        }
    }

    @Test("a JPEG with 12 bits per sample is refused with advice to convert the file")
    func twelveBitsAreRefused() throws {
        #expect(
            try refusal(process: 0xC1, precision: 12)
                == .corrupt(
                    "the JPEG has 12 bits for each sample, and Ocelli decodes 8: convert it to an ordinary JPEG"))
        #expect(try refusal() == nil)
    }

    @Test("a lossless JPEG is refused with advice to convert the file", arguments: [UInt8(0xC3), 0xCB])
    func losslessIsRefused(_ process: UInt8) throws {
        #expect(
            try refusal(process: process, precision: 16)
                == .corrupt("the JPEG is lossless (ITU-T T.81, process 14): convert it to PNG or an ordinary JPEG"))
    }

    @Test("a hierarchical JPEG is refused with advice to convert the file", arguments: [UInt8(0xC5), 0xC7, 0xCD, 0xCF])
    func hierarchicalIsRefused(_ process: UInt8) throws {
        #expect(
            try refusal(process: process)
                == .corrupt(
                    "the JPEG is hierarchical (several frames of different sizes): convert it to an ordinary JPEG"))
    }

    /// `jpegtran -arithmetic` codes the same coefficients in another way.
    @Test("an arithmetic-coded JPEG gives the same tensor as its Huffman-coded version")
    func arithmeticCodingIsDecoded() throws {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 150, height: 113, cropAndScale: .scaleFill))
        let expected = try pipeline.tensor(Fixtures.bytes("scene-420.jpg"))
        #expect(try pipeline.tensor(Fixtures.bytes("coding/scene-420-arithmetic.jpg")) == expected)
    }
}

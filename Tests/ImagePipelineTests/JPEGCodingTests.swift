import ImagePipeline
import Testing

/// Processes of ITU-T T.81 other than the usual two are decoded, or refused with an error that names the kind of
/// picture.
@Suite struct JPEGCodingTests {
    /// The error of a picture with a changed frame header: marker 0xFF, process, 2 bytes of length, precision.
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

    /// `jpegtran -arithmetic` codes the same coefficients differently.
    @Test("an arithmetic-coded JPEG gives the tensor of its Huffman-coded version")
    func arithmeticCodingIsDecoded() throws {
        let pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 150, height: 113, cropAndScale: .scaleFill))
        let expected = try pipeline.tensor(Fixtures.bytes("scene-420.jpg"))
        #expect(try pipeline.tensor(Fixtures.bytes("coding/scene-420-arithmetic.jpg")) == expected)
    }
}

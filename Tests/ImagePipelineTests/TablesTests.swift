import ImagePipeline
import Testing

/// A JPEG is decoded with its own tables, whatever was decoded before.
@Suite struct TablesTests {
    /// The picture without the segments of one kind.
    private func without(_ marker: UInt8, _ picture: [UInt8]) -> [UInt8] {
        var result = Array(picture[..<2])
        var offset = 2
        while offset + 4 <= picture.count, picture[offset + 1] != 0xDA {
            let end = offset + 2 + Int(picture[offset + 2]) << 8 + Int(picture[offset + 3])
            if picture[offset + 1] != marker { result += picture[offset..<end] }
            offset = end
        }
        return result + picture[offset...]
    }

    private let pipeline: ImagePipeline

    init() throws {
        pipeline = try ImagePipeline(spec: ImageTensorSpec(width: 20, height: 16))
    }

    @Test("a JPEG without quantization tables is refused, whatever was decoded before")
    func aPictureWithoutQuantizationTablesIsRefused() throws {
        let picture = without(0xDB, try Fixtures.bytes("scene-444.jpg"))
        for other in ["scene-444.jpg", "large-420.jpg", "scene-progressive.jpg"] {
            _ = try pipeline.tensor(Fixtures.bytes(other))
            let error = #expect(throws: ImageError.self) { try pipeline.tensor(picture) }
            #expect(error?.label == "corrupt" && error?.message.contains("Quantization") == true)
        }
    }

    /// Cameras omit the standard Huffman tables in the frames of a video.
    @Test("a JPEG without Huffman tables is decoded with the standard tables, whatever was decoded before")
    func theUsualHuffmanTablesMayBeLeftOut() throws {
        let whole = try Fixtures.bytes("scene-420.jpg")
        let expected = try pipeline.tensor(whole)
        let frame = without(0xC4, whole)
        #expect(frame.count < whole.count - 400)
        // These pictures have other tables.
        for other in ["scene-progressive.jpg", "size-4000x3000.jpg"] {
            _ = try pipeline.tensor(Fixtures.bytes(other))
            #expect(try pipeline.tensor(frame) == expected)
        }
    }
}

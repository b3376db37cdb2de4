import Foundation
import ImagePipeline
import Inference
import Synchronization
import TestSupport
import Testing

/// Raw frames in memory of another owner, as a camera's buffer.
@Suite(.timeLimit(.minutes(2))) struct FramesTests {
    /// A model of one pixel that returns its input: the middle of the picture.
    private static func model(in folder: TemporaryFolder) async throws -> Model {
        try folder.write([
            "m/model.json": """
            { "name": "m", "id": "m", "version": "1", "model": { "file": "m.xml", "backend": "openvino" },
              "inputs": [ { "name": "x", "type": "image", "shape": [1, 1, 3], "format": "RGB",
                            "normalize": { "standard": "[0,1]" } } ],
              "outputs": [ { "name": "x", "type": "array", "shape": [1, 1, 3], "labels": "labels.txt" } ] }
            """,
            "m/labels.txt": "red\ngreen\nblue\n",
        ])
        let place = folder.url.appendingPathComponent("m")
        try IdentityModel.write("f32", named: "m", shape: [1, 1, 1, 3], into: place)
        return try await Model.load(contentsOf: place.path)
    }

    /// Counts the calls of a release, which frees the memory.
    private final class Owner: Sendable {
        let releases = Atomic(0)
    }

    @Test("memory of another owner is read with its stride, turned as stated, and released once, after the last copy")
    func memoryOfAnotherOwner() async throws {
        let folder = try TemporaryFolder()
        let model = try await Self.model(in: folder)
        // Blue, green, red, opacity: a column of red and one of green, with 5 bytes between the rows.
        let frame = try RawFrame(.bgra, width: 2, height: 3, stride: 13)
        let row: [UInt8] = [0, 0, 255, 255, 0, 255, 0, 255, 9, 9, 9, 9, 9]
        let owner = Owner()
        var image: EncodedImage? = {
            let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 39, alignment: 16)
            memory.copyBytes(from: row + row + row)
            let address = UInt(bitPattern: memory.baseAddress)
            return EncodedImage(frame: frame, in: UnsafeRawBufferPointer(memory), orientation: .right) {
                owner.releases.add(1, ordering: .relaxed)
                UnsafeMutableRawPointer(bitPattern: address)?.deallocate()
            }
        }()
        let lent = try #require(image)
        let result = try await model.classification(of: lent, top: 3)
        #expect(result.image == ImageInfo(format: .raw, width: 2, height: 3, orientation: 6))
        // Half of both colours, and no blue.
        let confidences = Dictionary(uniqueKeysWithValues: result.classifications.map { ($0.label, $0.confidence) })
        #expect(abs((confidences["red"] ?? 0) - 0.5) < 0.01 && abs((confidences["green"] ?? 0) - 0.5) < 0.01)
        #expect(confidences["blue"] == 0)
        image = nil
        #expect(owner.releases.load(ordering: .relaxed) == 0)
        _ = try await model.classification(of: lent, top: 1)
        withExtendedLifetime(lent) {}
    }

    @Test("a frame is released when the last picture that refers to it is gone")
    func release() throws {
        let owner = Owner(), bytes: [UInt8] = [1, 2, 3]
        try bytes.withUnsafeBytes { memory in
            let frame = try RawFrame(.rgb, width: 1, height: 1)
            var first: EncodedImage? = EncodedImage(frame: frame, in: memory) {
                owner.releases.add(1, ordering: .relaxed)
            }
            var second = first
            #expect(second?.withUnsafeBytes { Array($0) } == bytes)
            first = nil
            #expect(owner.releases.load(ordering: .relaxed) == 0)
            second = nil
            #expect(owner.releases.load(ordering: .relaxed) == 1)
        }
    }

    @Test("a frame whose length does not fit its layout is refused by the prediction")
    func wrongLength() async throws {
        let folder = try TemporaryFolder()
        let model = try await Self.model(in: folder)
        let image = EncodedImage([1, 2, 3, 4], frame: try RawFrame(.rgb, width: 1, height: 1))
        let error = await #expect(throws: InferenceError.self) { try await model.classification(of: image, top: 1) }
        #expect(error?.message.contains("expected 3 bytes") == true && error?.message.contains("found 4") == true)
    }
}

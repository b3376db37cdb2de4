import Foundation
import Inference
import TestSupport
import Testing

/// A picture that one version has decoded is used by another version only if their tensors have the same form.
@Suite(.timeLimit(.minutes(2))) struct DecodedInputTests {
    /// Pictures of one colour.
    private static let red =
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg=="
    private static let green =
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAD0lEQVR4nGNg+M8AQhAKABvyA/1tVLjHAAAAAElFTkSuQmCC"

    /// A model that returns its input: the mean color; its channels are the classes.
    private static func model(
        _ labels: String, in folder: TemporaryFolder, scale: String = "0.00392156862745098"
    ) async throws -> Model {
        let name = UUID().uuidString
        try folder.write([
            name + "/model.json": """
            { "name": "m", "id": "m", "version": "1", "model": { "file": "m.xml", "backend": "openvino" },
              "inputs": [ { "name": "x", "type": "image", "shape": [1, 1, 3], "format": "RGB",
                            "normalize": { "scale": \(scale), "bias": 0 } } ],
              "outputs": [ { "name": "x", "type": "array", "shape": [1, 1, 3], "labels": "labels.txt" } ] }
            """,
            name + "/labels.txt": labels,
        ])
        let place = folder.url.appendingPathComponent(name)
        try IdentityModel.write("f32", named: "m", shape: [1, 1, 1, 3], into: place)
        return try await Model.load(contentsOf: place.path)
    }

    private func label(
        _ model: Model, _ image: EncodedImage, keeping kept: DecodedInput? = nil, as decoded: DecodedInput? = nil
    ) async throws -> String? {
        var options = PredictionOptions()
        (options.keeps, options.decoded) = (kept, decoded)
        return try await model.classification(of: image, top: 1, options: options).classifications.first?.label
    }

    @Test("a kept picture is used by a model whose input has the same form, and decoded again by any other")
    func aKeptPictureIsForModelsOfTheSameInput() async throws {
        let folder = try TemporaryFolder()
        let first = try await Self.model("red\ngreen\nblue\n", in: folder)
        let alike = try await Self.model("a\nb\nc\n", in: folder)
        let other = try await Self.model("a\nb\nc\n", in: folder, scale: "1")
        let red = EncodedImage([UInt8](try #require(Data(base64Encoded: Self.red))))
        let green = EncodedImage([UInt8](try #require(Data(base64Encoded: Self.green))))
        let junk = EncodedImage(Array("no picture".utf8))
        let kept = DecodedInput()
        // No picture is kept yet.
        await #expect(throws: InferenceError.self) { try await label(alike, junk, as: kept) }
        #expect(try await label(first, red, keeping: kept) == "red")
        #expect(try await label(alike, junk, as: kept) == "a", "the bytes are not read")
        let error = await #expect(throws: InferenceError.self) { try await label(other, junk, as: kept) }
        guard case .image? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try await label(other, green, as: kept) == "b")
        // Of several pictures, the first is kept.
        #expect(try await label(first, green, keeping: kept) == "green")
        #expect(try await label(alike, junk, as: kept) == "a")
    }
}

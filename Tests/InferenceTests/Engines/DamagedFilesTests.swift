import Foundation
import Inference
import TestSupport
import Testing

/// Damaged model files are refused with reasons that the files themselves show, not with the messages of engines.
@Suite struct DamagedFilesTests {
    private let folder: TemporaryFolder
    private static let relu = ONNXFile(
        [.init("Relu", ["x"], ["y"])], inputs: [("x", [1, 4])], outputs: [("y", [1, 4])]
    ).bytes

    init() throws { folder = try TemporaryFolder() }

    private func refusal(_ name: String, _ bytes: Data) async throws -> String {
        let url = folder.url.appendingPathComponent(name)
        try bytes.write(to: url)
        let error = await #expect(throws: InferenceError.self) { try await Model.load(contentsOf: url.path) }
        return String(describing: error)
    }

    @Test("an empty file is called empty", arguments: ["model.onnx", "model.tflite"])
    func empty(name: String) async throws {
        let text = try await refusal(name, Data())
        #expect(text.contains("it is empty: was its download or copy interrupted?"), "\(text)")
    }

    @Test("an ONNX file that ends too early is called incomplete, at each length without the whole graph")
    func cut() async throws {
        for count in [Self.relu.count / 2, Self.relu.count - 30] {
            let text = try await refusal("model.onnx", Self.relu.prefix(count))
            #expect(text.contains("it is no whole ONNX file (\(count) bytes)"), "\(text)")
        }
    }

    @Test("bytes of another kind are called no model")
    func others() async throws {
        // Only ModelProto.ir_version.
        #expect(try await refusal("model.onnx", Data([8, 9])).contains("it has no graph"))
        #expect(
            try await refusal("model.tflite", Data([0, 1, 2, 3, 4, 5, 6, 7, 8])).contains(
                "it is no TensorFlow Lite file"))
        #expect(try await refusal("model.tflite", Data("not a model".utf8)).contains("it is a text file"))
    }

    @Test("weights in a file that is missing are named, with the folder where they belong")
    func missingWeights() async throws {
        let file = ONNXFile(
            [.init("Add", ["x", "w"], ["y"])], inputs: [("x", [1, 4])], outputs: [("y", [1, 4])],
            weights: [("w", 4, "model.onnx_data")])
        let text = try await refusal("model.onnx", file.bytes)
        #expect(text.contains("it keeps its weights in \"model.onnx_data\", which cannot be opened"), "\(text)")
        #expect(text.contains("put that file where model.onnx is, in \(folder.url.path)"), "\(text)")
    }
}

import Foundation
import Inference
import Teaching
import TestSupport
import Testing

/// The examples of docs/model-json.md.
@Suite struct ModelJSONDocumentTests {
    static let examples: [String] = {
        let page = SharedData.packageRoot.appendingPathComponent("docs/model-json.md")
        let text = (try? String(contentsOf: page, encoding: .utf8)) ?? ""
        return text.matches(of: /```json\n(\{\n[\s\S]*?)```/).map { String($0.output.1) }
    }()

    @Test("docs/model-json.md has an example for each task")
    func thereIsOneExampleForEachTask() {
        for words in [
            #""labels": "imagenet-1k""#, #""type": "boxes""#, #""type": "mask""#, #""type": "keypoints""#,
            #""type": "embedding""#, #""taught": "taught.safetensors""#,
            #""denormalize""#, #""open_size""#, #""name": "patient""#,
        ] {
            #expect(Self.examples.contains { $0.contains(words) }, "\(words)")
        }
    }

    /// Used as a reader would: copied into a folder with the files that it names.
    @Test(
        "each example of docs/model-json.md is accepted as it stands, and refused with a wrong key",
        arguments: examples)
    func exampleIsAcceptedAsItStands(_ example: String) throws {
        let folder = try TemporaryFolder()
        for file in example.matches(of: /"([\w-]+\.(?:onnx|tflite|txt))"/) {
            try folder.write([String(file.output.1): "one\ntwo\nthree\n"])
        }
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent(
                "Tests/Fixtures/observations/zeroshot/classes.safetensors"),
            to: folder.url.appendingPathComponent("classes.safetensors"))
        let set = try #require(ExampleSet(dimension: 2, labels: ["bolt"], rows: [[1, 0]], classes: [0]))
        try Data(TaughtFile.bytes(of: try #require(TaughtClassifier(.nearestMean, set)))).write(
            to: folder.url.appendingPathComponent("taught.safetensors"))
        let path = try folder.write(["model.json": example])
        #expect(throws: Never.self) { try ModelBundle(path: path) }
        try folder.write(["model.json": example.replacing(#""type": "#, with: #""kind": "#)])
        #expect(throws: InferenceError.self) { try ModelBundle(path: path) }
    }

    @Test("the detector head of docs/model-json.md has at most 15 lines and loads as it stands")
    func aHeadByHand() async throws {
        let page = SharedData.packageRoot.appendingPathComponent("docs/model-json.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let heads = text.matches(of: /```json\n(\{ "name": "faces"[\s\S]*?)\n```/).map { String($0.output.1) }
        let head = try #require(heads.first { $0.contains("\"coding\"") })
        #expect(heads.count == 1 && head.split(separator: "\n").count <= 15)
        // Two priors in each cell, for 64 by 64 pixels: 2 * (64 + 16 + 4) rows.
        func problems(_ head: String, rows: Int) async throws -> [String] {
            let folder = try TemporaryFolder()
            let path = try folder.write([
                "m.onnx": "",
                "model.json": """
                { "name": "n", "id": "n", "version": "1", "model": { "file": "m.onnx", "backend": "onnx" },
                  "inputs": [ { "name": "image", "type": "image", "format": "RGB", "shape": [64, 64, 3] } ],
                  "outputs": [ \(head) ] }
                """,
            ])
            var configuration = ModelConfiguration()
            configuration.engine = FakeEngine(
                inputs: [TensorPort(name: "image", elementType: .float32, shape: [1, 64, 64, 3])],
                outputs: [("loc", 4), ("conf", 2), ("landms", 10)].map {
                    TensorPort(name: $0, elementType: .float32, shape: [1, rows, $1])
                }, answer: [UInt8](repeating: 0, count: 1_024))
            do throws(InferenceError) {
                _ = try await Model.load(contentsOf: path, configuration: configuration)
                return []
            } catch {
                guard case .invalidBundle(_, let problems) = error else { return [error.message] }
                return problems.map(\.description)
            }
        }
        #expect(try await problems(head, rows: 168) == [])
        #expect(try await problems(head, rows: 160).contains { $0.contains("expected 168 rows") })
        #expect(
            try await problems(head.replacing("offsets", with: "offset"), rows: 168).contains { $0.contains("coding") })
    }
}

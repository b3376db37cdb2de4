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

    @Test func thereIsOneExampleForEachTask() {
        for words in [
            #""labels": "imagenet-1k""#, #""type": "boxes""#, #""type": "mask""#, #""type": "keypoints""#,
            #""type": "embedding""#, #""taught": "taught.safetensors""#,
            #""denormalize""#, #""name": "patient""#,
        ] {
            #expect(Self.examples.contains { $0.contains(words) }, "\(words)")
        }
    }

    /// As a reader would use it: copied into a folder with the files that it names.
    @Test(arguments: examples)
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
        try Data(TaughtFile.bytes(of: try #require(TaughtHead(.nearestMean, set)))).write(
            to: folder.url.appendingPathComponent("taught.safetensors"))
        let path = try folder.write(["model.json": example])
        #expect(throws: Never.self) { try ModelBundle(path: path) }
        try folder.write(["model.json": example.replacing(#""type": "#, with: #""kind": "#)])
        #expect(throws: InferenceError.self) { try ModelBundle(path: path) }
    }
}

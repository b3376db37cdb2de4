import Foundation
import Inference
import Testing

/// Label files that model.json names are read like those of a folder without model.json.
@Suite struct LabelFormsTests {
    private static func load(_ file: String, _ text: String, json: Bool = true) async throws -> Model {
        let folder = try TemporaryFolder()
        var files = ["model.onnx": "", file: text]
        files["model.json"] =
            json
            ? """
            { "name": "n", "id": "n", "version": "1", "model": { "file": "model.onnx", "backend": "onnx" },
              "inputs": [ { "name": "x", "type": "image", "format": "RGB", "shape": [8, 8, 3] } ],
              "outputs": [ { "name": "y", "type": "array", "shape": [1, 5], "labels": "\(file)" } ] }
            """ : nil
        if !json {
            files["preprocessor_config.json"] = #"{"image_processor_type": "ViTImageProcessor", "size": 8}"#
        }
        let path = try folder.write(files)
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine(
            inputs: [TensorPort(name: "x", elementType: .float32, shape: json ? [1, 8, 8, 3] : [1, 3, 8, 8])],
            outputs: [TensorPort(name: json ? "y" : "logits", elementType: .float32, shape: [1, 5])],
            answer: [UInt8](repeating: 0, count: 20))
        return try await Model.load(contentsOf: path, configuration: configuration)
    }

    @Test(
        "numbered lines mean the same in a file that model.json names as in a folder without model.json",
        arguments: [
            ("labels.txt", "0  person\n1  bicycle\n3  car\n4  motorcycle\n"),
            ("labels.txt", "4: motorcycle\n0: person\n3: car\n1: bicycle\n"),
            ("labels.csv", "id,name\n3,car\n0,person\n1,bicycle\n4,motorcycle\n"),
            ("labels.json", #"{"0": "person", "1": "bicycle", "3": "car", "4": "motorcycle"}"#),
        ])
    func formsAreTheSame(_ file: String, _ text: String) async throws {
        let wanted = ["person", "bicycle", "2", "car", "motorcycle"]
        #expect(try await Self.load(file, text).description.classLabels == wanted)
        #expect(try await Self.load(file, text, json: false).description.classLabels == wanted)
    }

    @Test(
        "a file of labels that cannot be read is a problem with its place and reason",
        arguments: [
            ("labels.json", "[\"a\",", "is not valid JSON"), ("labels.txt", "\n\n", "has no names"),
            ("labels.csv", "a,b\nc,d\n", "has no column with the numbers 0 to 1"),
            ("labels.txt", "a\nb\n", "the file has 2 labels"),
        ])
    func problems(_ file: String, _ text: String, _ words: String) async throws {
        let error = await #expect(throws: InferenceError.self) { try await Self.load(file, text) }
        #expect(error?.message.contains("outputs[0].labels") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test(
        "arrays of colours in a BGR input are warned of, and objects and single numbers are not",
        arguments: [
            (#""BGR", "normalize": {"mean": [103.9, 116.8, 123.7], "std": 1, "scale": 1}"#, ["mean"]),
            (#""BGR", "normalize": {"mean": [0.4, 0.45, 0.5], "std": [0.2, 0.21, 0.22]}"#, ["mean", "std"]),
            (#""BGR", "normalize": {"scale": 1, "bias": [-103.9, -116.8, -123.7]}"#, ["bias"]),
            (#""BGR", "normalize": {"scale": 1, "bias": {"r": -123.7, "g": -116.8, "b": -103.9}}"#, []),
            (#""BGR", "normalize": {"mean": [0.5, 0.5, 0.5], "std": 0.5}"#, []),
            (#""RGB", "normalize": {"mean": [0.4, 0.45, 0.5], "std": [0.2, 0.21, 0.22]}"#, []),
        ])
    func coloursOfBGR(_ format: String, _ warned: [String]) async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write([
            "model.onnx": "",
            "model.json": """
            { "name": "n", "id": "n", "version": "1", "model": { "file": "model.onnx", "backend": "onnx" },
              "inputs": [ { "name": "x", "type": "image", "shape": [8, 8, 3], "format": \(format) } ],
              "outputs": [ { "name": "y", "type": "array", "shape": [1, 5] } ] }
            """,
        ])
        var configuration = ModelConfiguration()
        configuration.engine = FakeEngine(
            inputs: [TensorPort(name: "x", elementType: .float32, shape: [1, 8, 8, 3])],
            outputs: [TensorPort(name: "y", elementType: .float32, shape: [1, 5])],
            answer: [UInt8](repeating: 0, count: 20))
        let advice = try await Model.load(contentsOf: path, configuration: configuration).loadReport.advice
        #expect(advice.count == warned.count, "\(advice)")
        for (text, key) in zip(advice, warned) {
            #expect(
                text.hasPrefix("inputs[0].normalize.\(key): the numbers of an array are those of red, green and blue"))
        }
    }
}

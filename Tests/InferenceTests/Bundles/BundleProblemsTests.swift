import Foundation
import Inference
import TestSupport
import Testing

/// Every mistake in a bundle is reported, all of them at once, each with its path.
@Suite struct BundleProblemsTests {
    /// A valid bundle for an engine with a picture input and three classes.
    private static let good = """
        {
          "name": "good", "id": "good", "version": "1",
          "model": { "file": "m.onnx", "backend": "onnx" },
          "inputs": [ { "name": "image", "type": "image", "shape": [2, 2, 3], "format": "RGB" } ],
          "outputs": [ { "name": "scores", "type": "array", "shape": [-1, 3], "labels": "labels.txt" } ],
        }
        """

    private static func engine() -> FakeEngine {
        FakeEngine(
            inputs: [TensorPort(name: "image", elementType: .float32, shape: [-1, 2, 2, 3])],
            outputs: [TensorPort(name: "scores", elementType: .float32, shape: [-1, 3])],
            answer: [UInt8](repeating: 0, count: 12))
    }

    private func problems(_ json: String, labels: String = "a\nb\nc\n") async throws -> [String] {
        try await Self.engine().problems(of: ["model.json": json, "labels.txt": labels, "m.onnx": ""])
    }

    @Test("a bundle without mistakes has no problems")
    func aGoodBundleHasNone() async throws {
        #expect(try await problems(Self.good) == [])
    }

    /// Training code writes means in the units of the scaled pixel.
    @Test(
        "a normalization mean within the range of the scaled pixels is accepted",
        arguments: [
            "{\"mean\": [0.485, 0.456, 0.406], \"std\": [0.229, 0.224, 0.225]}", "{\"mean\": 0.5, \"std\": 0.5}",
            "{\"mean\": [123.68, 116.78, 103.94], \"std\": [58.4, 57.1, 57.4], \"scale\": 1}",
            "{\"mean\": 1, \"std\": 1}",
            "{\"mean\": 127.5, \"std\": 127.5, \"scale\": 1}", "{\"mean\": 0, \"offset\": -1, \"scale\": 0.00784}",
        ])
    func meansWithinReachAreTaken(_ normalize: String) async throws {
        let json = Self.good.replacingOccurrences(
            of: "\"format\": \"RGB\"", with: "\"format\": \"RGB\", \"normalize\": \(normalize)")
        #expect(try await problems(json) == [])
    }

    /// The text to replace, its replacement, the beginning of the expected problem, and a text that it must contain.
    @Test(
        "each mistake in model.json is reported with its path and the reason",
        arguments: [
            ("\"id\": \"good\",", "", "id: ", "is missing"),
            ("\"name\": \"good\"", "\"name\": 7", "name: ", "expected a string, found the number 7"),
            ("\"version\": \"1\"", "\"version\": \"\"", "version: ", "is empty"),
            (
                "\"version\": \"1\"", "\"version\": \"1\", \"licence\": \"MIT\"", "licence: ",
                "did you mean \"license\"?"
            ),
            ("\"backend\": \"onnx\"", "\"backend\": \"pytorch\"", "model.backend: ", "\"pytorch\""),
            ("\"backend\": \"onnx\"", "\"backend\": \"onnx\", \"modes\": [\"train\"]", "model.modes: ", "predict"),
            ("\"file\": \"m.onnx\"", "\"file\": \"missing.onnx\"", "model.file: ", "missing.onnx"),
            ("\"file\": \"m.onnx\"", "\"file\": \"../m.onnx\"", "model.file: ", "inside the bundle"),
            ("[2, 2, 3]", "[2, 2, 4]", "inputs[0].shape: ", "4 channels"),
            ("[2, 2, 3]", "[4, 4, 3]", "inputs[0].shape: ", "[-1,2,2,3]"),
            ("[2, 2, 3]", "[2, 2, 2, 3]", "inputs[0].shape[0]: ", "found 2"),
            ("[2, 2, 3]", "[2, 2, 1e400]", "model.json: ", "within the range"),
            ("[2, 2, 3]", "[2, \"2\", 3]", "inputs[0].shape[1]: ", "\"2\""),
            ("[2, 2, 3]", "[2, -1, 3]", "inputs[0].shape: ", "leaves a side open"),
            ("\"format\": \"RGB\"", "\"format\": \"RGBA\"", "inputs[0].format: ", "\"RGBA\""),
            (", \"format\": \"RGB\"", "", "inputs[0].format: ", "is missing"),
            (
                "\"format\": \"RGB\"",
                "\"format\": \"RGB\", \"normalize\": {\"mean\": [123.68, 116.78, 103.94], \"std\": [58.4, 57.1, 57.4]}",
                "inputs[0].normalize.mean: 123.68", "is it in pixels? add \"scale\": 1"
            ),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"normalize\": {\"mean\": -127.5, \"scale\": 0.003921569}",
                "inputs[0].normalize.mean: -127.5", "(0.003921569)"
            ),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"fill_color\": \"#+12345\"", "inputs[0].fill_color: ",
                "#+12345"
            ),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"resize_shorter_side\": 20000",
                "inputs[0].resize_shorter_side: ", "1 to 16384"
            ),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"resize_shorter_side\": 4, \"crop_and_scale\": \"fit\"",
                "inputs[0].resize_shorter_side: ", "\"fit\""
            ),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"normalize\": {\"scale\": 0}",
                "inputs[0].normalize.scale: ", "must not be 0"
            ),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"normalize\": {\"standard\": \"[0,1]\", \"mean\": 1}",
                "inputs[0].normalize: ", "with \"standard\""
            ),
            ("\"format\": \"RGB\"", "\"format\": \"RGB\", \"dtype\": \"uint8\"", "inputs[0].dtype: ", "float32"),
            ("\"format\": \"RGB\"", "\"format\": \"RGB\", \"layout\": \"NCHW\"", "inputs[0].shape: ", "as NCHW"),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"fill_color\": \"white\"", "inputs[0].fill_color: ",
                "#ffffff"
            ),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"normalize\": {\"standard\": \"[0,255]\"}",
                "inputs[0].normalize.standard: ", "[-1,1]"
            ),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"normalize\": {\"mean\": [1, 2], \"std\": 1}",
                "inputs[0].normalize.mean: ", "an array of 3"
            ),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"normalize\": {\"mean\": 0, \"std\": [1, 0, 1]}",
                "inputs[0].normalize.std: ", "must be greater than 0"
            ),
            ("\"name\": \"image\"", "\"name\": \"picture\"", "inputs[0].name: ", "it has \"image\""),
            ("\"type\": \"image\"", "\"type\": \"video\"", "inputs[0].type: ", "\"video\""),
            ("[-1, 3]", "[-1, 4]", "outputs[0].shape: ", "4 elements"),
            ("\"labels.txt\"", "\"none.txt\"", "outputs[0].labels: ", "none.txt"),
            ("\"name\": \"scores\"", "\"name\": \"score\"", "outputs[0].name: ", "it has \"scores\""),
            ("\"backend\": \"onnx\"", "\"backend\": \"onnx\", \"quantized\": true", "model.quantized: ", "float32"),
            ("{\n", "{ \"placeholder\": true,\n", "placeholder: ", "placeholder"),
            (
                "\"file\": \"m.onnx\", \"backend\": \"onnx\"", "\"file\": \"m.pt\"", "model.backend: ",
                "does not follow from \"m.pt\""
            ),
            ("[2, 2, 3]", "[]", "inputs[0].shape: ", "is empty"),
            ("[2, 2, 3]", "\"2x2\"", "inputs[0].shape: ", "expected an array"),
            (", \"shape\": [2, 2, 3]", "", "inputs[0].shape: ", "is missing"),
            ("\"type\": \"image\", ", "", "inputs[0].type: ", "is missing"),
            ("\"inputs\": [", "\"_inputs\": [", "inputs: ", "is missing"),
            (
                "\"outputs\": [ { \"name\": \"scores\", \"type\": \"array\", \"shape\": [-1, 3], \"labels\": \"labels.txt\" } ]",
                "\"outputs\": []", "outputs: ", "is empty"
            ),
            (
                "\"labels\": \"labels.txt\"", "\"quantize\": {\"standard\": \"[0,1]\"}", "outputs[0].quantize: ",
                "is not a known key"
            ),
            ("\"labels\": \"labels.txt\"", "\"dequantize\": {}", "outputs[0].dequantize: ", "\"standard\""),
            ("\"labels\": \"labels.txt\"", "\"dequantize\": {\"scale\": 2}", "outputs[0].dequantize: ", "both"),
            ("\"labels\": \"labels.txt\"", "\"dequantize\": {\"bias\": 2}", "outputs[0].dequantize: ", "both"),
            (
                "\"labels\": \"labels.txt\"", "\"dequantize\": {\"standard\": \"[-10,10]\"}",
                "outputs[0].dequantize.standard: ", "\"[-10,10]\""
            ),
            (
                "\"labels\": \"labels.txt\"", "\"dequantize\": {\"scale\": \"2\", \"bias\": 0}",
                "outputs[0].dequantize.scale: ",
                "a number"
            ),
            ("\"type\": \"array\"", "\"type\": \"string\"", "outputs[0].dtype: ", "is missing"),
            (
                "\"type\": \"array\"", "\"type\": \"string\", \"dtype\": \"float32\"", "outputs[0].labels: ",
                "is not a known key"
            ),
            (
                "\"type\": \"array\", \"shape\": [-1, 3]", "\"type\": \"scalar\", \"shape\": [3]", "outputs[0].shape: ",
                "3 elements"
            ),
            ("\"type\": \"array\"", "\"type\": \"array\", \"dtype\": \"float\"", "outputs[0].dtype: ", "\"float\""),
            ("\"format\": \"RGB\"", "\"format\": \"RGB\", \"normalize\": {}", "inputs[0].normalize: ", "\"standard\""),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"normalize\": {\"scale\": 1, \"bias\": {}}",
                "inputs[0].normalize.bias: ", "none of them"
            ),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"normalize\": {\"scale\": 1, \"bias\": {\"red\": 1}}",
                "inputs[0].normalize.bias.red: ", "is not a known key"
            ),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"denormalize\": {\"standard\": \"[0,1]\"}",
                "inputs[0].denormalize: ", "is not a known key"
            ),
            ("{\n", "[ {\n", "model.json: ", "is not valid JSON"),
            (
                "\"format\": \"RGB\"", "\"format\": \"RGB\", \"format\": \"BGR\"", "model.json: ",
                "\"format\" is given a second time"
            ),
            ("{\n", "{ \"runtime\": {\"warmup\": 1},\n", "runtime.warmup: ", "expected an object"),
            ("{\n", "{ \"runtime\": {\"warmup\": {\"run\": 1}},\n", "runtime.warmup.run: ", "did you mean \"runs\"?"),
            ("{\n", "{ \"runtime\": {\"warmup\": {\"runs\": 1001}},\n", "runtime.warmup.runs: ", "from 0 to 1000"),
            ("{\n", "{ \"runtime\": {\"warmup\": {\"image\": []}},\n", "runtime.warmup.image: ", "found 0"),
            ("{\n", "{ \"runtime\": {\"warmup\": {\"image\": 3}},\n", "runtime.warmup.image: ", "the number 3"),
            (
                "{\n", "{ \"runtime\": {\"warmup\": {\"image\": [\"none.jpg\"]}},\n", "runtime.warmup.image[0]: ",
                "\"none.jpg\" is not in the bundle"
            ),
            (
                "{\n", "{ \"runtime\": {\"warmup\": {\"image\": \"../labels.txt\"}},\n", "runtime.warmup.image: ",
                "expected the name of a file in the bundle"
            ),
            (
                "{\n", "{ \"runtime\": {\"warmup\": {\"image\": \"labels.txt\"}},\n", "runtime.warmup.image: ",
                "\"labels.txt\" cannot be used: "
            ),
            ("{\n", "{ \"runtime\": {\"batch\": 0},\n", "runtime.batch: ", "from 1 to 256"),
        ])
    func oneMistakeIsNamed(_ old: String, _ new: String, _ path: String, _ words: String) async throws {
        #expect(Self.good.contains(old))
        let found = try await problems(Self.good.replacingOccurrences(of: old, with: new))
        #expect(found.contains { $0.hasPrefix(path) && $0.contains(words) }, "\(found)")
    }

    @Test(
        "forms of model.json that TensorIO accepts have no problems",
        arguments: [
            // TensorIO's files are accepted: a file name instead of a backend, channels without a bias, only a scale.
            (", \"backend\": \"onnx\"", ""),
            ("\"format\": \"RGB\"", "\"format\": \"RGB\", \"normalize\": {\"scale\": 2}"),
            ("\"format\": \"RGB\"", "\"format\": \"RGB\", \"normalize\": {\"bias\": {\"g\": 1}}"),
            ("\"format\": \"RGB\"", "\"format\": \"RGB\", \"normalize\": {\"standard\": \"[0,1]\", \"scale\": 7}"),
            ("[2, 2, 3]", "[-1, 2, 2, 3]"),
            ("\"backend\": \"onnx\"", "\"backend\": \"onnx\", \"modes\": [\"train\", \"predict\"]"),
            ("\"backend\": \"onnx\"", "\"backend\": \"onnx\", \"class\": \"X\", \"type\": \"y\""),
            (
                "\"inputs\": [",
                "\"options\": {\"device_position\": \"front\"}, \"train\": {\"ops\": [\"t\"]}, \"inputs\": ["
            ),
        ])
    func whatTensorIOTakesIsTaken(_ old: String, _ new: String) async throws {
        #expect(Self.good.contains(old))
        #expect(try await problems(Self.good.replacingOccurrences(of: old, with: new)) == [])
    }

    @Test("a bundle marked as a placeholder has exactly one problem, even without a model file")
    func aPlaceholderHasThatOneProblem() async throws {
        let json = Self.good.replacingOccurrences(
            of: "\"model\": { \"file\": \"m.onnx\"", with: "\"placeholder\": true, \"model\": { \"file\": null")
        let found = try await problems(json)
        #expect(found.count == 1 && found.first?.hasPrefix("placeholder: ") == true, "\(found)")
    }

    @Test("a labels file with fewer labels than classes is one problem")
    func labelsThatAreNotAsManyAsClasses() async throws {
        let found = try await problems(Self.good, labels: "a\nb\n")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("outputs[0].labels: the file has 2 labels") == true, "\(found)")
    }

    @Test("empty lines at the end of a labels file are not labels, an empty line in between is")
    func emptyLinesAtTheEndAreNotLabels() async throws {
        #expect(try await problems(Self.good, labels: "a\nb\nc\n\n\n") == [])
        #expect(try await problems(Self.good, labels: "a\nb\nc") == [])
        #expect(try await problems(Self.good, labels: "a\n\nc\n") == [], "one in between may have no name")
    }

    @Test("three mistakes in one bundle are all reported")
    func severalMistakesAreAllReported() async throws {
        let json = Self.good
            .replacingOccurrences(of: "\"id\": \"good\",", with: "")
            .replacingOccurrences(of: "\"RGB\"", with: "\"CMYK\"")
            .replacingOccurrences(of: "\"labels.txt\"", with: "7")
        let found = try await problems(json)
        #expect(found.count == 3, "\(found)")
    }

    @Test("a bundle path that does not exist is an error that names the path")
    func aBundleThatDoesNotExist() async throws {
        let error = await #expect(throws: InferenceError.self) {
            _ = try await Model.load(contentsOf: AbsentPath.path, configuration: ModelConfiguration())
        }
        #expect(error?.message.contains("\(AbsentPath.path) does not exist") == true)
    }
}

import Foundation
import Inference
import TestSupport
import Testing

/// Models that compute with 8-bit integers are recognized by their files, on every processor.
@Suite struct ByteProductsTests {
    private static let root = SharedData.packageRoot

    /// By file, the number of layers that the engine computes with bytes (Tests/FixtureMakers/make-quantized-fixtures).
    private static func cases() throws -> [String: Int] {
        let text = try Data(contentsOf: root.appendingPathComponent("Tests/Fixtures/quantized/cases.json"))
        return try JSONDecoder().decode([String: Int].self, from: text)
    }

    @Test("the 8-bit layers counted in a model file are those that the engine computes with integers")
    func layersAreThoseOfTheEngine() throws {
        let cases = try Self.cases()
        try #require(cases.count > 10 && Set(cases.values).contains(0))
        for (file, expected) in cases {
            #expect(ByteProducts.layers(of: Self.root.appendingPathComponent(file).path) == expected, "\(file)")
        }
    }

    /// The expected numbers were counted by the script, as for the fixtures.
    @Test(
        "the 8-bit layers of real TensorFlow Lite models are counted as the fixture script counts them",
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func layersOfModelsThatPeopleHave() throws {
        let data = try #require(SharedData.folder)
        for (file, expected) in [
            ("models/mobilenet_v2_1.0_224_quant/model.tflite", 3), ("models/cifar10_resnet_int8/model.tflite", 10),
            ("things/movenet.tflite", 50), ("things/deeplabv3.tflite", 0), ("things/embedder.tflite", 1),
            ("import/mobilenet_v1_metadata.tflite", 0),
        ] {
            #expect(ByteProducts.layers(of: data.appendingPathComponent(file).path) == expected, "\(file)")
        }
    }

    @Test("missing, empty, broken and other files have no 8-bit layers")
    func otherFilesHaveNone() throws {
        let folder = try TemporaryFolder()
        try folder.write(["text.onnx": "text", "text.xml": "<net", "text.tflite": "TFL3", "empty.onnx": ""])
        for name in ["text.onnx", "text.xml", "text.tflite", "empty.onnx", "nothing.onnx", "model.mlmodel", ""] {
            #expect(ByteProducts.layers(of: folder.url.path + "/" + name) == 0, "\(name)")
        }
    }

    /// oneDNN's names, which it compares in lower case.
    @Test("oneDNN's instruction-set limits without VNNI are recognized in upper and lower case")
    func limitsWithoutVNNI() {
        for name in ["SSE41", "AVX", "AVX2", "avx2", "AVX512_CORE"] { #expect(ByteProducts.lacksVNNI(name), "\(name)") }
        for name in ["AVX2_VNNI", "AVX512_CORE_VNNI", "AVX512_CORE_AMX", "DEFAULT", "ALL", "", "no such"] {
            #expect(!ByteProducts.lacksVNNI(name), "\(name)")
        }
    }

    @Test("the advice on 8-bit layers is absent for no layer, singular for one layer and plural for two")
    func theSentence() {
        #expect(ByteProducts.advice(layers: 0, because: "x") == nil)
        #expect(ByteProducts.advice(layers: 1, because: "x")?.hasPrefix("1 of its layers computes with") == true)
        #expect(
            ByteProducts.advice(layers: 2, because: "x")?.hasPrefix(
                "2 of its layers compute with 8-bit integers, and x: ") == true)
    }
}

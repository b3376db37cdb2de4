import SystemSupport
import Testing
import Tools

/// Which files of a repository are pulled.
@Suite struct ModelChoiceTests {
    private func choice(_ paths: [String], file pattern: String? = nil) throws -> ModelChoice {
        try ModelChoice(
            files: paths.map { HubFile(path: $0, size: 1, digest: nil) }, pattern: pattern.map { PathPattern($0) })
    }

    private func paths(_ paths: [String], file pattern: String? = nil) throws -> Set<String> {
        Set(try choice(paths, file: pattern).files.map(\.path))
    }

    private static let hub = [
        ".gitattributes", "README.md", "config.json", "preprocessor_config.json", "quantize_config.json",
        "model.safetensors", "onnx/model.onnx",
        "onnx/model_fp16.onnx", "onnx/model_int8.onnx", "onnx/model_quantized.onnx", "tokenizer.json",
        "pytorch_model.bin",
    ]

    @Test("of several ONNX files the one without a suffix, and what Ocelli reads beside it")
    func plain() throws {
        #expect(try paths(Self.hub) == ["onnx/model.onnx", "config.json", "preprocessor_config.json"])
        #expect(try choice(Self.hub).localModel == "onnx/model.onnx")
        #expect(
            try paths(["yolo.onnx", "yolo-int8.onnx", "yolo.fp16.onnx", "labels.txt", "notes.txt"]) == [
                "yolo.onnx", "labels.txt",
            ])
        #expect(try paths(["model.onnx", "onnx/model.onnx", "fp16/model.onnx"]) == ["model.onnx"])
    }

    @Test("--file chooses another")
    func chosen() throws {
        for pattern in [
            "onnx/model_int8.onnx", "model_int8.onnx", "*int8*", "onnx/*_int8.onnx", "onnx/model_int?.onnx",
        ] {
            #expect(
                try paths(Self.hub, file: pattern) == [
                    "onnx/model_int8.onnx", "config.json", "preprocessor_config.json",
                ], "\(pattern)")
        }
        for pattern in ["*.onnx", "onnx/*", "model_*"] {
            let error = #expect(throws: CommandError.self) { try choice(Self.hub, file: pattern) }
            #expect(error?.description.contains("onnx/model_int8.onnx, onnx/model_quantized.onnx") == true)
        }
        let none = #expect(throws: CommandError.self) { try choice(Self.hub, file: "x.onnx") }
        #expect(none?.description.contains("onnx/model.onnx, onnx/model_fp16.onnx") == true)
    }

    @Test("several that fit are refused with their names")
    func several() throws {
        let error = #expect(throws: CommandError.self) {
            try choice(["onnx/text_model.onnx", "onnx/vision_model.onnx", "onnx/vision_model_q4.onnx", "config.json"])
        }
        #expect(error?.description.contains("onnx/text_model.onnx, onnx/vision_model.onnx;") == true)
        #expect(error?.description.hasSuffix("as in --file 'onnx/vision_model.onnx'") == true, "the one for pictures")
        #expect(throws: CommandError.self) { try choice(["a/model.onnx", "b/model.onnx"]) }
        #expect(throws: CommandError.self) { try choice(["detector.onnx", "classifier.tflite"]) }
    }

    @Test("one model in several formats: ONNX first")
    func formats() throws {
        #expect(try paths(["net.tflite", "net.onnx", "coreml/net.mlpackage/Manifest.json"]) == ["net.onnx"])
        #expect(
            try paths([
                "model.tflite", "openvino_model.xml", "openvino_model.bin", "saved_model.pb",
                "variables/variables.index",
            ]) == ["openvino_model.xml", "openvino_model.bin"])
        #expect(
            try paths(["openvino_tokenizer.xml", "openvino_tokenizer.bin", "openvino_model.xml", "openvino_model.bin"])
                == ["openvino_model.xml", "openvino_model.bin"])
    }

    @Test("weights in other files, and models that are folders, are whole")
    func weights() throws {
        #expect(
            try paths([
                "onnx/model.onnx", "onnx/model.onnx_data", "onnx/model.onnx_data_1", "onnx/model_fp16.onnx",
                "onnx/model_fp16.onnx_data",
            ])
                == ["onnx/model.onnx", "onnx/model.onnx_data", "onnx/model.onnx_data_1"])
        #expect(try paths(["net.xml", "net.bin", "other.xml", "labels.txt"]) == ["net.xml", "net.bin", "labels.txt"])
        #expect(try paths(["inference.pdmodel", "inference.pdiparams", "inference.pdiparams.info"]).count == 3)
        #expect(
            try paths([
                "Net.mlpackage/Manifest.json", "Net.mlpackage/Data/com.apple.CoreML/model.mlmodel", "config.json",
                "README.md",
            ])
                == ["Net.mlpackage/Manifest.json", "Net.mlpackage/Data/com.apple.CoreML/model.mlmodel"])
        #expect(try paths(["Net.mlmodelc/model.mil", "Net.mlmodelc/weights/weight.bin"]).count == 2)
        let saved = [
            "saved/saved_model.pb", "saved/fingerprint.pb", "saved/keras_metadata.pb",
            "saved/variables/variables.index", "saved/assets/words.txt", "saved/labels.txt",
        ]
        #expect(
            try paths(saved) == [
                "saved/saved_model.pb", "saved/variables/variables.index", "saved/assets/words.txt", "saved/labels.txt",
            ])
        #expect(try choice(saved).localModel == "")
        #expect(try choice(saved).localPath(of: "saved/labels.txt") == "labels.txt")
    }

    @Test("the folder that describes the model becomes the local folder")
    func root() throws {
        let two = ["resnet/model.onnx", "resnet/config.json", "config.json", "vit/model.onnx", "vit/config.json"]
        let resnet = try choice(two, file: "resnet/model.onnx")
        #expect(
            resnet.root == "resnet" && resnet.localModel == "model.onnx"
                && resnet.files.map(\.path) == ["resnet/model.onnx", "resnet/config.json"])
        #expect(try choice(["a/b/net.tflite", "README.md"]).localModel == "a/b/net.tflite")
    }

    @Test("a model.json comes with its assets; that of TensorFlow.js does not")
    func manifest() throws {
        #expect(
            try paths(["model.json", "model.tflite", "assets/labels.txt", "config.yaml"]) == [
                "model.json", "model.tflite", "assets/labels.txt",
            ])
        #expect(try paths(["model.json", "group1-shard1of1.bin", "model.tflite"]) == ["model.tflite"])
        #expect(
            try paths([
                "1_Pooling/config.json", "1_Pooling/x", "model.onnx", "processor_config.json",
                "preprocessor_config.json", "model.yaml",
            ]) == ["1_Pooling/config.json", "model.onnx", "preprocessor_config.json", "model.yaml"])
    }

    @Test("a repository without such a file is refused with advice")
    func nothing() {
        let error = #expect(throws: CommandError.self) {
            try choice(["config.json", "model.safetensors", ".hidden/model.onnx", "weights.xml"])
        }
        #expect(error?.description.contains("model.safetensors") == true && error?.description.contains("ONNX") == true)
        #expect(throws: CommandError.self) { try choice([]) }
    }

    @Test("sizes that are missing, or too large together, have no sum")
    func sizes() throws {
        func size(_ sizes: [Int?]) throws -> Int? {
            try ModelChoice(
                files: zip(["model.onnx", "labels.txt"], sizes).map { HubFile(path: $0, size: $1, digest: nil) },
                pattern: nil
            ).size
        }
        #expect(try size([1, 2]) == 3)
        #expect(try size([1, nil]) == nil)
        #expect(try size([.max, 1]) == nil)
        #expect(try size([3, -1]) == nil)
    }

    @Test("patterns take time in proportion to their lengths")
    func patterns() {
        #expect(!PathPattern(String(repeating: "*a", count: 500) + "b").fits(String(repeating: "a", count: 1000)))
        #expect(
            PathPattern("*").fits("a/b") && PathPattern("a*/").fits("a/b") && !PathPattern("a?b").fits("ab")
                && PathPattern("").fits(""))
    }
}

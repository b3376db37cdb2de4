import FileFormats
import Testing

/// Which of several model files of a repository or folder is the model.
@Suite struct ModelCandidateTests {
    private func usual(_ paths: [String]) -> [String] {
        ModelCandidate.usual(among: paths.compactMap { ModelCandidate(file: $0) }).map(\.path)
    }

    @Test("of several files the one without a suffix is the model, and ONNX comes before other formats")
    func plainFilesStandOut() {
        #expect(usual(["onnx/model_q4.onnx", "onnx/model.onnx", "onnx/model_fp16.onnx"]) == ["onnx/model.onnx"])
        #expect(usual(["net-int8.onnx", "net.fp16.onnx", "net.onnx"]) == ["net.onnx"])
        #expect(usual(["model.tflite", "openvino/openvino_model.xml", "onnx/model.onnx"]) == ["onnx/model.onnx"])
        #expect(usual(["onnx/model.onnx", "model.onnx"]) == ["model.onnx"])
        #expect(usual(["a_model.onnx", "b_model.onnx"]) == ["a_model.onnx", "b_model.onnx"])
    }

    @Test("models for text, and models of both halves next to the half for pictures, are no models for pictures")
    func halvesForTextAreLeftOut() {
        func pictures(_ names: [String]) -> [String] {
            ModelCandidate.forPictures(among: names.compactMap { ModelCandidate(file: $0) }).map(\.stem)
        }
        #expect(
            pictures(["model.onnx", "text_model.onnx", "vision_model.onnx", "text_model_fp16.onnx"]) == ["vision_model"]
        )
        #expect(pictures(["vision_model_fp16.onnx", "vision_model.onnx"]) == ["vision_model_fp16", "vision_model"])
        #expect(pictures(["model.onnx", "text_model.onnx"]) == ["model"])
        #expect(pictures(["text_model.onnx"]) == ["text_model"], "all, if none is left")
        #expect(pictures(["context_model.onnx", "text_models.onnx"]) == ["context_model", "text_models"])
    }

    @Test("tokenizers and parts of SavedModels are no candidates")
    func partsAreNoCandidates() {
        for name in ["openvino/openvino_tokenizer.xml", "a/fingerprint.pb", "keras_metadata.pb", "labels.txt"] {
            #expect(ModelCandidate(file: name) == nil, "\(name)")
        }
        #expect(ModelCandidate(file: "openvino_model.xml")?.stem == "openvino_model")
    }
}

internal import EngineONNXRuntime
import Inference
import Testing

struct ORTMessageTests {
    @Test(
        "an ONNX Runtime message becomes one line without paths",
        arguments: [
            (
                "Load model from /srv/models/a.onnx failed:Protobuf parsing failed.", "Protobuf parsing failed."
            ),
            (
                "/onnxruntime_src/onnxruntime/core/graph/model.cc:123 onnxruntime::Model::Model(int, const T&) Unsupported model\nIR version",
                "Unsupported model IR version"
            ),
            (
                "Non-zero status code returned while running Gather node.",
                "Non-zero status code returned while running Gather node."
            ),
        ])
    func messagesAreOneLineWithoutPaths(message: String, expected: String) {
        #expect(ORTMessage.summary(message) == expected)
    }

    @Test("an ONNX Runtime message of more than 400 characters is cut")
    func longMessagesAreCut() {
        #expect(ORTMessage.summary(String(repeating: "x", count: 1000)).count == 403)
    }
}

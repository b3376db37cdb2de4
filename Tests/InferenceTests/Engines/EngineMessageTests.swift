internal import EngineOpenVINO
import Foundation
import Inference
import TestSupport
import Testing

/// The engine's messages as one line, which begins with the reason. The messages are those of OpenVINO 2026.4.1.
@Suite struct EngineMessageTests {
    private static let frames = """
        Exception from src/inference/src/cpp/core.cpp:84:
        Check 'false' failed at src/frontends/common_translators/src/unconverted_ops_report.cpp:151:
        FrontEnd API failed with OpConversionFailure:
        Model wasn't fully converted.
        """
    private static let node =
        "node 'opset1::Concat Concat_3 (opset1::Parameter a[0]:f32[1,2,3], opset1::Parameter b[0]:f32[1,2,4]) -> (dynamic[...])' "
        + "with friendly_name 'Concat_3'"
    private static let shapes =
        "Argument shapes are inconsistent; they must have the same rank, and must have equal dimension everywhere except on the "
        + "concatenation axis (axis 1)."

    @Test(
        "an OpenVINO error of many lines becomes one line that begins with the reason",
        arguments: [
            (
                "Concat",
                frames + """
                     Failed operations detailed log:
                    -- Concat-18 with a message:
                    While validating ONNX node '<Node(Concat): y>': Check 'TRShape::merge_into(output_shape, in_copy)' failed at src/core/concat.hpp:43:
                    While validating \(node):
                    Shape inference input shapes {[1,2,3],[1,2,4]}
                    \(shapes)

                    Summary:
                    -- Conversion is failed for: Concat-18

                    """, "\(shapes) (\(node))"
            ),
            (
                "a reason behind the node's name",
                frames + """
                     Failed operations detailed log:
                    -- Gather-13 with a message:
                    While validating ONNX node '<Node(Gather): y>': vector::_M_range_check: __n (which is 1) >= this->size() (which is 1)
                    Summary:
                    -- Conversion is failed for: Gather-13

                    """, "vector::_M_range_check: __n (which is 1) >= this->size() (which is 1) (Gather-13)"
            ),
            (
                "a summary alone", frames + "\nSummary:\n-- No conversion rule found for operations: Nope-13\n\n",
                "No conversion rule found for operations: Nope-13"
            ),
            (
                "advice behind the summary",
                frames + """
                    \nSummary:
                    -- No conversion rule found for operations: Nope, Never
                    To facilitate the conversion of unsupported operations, refer to Frontend Extension documentation: https://docs.openvino.ai/

                    """, "No conversion rule found for operations: Nope, Never"
            ),
            (
                "an operator that is missing, and a fault besides",
                frames + """
                     Failed operations detailed log:
                    -- VarHandleOp with a message:
                    Variable or resource `conv/kernel` is not initialized, model is inconsistent
                    Summary:
                    -- No conversion rule found for operations: Nope
                    -- Conversion is failed for: VarHandleOp

                    """, "No conversion rule found for operations: Nope"
            ),
            (
                "one line",
                "Exception from src/inference/src/cpp/core.cpp:84:\nException from src/model_reader.cpp:148:\nUnable to read the model\n\n",
                "Unable to read the model"
            ),
            (
                "frames alone", "Exception from src/inference/src/cpp/core.cpp:84:\n",
                "Exception from src/inference/src/cpp/core.cpp:84:"
            ),
            ("nothing", "", ""),
        ])
    func theReasonComesFirst(_ what: String, _ message: String, _ expected: String) {
        #expect(EngineMessage.summary(of: message) == expected, "\(what)")
    }

    @Test("a long node description is cut before the reason is, and a long reason at 400 characters")
    func aLongPlaceIsCutAndTheReasonIsNot() {
        let reason = String(repeating: "r", count: 300)
        let summary = EngineMessage.summary(
            of: "While validating node '\(String(repeating: "n", count: 5000))' with friendly_name 'x':\n\(reason)\n")
        #expect(summary.hasPrefix(reason + " (node 'nnn") && summary.hasSuffix("...)") && summary.count < 420)
        #expect(EngineMessage.summary(of: String(repeating: "r", count: 5000)).count == 403)
    }

    /// A file that the engine refuses: it concatenates [1, 2, 3] and [1, 2, 4] along axis 1.
    @Test("an ONNX file whose shapes do not fit is refused with OpenVINO's reason")
    func aRefusedFileSaysWhy() async throws {
        let url = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/engine/concat.onnx")
        let error = await #expect(throws: InferenceError.self) { try await Model.load(contentsOf: url.path) }
        let text = String(describing: error)
        #expect(text.contains("the engine could not read the model file: "), "\(text)")
        #expect(text.contains("Argument shapes are inconsistent"), "\(text)")
    }
}

import Foundation
import Inference
import Testing

/// Inputs with shapes that do not match each other, with the real engine: only the request with these inputs fails, and
/// later ones succeed.
@Suite struct MismatchedShapesTests {
    /// The sum of two inputs with any number of rows, each of which first passes its own layer, in OpenVINO's format.
    private static let sum: String = {
        func port(_ id: Int, _ name: String = "") -> String {
            let attributes = "precision=\"FP32\"" + (name.isEmpty ? "" : " names=\"\(name)\"")
            return "<port id=\"\(id)\" \(attributes)><dim>-1</dim><dim>3</dim></port>"
        }
        func layer(_ id: Int, _ name: String, _ type: String, _ data: String, inputs: Int, opset: Int = 1) -> String {
            let ports = (0..<inputs).map { port($0) }.joined()
            return "<layer id=\"\(id)\" name=\"\(name)\" type=\"\(type)\" version=\"opset\(opset)\">\(data)"
                + (ports.isEmpty ? "" : "<input>\(ports)</input>")
                + (type == "Result" ? "" : "<output>\(port(inputs, name))</output>") + "</layer>\n"
        }
        func edge(_ from: Int, _ fromPort: Int, _ to: Int, _ toPort: Int) -> String {
            "<edge from-layer=\"\(from)\" from-port=\"\(fromPort)\" to-layer=\"\(to)\" to-port=\"\(toPort)\"/>"
        }
        let open = "<data shape=\"?,3\" element_type=\"f32\"/>", rows = "<data axis=\"1\"/>"
        return "<?xml version=\"1.0\"?>\n<net name=\"sum\" version=\"11\"><layers>\n"
            + layer(0, "a", "Parameter", open, inputs: 0) + layer(1, "b", "Parameter", open, inputs: 0)
            + layer(2, "s", "Softmax", rows, inputs: 1, opset: 8) + layer(3, "t", "Softmax", rows, inputs: 1, opset: 8)
            + layer(4, "y", "Add", "<data auto_broadcast=\"numpy\"/>", inputs: 2)
            + layer(5, "result", "Result", "", inputs: 1) + "</layers><edges>"
            + edge(0, 0, 2, 0) + edge(1, 0, 3, 0) + edge(2, 1, 4, 0) + edge(3, 1, 4, 1) + edge(4, 2, 5, 0)
            + "</edges></net>\n"
    }()

    private func features(_ rows: (a: Int, b: Int)) throws -> DictionaryFeatureProvider {
        func rowsOfOnes(_ count: Int) throws -> FeatureValue {
            .multiArray(try MultiArray(shape: [count, 3], floats: [Float](repeating: 1, count: count * 3)))
        }
        return ["a": try rowsOfOnes(rows.a), "b": try rowsOfOnes(rows.b)]
    }

    @Test("inputs whose shapes do not match each other are refused, and matching inputs succeed afterwards")
    func theRightShapesSucceedAfterThem() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(["sum.xml": Self.sum, "sum.bin": ""])
        let model = try await Model.load(contentsOf: path + "/sum.xml", configuration: ModelConfiguration())
        for rows in [2, 2, 3, 2, 4] {
            for wrong in [(rows + 2, rows), (rows, rows + 2)] {
                _ = try await model.prediction(from: features((rows, rows)))
                let error = await #expect(throws: InferenceError.self) {
                    try await model.prediction(from: features(wrong))
                }
                guard case .invalidInput(name: "a", let reason)? = error else {
                    Issue.record("\(wrong): \(String(describing: error))")
                    continue
                }
                let reported = "shape [\(wrong.0),3] and \"b\" of [\(wrong.1),3]"
                #expect(reason.contains(reported), "\(reason)")
            }
            let output = try await model.prediction(from: features((rows, rows))).outputs
            let name = try #require(output.featureNames.first)
            guard case .multiArray(let sums)? = output.featureValue(for: name) else {
                Issue.record("the output is not an array")
                continue
            }
            #expect(sums.shape == [rows, 3])
        }
    }
}

import Inference
import Testing

/// The model.json of a bundle that has no model yet.
@Suite struct PlaceholderBundleTests {
    private static func json(_ members: String) -> String {
        "{\"name\": \"n\", \"id\": \"n\", \"version\": \"1\", \"placeholder\": true\(members)}"
    }

    @Test(
        "a placeholder's labels are its own, in an array or a file, or those of its first output with labels",
        arguments: [
            ("", []), (", \"labels\": [\"bolt\", \"nut\"]", ["bolt", "nut"]),
            (", \"labels\": \"labels.txt\"", ["one", "two"]),
            (
                """
                , "model": {"file": "later.onnx"}, "inputs": [],
                "outputs": [{"name": "a"}, {"name": "b", "type": "array", "labels": "labels.txt"}]
                """, ["one", "two"]
            ),
        ])
    func labels(_ members: String, _ expected: [String]) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(["model.json": Self.json(members), "labels.txt": "one\ntwo\n"])
        #expect(try ModelBundle(path: path, allowsPlaceholder: true).manifest?.placeholder == expected)
        // It cannot be loaded.
        #expect(throws: InferenceError.self) { try ModelBundle(path: path) }
    }

    @Test(
        "wrong labels of a placeholder and unknown keys are problems",
        arguments: [
            (", \"labels\": [7]", "labels[0]"), (", \"labels\": [\"\"]", "labels[0]"), (", \"labels\": 7", "labels"),
            (", \"labels\": \"none.txt\"", "labels"), (", \"label\": []", "label"),
        ])
    func wrongLabels(_ members: String, _ place: String) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(["model.json": Self.json(members)])
        do throws(InferenceError) {
            _ = try ModelBundle(path: path, allowsPlaceholder: true)
            Issue.record("it was accepted: \(members)")
        } catch {
            guard case .invalidBundle(_, let problems) = error else { throw error }
            #expect(problems.map(\.path) == [place], "\(problems)")
        }
    }
}

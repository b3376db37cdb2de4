import Foundation
import TestSupport
import Testing

/// Recurrent networks of the old format. Their description has the shape of one step: requests may have any number of
/// steps. The expected answers are computed by numpy (Tests/FixtureMakers/coreml_fixtures/network_recurrent.py).
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CoreMLSequenceTests {
    private struct Array: Decodable {
        var shape: [Int]
        var values: [Double]
    }

    private struct Cases: Decodable {
        var cases: [Case]
    }

    private struct Case: Decodable {
        var inputs: [String: Array]
        var outputs: [String: Array]
    }

    private static func cases(_ name: String) throws -> [Case] {
        let url = CoreMLFixtures.folder.appendingPathComponent("networks/\(name).json")
        return try JSONDecoder().decode(Cases.self, from: Data(contentsOf: url)).cases
    }

    /// All numbers of a JSON value, in their order.
    private static func numbers(_ value: Any?) -> [Double] {
        if let list = value as? [Any] { return list.flatMap { numbers($0) } }
        return (value as? NSNumber).map { [$0.doubleValue] } ?? []
    }

    private static func isClose(_ found: [Double], _ expected: [Double]) -> Bool {
        found.count == expected.count && zip(found, expected).allSatisfy { abs($0 - $1) <= 1e-4 }
    }

    @Test("a recurrent Core ML network takes sequences of any length, in each form of its input")
    func aSequenceHasAsManyStepsAsTheRequestGives() throws {
        let folder = try CoreMLFixtures.Folder(
            ["steps-lstm", "steps-embedding", "steps-lstm-state"].map {
                CoreMLFixtures.folder.appendingPathComponent("networks/\($0).mlmodel")
            })
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        func answer(_ model: String, _ inputs: String) throws -> Answer {
            try Curl.run(
                daemon.url + "/v1/models/\(model)/predict", ["--data-binary", "@-"],
                input: Data("{\"inputs\": \(inputs)}".utf8))
        }
        func outputs(_ answer: Answer) -> [String: Any] { answer.json["outputs"] as? [String: Any] ?? [:] }
        for test in try Self.cases("steps-lstm") {
            let x = try #require(test.inputs["x"]), expected = try #require(test.outputs["y"]).values
            let steps = stride(from: 0, to: x.values.count, by: 3).map { Swift.Array(x.values[$0..<$0 + 3]) }
            // In Core ML's form, with all five axes, without the batch, and flat.
            let forms = [
                "\(steps.map { [$0] })", "\(steps.map { [$0.map { [[$0]] }] })", "\(steps)", "\(x.values)",
            ]
            for form in forms {
                let found = try answer("steps-lstm", "{\"x\": \(form)}")
                #expect(Self.isClose(Self.numbers(outputs(found)["y"]), expected), "\(form): \(found.text)")
            }
            let tensor = try Curl.run(
                daemon.url + "/v2/models/steps-lstm/infer", ["--data-binary", "@-"],
                input: Data(
                    "{\"inputs\": [{\"name\": \"x\", \"datatype\": \"FP32\", \"shape\": \(x.shape), \"data\": \(x.values)}]}"
                        .utf8))
            let result = (tensor.json["outputs"] as? [[String: Any]])?.first
            #expect(Self.isClose(Self.numbers(result?["data"]), expected), "\(tensor.text)")
        }
        for test in try Self.cases("steps-embedding") {
            let words = try #require(test.inputs["x"]).values, expected = try #require(test.outputs["y"]).values
            let found = try answer("steps-embedding", "{\"x\": \(words)}")
            #expect(Self.isClose(Self.numbers(outputs(found)["y"]), expected), "\(found.text)")
        }
        let states = try #require(try Self.cases("steps-lstm-state").first)
        let given = states.inputs.map { "\"\($0.key)\": \($0.value.values)" }.joined(separator: ", ")
        let found = try answer("steps-lstm-state", "{\(given)}")
        for (name, expected) in states.outputs {
            #expect(Self.isClose(Self.numbers(outputs(found)[name]), expected.values), "\(name): \(found.text)")
        }
        // Four numbers are not whole steps of three.
        let wrong = try answer("steps-lstm", "{\"x\": [1, 2, 3, 4]}")
        #expect(wrong.status == 400 && wrong.error.contains("[-1,1,3]"), "\(wrong.text)")
    }
}

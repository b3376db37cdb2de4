import Foundation
import TestSupport
import Testing

/// Core ML files that take numbers, strings and dictionaries, over HTTP.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CoreMLValuesTests {
    @Test("a Core ML logistic regression answers as scikit-learn does; a missing or wrong input gets 400")
    func aLogisticRegressionAnswersAsScikitLearnDoes() throws {
        let name = "glm_classifier_strings"
        let folder = try CoreMLFixtures.Folder([
            CoreMLFixtures.folder.appendingPathComponent("classical/\(name).mlmodel")
        ])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let data = try Data(contentsOf: CoreMLFixtures.folder.appendingPathComponent("classical/\(name).json"))
        let record = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        for entry in try #require(record["cases"] as? [[String: Any]]) {
            let inputs = String(
                decoding: try JSONSerialization.data(withJSONObject: try #require(entry["inputs"])), as: UTF8.self)
            let wanted = try #require(entry["outputs"] as? [String: Any])
            for body in [inputs, "{\"inputs\": \(inputs)}"] {
                let answer = try CoreMLFixtures.predict(daemon, name, body)
                let outputs = try #require(answer.json["outputs"] as? [String: Any], "\(answer.text)")
                #expect(outputs["state"] as? String == wanted["state"] as? String)
                for (label, value) in try #require(wanted["classProbability"] as? [String: Double]) {
                    #expect(CoreMLFixtures.close((outputs["classProbability"] as? [String: Any])?[label], value, 1e-9))
                }
            }
        }
        let items = try CoreMLFixtures.predict(
            daemon, name,
            "{\"items\": [{\"goal\": 1, \"backersCount\": 2, \"duration\": 3}, {\"goal\": 1, \"backersCount\": 2}]}")
        #expect(items.status == 400 && items.code == "invalid_input", "\(items.text)")
        #expect(items.error.contains("item 2: input \"duration\": is missing"), "\(items.text)")
        let missing = try CoreMLFixtures.predict(daemon, name, "{\"goal\": 1, \"duration\": 3}")
        #expect(missing.status == 400)
        #expect(missing.error.contains("\"backersCount\": is missing"), "\(missing.text)")
        let wrong = try CoreMLFixtures.predict(
            daemon, name, "{\"goal\": \"much\", \"backersCount\": 2, \"duration\": 3}")
        #expect(wrong.status == 400)
        #expect(wrong.error.contains("goal"), "\(wrong.text)")
        let tensors = """
            {"inputs": [{"name": "goal", "datatype": "FP64", "shape": [1], "data": [1000]},
             {"name": "backersCount", "datatype": "FP64", "shape": [1], "data": [20]},
             {"name": "duration", "datatype": "FP64", "shape": [1], "data": [30]}]}
            """
        let infer = try Curl.run(
            daemon.url + "/v2/models/\(name)/infer", ["--data-binary", "@-"], input: Data(tensors.utf8))
        let outputs = try #require(infer.json["outputs"] as? [[String: Any]], "\(infer.text)")
        #expect(outputs[0]["datatype"] as? String == "BYTES")
        #expect((outputs[1]["data"] as? [Any])?.count == 2)
    }

    @Test("a Core ML model with a string input takes known words only, and optional inputs may be left out")
    func wordsAndOptionalInputs() throws {
        let folder = try CoreMLFixtures.Folder([CoreMLFixtures.product.appendingPathComponent("tickets.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        for entry in try #require(try CoreMLFixtures.expected()["tickets"] as? [[String: Any]]) {
            let inputs = String(
                decoding: try JSONSerialization.data(withJSONObject: try #require(entry["inputs"])), as: UTF8.self)
            let answer = try CoreMLFixtures.predict(daemon, "tickets", inputs)
            #expect(
                CoreMLFixtures.close(
                    (answer.json["outputs"] as? [String: Any])?["price"], try #require(entry["price"] as? Double)))
        }
        let left = try CoreMLFixtures.predict(daemon, "tickets", "{\"day\": \"weekend\", \"distance\": null}")
        #expect(CoreMLFixtures.close((left.json["outputs"] as? [String: Any])?["price"], 30.5), "\(left.text)")
        let unknown = try CoreMLFixtures.predict(daemon, "tickets", "{\"day\": \"feast\"}")
        #expect(unknown.status == 400)
        #expect(unknown.code == "invalid_input")
        #expect(unknown.error.contains("\"feast\"") && unknown.error.contains("\"weekday\""), "\(unknown.text)")
        for (body, words) in [
            ("{}", "input \"day\": is missing"), ("{\"distance\": null}", "input \"day\": is missing"),
            (
                "{\"inputs\": {\"day\": \"weekday\"}, \"day\": \"weekend\"}",
                "input \"day\" cannot be combined with \"inputs\""
            ),
            (
                "{\"distance\": 3, \"items\": [{\"day\": \"weekday\"}]}",
                "input \"distance\" cannot be combined with \"items\""
            ),
        ] {
            let answer = try CoreMLFixtures.predict(daemon, "tickets", body)
            #expect(answer.status == 400 && answer.error.contains(words), "\(body): \(answer.text)")
        }
        let number = try CoreMLFixtures.predict(daemon, "tickets", "{\"day\": 3}")
        #expect(number.status == 400)
        #expect(number.error.contains("\"day\": expected a string"), "\(number.text)")
        for body in ["[\"weekend\"]", "[\"weekend\", null]", "{\"inputs\": [\"weekend\"]}"] {
            let ordered = try CoreMLFixtures.predict(daemon, "tickets", body)
            #expect(
                CoreMLFixtures.close((ordered.json["outputs"] as? [String: Any])?["price"], 30.5),
                "\(body): \(ordered.text)")
        }
    }

    @Test("string inputs of a Core ML model are BYTES tensors in /v2, as JSON and as binary data")
    func stringsAreBytesOfTheOpenInferenceProtocol() throws {
        let folder = try CoreMLFixtures.Folder([
            CoreMLFixtures.product.appendingPathComponent("tickets.mlmodel"),
            CoreMLFixtures.folder.appendingPathComponent("classical/dict_vectorizer.mlmodel"),
        ])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        func infer(_ model: String, _ input: String, _ more: String = "") throws -> Answer {
            try Curl.run(
                daemon.url + "/v2/models/\(model)/infer", ["--data-binary", "{\"inputs\": [{\(input)}\(more)]}"])
        }
        let day = "\"name\": \"day\", \"datatype\": \"BYTES\", \"shape\": [1], \"data\": "
        let distance = ", {\"name\": \"distance\", \"datatype\": \"FP64\", \"shape\": [1], \"data\": [12.5]}"
        // The weights of the file: 1.5 and 2.5 for the days, 0.25 a kilometer, 3 for all.
        for (data, more, price) in [("[\"weekday\"]", distance, 1.5 + 0.25 * 12.5 + 3), ("[\"weekend\"]", "", 30.5)] {
            let answer = try infer("tickets", day + data, more)
            let output = (answer.json["outputs"] as? [[String: Any]])?.first
            #expect(CoreMLFixtures.close((output?["data"] as? [Any])?.first, price), "\(answer.text)")
        }
        for (data, words) in [
            ("[\"feast\"]", "\"feast\""), ("[3]", "expected a string"), ("[]", "expected 1 string"),
            ("[\"weekday\", \"weekend\"]", "found more"),
        ] {
            let answer = try infer("tickets", day + data)
            #expect(answer.status == 400 && answer.error.contains(words), "\(data): \(answer.text)")
        }
        // Binary data: the length of the string, and the string.
        let head =
            "{\"inputs\": [{\"name\": \"day\", \"datatype\": \"BYTES\", \"shape\": [1], "
            + "\"parameters\": {\"binary_data_size\": 11}}]}"
        let body = Data(head.utf8) + Data([7, 0, 0, 0]) + Data("weekend".utf8)
        let binary = try Curl.run(
            daemon.url + "/v2/models/tickets/infer",
            ["-H", "Inference-Header-Content-Length: \(head.utf8.count)", "--data-binary", "@-"], input: body)
        let output = (binary.json["outputs"] as? [[String: Any]])?.first
        #expect(CoreMLFixtures.close((output?["data"] as? [Any])?.first, 30.5), "\(binary.text)")
        let words = try infer(
            "dict_vectorizer", "\"name\": \"x\", \"datatype\": \"BYTES\", \"shape\": [1], \"data\": [\"a\"]")
        #expect(words.status == 400 && words.error.contains("/predict"), "\(words.text)")
    }

    @Test("Core ML numbers, 64-bit integers, strings, arrays and dictionaries are inputs and outputs of predict")
    func everyTypeOfFeatureGoesInAndOut() throws {
        let folder = try CoreMLFixtures.Folder(
            ["identity", "dict_vectorizer", "one_hot_error_sparse"].map {
                CoreMLFixtures.folder.appendingPathComponent("classical/\($0).mlmodel")
            })
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let values = """
            {"number": 0.1, "count": 9007199254740993, "text": "Grüße, 世界", "array": [1.5, -2], "words": {"a": 0.1}}
            """
        let same = try CoreMLFixtures.predict(daemon, "identity", values)
        #expect(same.text.contains("9007199254740993"), "\(same.text)")
        let outputs = try #require(same.json["outputs"] as? [String: Any])
        #expect(outputs["number"] as? Double == 0.1)
        #expect(outputs["text"] as? String == "Grüße, 世界")
        #expect(outputs["array"] as? [Double] == [1.5, -2])
        #expect(outputs["words"] as? [String: Double] == ["a": 0.1])
        let vector = try CoreMLFixtures.predict(
            daemon, "dict_vectorizer", "{\"x\": {\"bedrooms\": 3, \"city=Rome\": 1, \"other\": 9}}")
        #expect((vector.json["outputs"] as? [String: Any])?["y"] as? [Double] == [0, 3, 0, 1], "\(vector.text)")
        let sparse = try CoreMLFixtures.predict(daemon, "one_hot_error_sparse", "{\"color\": \"blue\"}")
        #expect((sparse.json["outputs"] as? [String: Any])?["y"] as? [String: Double] == ["2": 1], "\(sparse.text)")
    }

    @Test("a Core ML input of flexible shape takes the sizes that the file allows; other sizes get 400")
    func openSizesAreThoseThatTheFileAllows() throws {
        let folder = try CoreMLFixtures.Folder([CoreMLFixtures.product.appendingPathComponent("enlarge.mlpackage")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        func picture(_ rows: Int, _ columns: Int, _ factor: Int) -> [[[Double]]] {
            (0..<2).map { channel -> [[Double]] in
                (0..<rows * factor).map { row -> [Double] in
                    (0..<columns * factor).map { Double(channel * 100 + row / factor * 10 + $0 / factor) }
                }
            }
        }
        for (rows, columns) in [(4, 4), (2, 7), (8, 3)] {
            let x = picture(rows, columns, 1), wanted = picture(rows, columns, 2)
            let answer = try CoreMLFixtures.predict(daemon, "enlarge", "{\"inputs\": {\"x\": [\(x)]}}")
            let found = (answer.json["outputs"] as? [String: Any])?["y"] as? [[[[Double]]]]
            #expect(found == [wanted], "\(answer.text)")
        }
        for (rows, columns) in [(9, 4), (4, 1)] {
            let row = Array(repeating: 1, count: columns)
            let x = Array(repeating: Array(repeating: row, count: rows), count: 2)
            let answer = try CoreMLFixtures.predict(daemon, "enlarge", "{\"inputs\": {\"x\": [\(x)]}}")
            #expect(answer.status == 400 && answer.error.contains("2...8"), "\(answer.text)")
        }
    }

    @Test("a Core ML pipeline that ends with a suppression keeps as many boxes as its test cases expect")
    func thresholdsOfADetectorMayBeLeftOut() throws {
        let folder = try CoreMLFixtures.Folder([
            CoreMLFixtures.folder.appendingPathComponent("classical/suppression_pipeline.mlmodel")
        ])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let data = try Data(
            contentsOf: CoreMLFixtures.folder.appendingPathComponent("classical/suppression_pipeline.json"))
        let record = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        for test in try #require(record["cases"] as? [[String: [String: Any]]]) {
            let body = try JSONSerialization.data(withJSONObject: ["inputs": test["inputs"] ?? [:]])
            let answer = try CoreMLFixtures.predict(
                daemon, "suppression_pipeline", String(decoding: body, as: UTF8.self))
            let found = (answer.json["outputs"] as? [String: Any])?["confidence"] as? [Any]
            #expect(found?.count == (test["outputs"]?["confidence"] as? [Any])?.count, "\(answer.text)")
        }
    }

    /// scikit-learn uses NaN for missing values; JSON has no NaN.
    @Test("null is a missing number for a Core ML imputer; a model without an imputer refuses null")
    func nullIsAMissingNumberWhereAnImputerTakesIt() throws {
        let names = ["imputer", "imputer_double", "glm_classifier_strings"]
        let folder = try CoreMLFixtures.Folder(
            names.map { CoreMLFixtures.folder.appendingPathComponent("classical/\($0).mlmodel") })
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let data = try Data(contentsOf: CoreMLFixtures.folder.appendingPathComponent("classical/imputer.json"))
        let record = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        // The means of the columns: scikit-learn's result for a row with only missing values.
        let missing = try #require(record["cases"] as? [[String: [String: [Double]]]]).first {
            $0["inputs"]?["x"] == [-1, -1, -1]
        }
        let imputed = try #require(missing?["outputs"]?["y"])
        let array = try CoreMLFixtures.predict(daemon, "imputer", "{\"inputs\": {\"x\": [null, 2.5, null]}}")
        let found = (array.json["outputs"] as? [String: Any])?["y"] as? [Double]
        #expect(found == [imputed[0], 2.5, imputed[2]], "\(array.text)")
        let number = try CoreMLFixtures.predict(daemon, "imputer_double", "{\"x\": null}")
        #expect((number.json["outputs"] as? [String: Any])?["y"] as? Double == 2.5, "\(number.text)")
        let glm = try CoreMLFixtures.predict(
            daemon, "glm_classifier_strings", "{\"goal\": null, \"backersCount\": 2, \"duration\": 3}")
        #expect(glm.status == 400 && glm.error.contains("found null"), "\(glm.text)")
    }

    @Test("the models in examples/coreml are served and answer as expected")
    func theExamplesAreServed() throws {
        let examples = SharedData.packageRoot.appendingPathComponent("examples/coreml")
        let daemon = try Daemon(["--models", examples.path])
        defer { daemon.stop() }
        let projects = try #require(try CoreMLFixtures.expected()["kickstarter"] as? [[String: Any]])
        for project in projects {
            let body = try JSONSerialization.data(withJSONObject: try #require(project["inputs"]))
            let answer = try CoreMLFixtures.predict(daemon, "Kickstarter", String(decoding: body, as: UTF8.self))
            let outputs = try #require(answer.json["outputs"] as? [String: Any], "\(answer.text)")
            #expect(outputs["state"] as? String == project["state"] as? String)
            let odds = try #require(outputs["classProbability"] as? [String: Any])
            for (label, value) in try #require(project["odds"] as? [String: Double]) {
                #expect(CoreMLFixtures.close(odds[label], value, 1e-9), "\(answer.text)")
            }
        }
        let red = CoreMLFixtures.product.appendingPathComponent("red.png")
        #expect(try Curl.post(red, to: daemon.url + "/v1/models/Colors/classify").topLabel == "red")
    }
}

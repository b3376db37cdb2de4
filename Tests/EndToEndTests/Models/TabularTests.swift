import Foundation
import TestSupport
import Testing

/// Models of tables and texts (ai.onnx.ml), which ONNX Runtime runs: requests with the answers that the trained models
/// gave in Python.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TabularTests {
    static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/tabular")
    static let library = TestEngines.onnxRuntime
    static let hasEngine = TestEngines.hasONNXRuntime
    static let engineAbsence = Comment(rawValue: TestEngines.absence)

    /// Checks a folder: `cases.json` and a folder of models. Each answer is compared, and each model's engine.
    private func check(_ folder: URL, cases file: String = "cases.json", flags: [String] = []) throws {
        let data = try Data(contentsOf: folder.appendingPathComponent(file))
        let models = try #require(try JSONSerialization.jsonObject(with: data) as? [[String: Any]])
        let cache = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-tabular-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: cache) }
        let daemon = try Daemon(
            ["--models", folder.appendingPathComponent("models").path, "--cache-dir", cache.path, "--access-log=false"]
                + flags)
        defer { daemon.stop() }
        var count = 0
        for model in models {
            let name = try #require(model["model"] as? String)
            let state = try Curl.run(daemon.url + "/v1/models/\(name)").json
            guard (state["state"] as? String) == "ready" else {
                Issue.record("\(name): \(state)")
                continue
            }
            for testCase in model["cases"] as? [[String: Any]] ?? [] {
                count += 1
                let found = try run(testCase, of: name, on: daemon, tolerance: model["tolerance"] as? Double ?? 1e-5)
                if let found { Issue.record("\(name): \(testCase["kind"] ?? ""): \(found)") }
            }
        }
        #expect(count > 0)
    }

    /// Sends a case; returns the problem with the answer, or nil.
    private func run(
        _ testCase: [String: Any], of name: String, on daemon: Daemon, tolerance: Double
    ) throws -> String? {
        let kind = testCase["kind"] as? String ?? ""
        let path = kind == "v2" ? "/v2/models/\(name)/infer" : "/v1/models/\(name)/predict"
        let body = try JSONSerialization.data(withJSONObject: try #require(testCase["request"]))
        let answer = try Curl.run(daemon.url + path, ["--data-binary", "@-"], input: body)
        switch kind {
        case "bad_input":
            let names = testCase["names"] as? [String] ?? []
            return answer.status == 400 && names.contains { answer.error.contains($0) } ? nil : answer.text
        case "items":
            let results = answer.json["results"] as? [[String: Any]] ?? []
            let expected = testCase["outputs"] as? [Any] ?? []
            let isSame =
                results.count == expected.count
                && zip(results, expected).allSatisfy { near($0["outputs"], $1, tolerance) }
            return answer.status == 200 && isSame ? nil : "\(answer.text) instead of \(expected)"
        case "v2":
            let outputs = answer.json["outputs"] as? [[String: Any]] ?? []
            for (output, expected) in testCase["outputs"] as? [String: [String: Any]] ?? [:] {
                guard let found = outputs.first(where: { $0["name"] as? String == output }),
                    found["datatype"] as? String == expected["datatype"] as? String,
                    near(found["data"], expected["data"] as Any, tolerance)
                else { return "\(answer.text) instead of \(expected)" }
            }
            return answer.status == 200 ? nil : answer.text
        default:
            let expected = testCase["outputs"] as Any
            return answer.status == 200 && near(answer.json["outputs"], expected, tolerance)
                ? nil : "\(answer.text) instead of \(expected)"
        }
    }

    /// True if two JSON values are equal within a tolerance, absolute up to 1 and relative above. Axes of 1 are
    /// optional.
    private func near(_ found: Any?, _ expected: Any, _ tolerance: Double) -> Bool {
        switch (found, expected) {
        case (let found as [Any], let expected as [Any]):
            return found.count == expected.count && zip(found, expected).allSatisfy { near($0, $1, tolerance) }
                || found.count == 1 && near(found[0], expected, tolerance)
                || expected.count == 1 && near(found, expected[0], tolerance)
        case (let found as [Any], _) where found.count == 1: return near(found[0], expected, tolerance)
        case (_, let expected as [Any]) where expected.count == 1: return near(found, expected[0], tolerance)
        case (let found as [String: Any], let expected as [String: Any]):
            return found.count == expected.count && expected.allSatisfy { near(found[$0.key], $0.value, tolerance) }
        case (let found as String, let expected as String): return found == expected
        case (let found as NSNumber, let expected as NSNumber):
            let (a, b) = (found.doubleValue, expected.doubleValue)
            return abs(a - b) <= tolerance * max(1, abs(b))
        default: return false
        }
    }

    @Test(
        "the tabular ONNX fixtures answer as the trained models did in Python", .enabled(if: hasEngine, engineAbsence))
    func theFixturesAnswerAsTheTrainedModelsDo() throws {
        try check(Self.fixtures)
    }

    private static let shared = SharedData.folder.map { $0.appendingPathComponent("tabular") }

    @Test(
        "the shared tabular ONNX models answer as the trained models did in Python",
        .enabled(if: hasEngine, engineAbsence), .enabled(if: shared != nil, "needs the shared models (../shared/data)"))
    func theSharedModelsAnswerAsTheTrainedModelsDo() throws {
        let folder = try #require(Self.shared)
        try check(folder)
        try check(folder.appendingPathComponent("operators"))
        try check(folder.appendingPathComponent("operators/wrong"))
    }

    /// All models of `make-tabular-fixtures --all`, if their folder is given (Tests/Parity/compare-tabular).
    @Test(
        "the tabular ONNX models of OCELLI_TABULAR answer as the trained models did in Python",
        .enabled(if: hasEngine, engineAbsence),
        .enabled(
            if: ProcessInfo.processInfo.environment["OCELLI_TABULAR"] != nil,
            "long: Tests/Parity/compare-tabular runs it"))
    func theModelsOfAFolderAnswerAsTheTrainedModelsDo() throws {
        try check(URL(fileURLWithPath: try #require(ProcessInfo.processInfo.environment["OCELLI_TABULAR"])))
    }

    private func inFolder(_ models: [String: Data], _ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "ocelli-engines-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let target = folder.appendingPathComponent("models")
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        for (name, bytes) in models { try bytes.write(to: target.appendingPathComponent(name)) }
        try body(folder)
    }

    /// A missing number is NaN, which the file's imputer replaces by the mean; text and lists of several lengths are
    /// refused by name.
    @Test(
        "columns of unequal length and wrong types get 400 with the input's name; null is a missing number",
        .enabled(if: hasEngine, engineAbsence))
    func rowsThatDoNotFitAreTheClientsMistake() throws {
        let daemon = try Daemon(["--models", Self.fixtures.appendingPathComponent("models").path, "--cache-dir", ""])
        defer { daemon.stop() }
        func predict(_ name: String, _ body: String) throws -> Answer {
            try Curl.run(daemon.url + "/v1/models/\(name)/predict", ["--data-binary", "@-"], input: Data(body.utf8))
        }
        let uneven = try predict(
            "people_leaves",
            "{\"age\": [[30], [40]], \"children\": [[1]], \"city\": [[\"x\"], [\"y\"]], \"plan\": [[\"free\"], [\"free\"]]}"
        )
        #expect(uneven.status == 400 && uneven.code == "invalid_input", "\(uneven.text)")
        #expect(uneven.error.contains("\"age\" [2,1]") && uneven.error.contains("\"children\" [1,1]"), "\(uneven.text)")
        let number = try predict("text_topics", "{\"text\": [[\"a\"], [7]]}")
        #expect(number.status == 400 && number.error.contains("\"text\""), "\(number.text)")
        let missing = try predict("iris_missing", "{\"inputs\": {\"X\": [5.1, null, 1.4, 0.2]}}")
        #expect(missing.status == 200, "\(missing.text)")
        let whole = try predict("diabetes_ridge_double", "{\"inputs\": {\"X\": [1, 2, 3]}}")
        #expect(whole.status == 400 && whole.error.contains("\"X\""), "\(whole.text)")
    }

    /// The mean colour of a picture, followed by a classifier in the form of skl2onnx: maps are sorted by label.
    private static let colors: ONNXFile = {
        let names = [("classlabels_strings", ["red", "green", "blue"])], domain = "ai.onnx.ml"
        return ONNXFile(
            [
                .init("GlobalAveragePool", ["image"], ["means"]), .init("Flatten", ["means"], ["mean"]),
                .init(
                    "LinearClassifier", ["mean"], ["label", "scores"], texts: [("post_transform", "SOFTMAX")],
                    domain: domain
                ).with(
                    numbers: [("coefficients", [1, 0, 0, 0, 1, 0, 0, 0, 1]), ("intercepts", [0, 0, 0])], lists: names),
                .init("ZipMap", ["scores"], ["probabilities"], domain: domain).with(lists: names),
            ], inputs: [("image", [1, 3, 8, 8])], outputs: [], maps: ["probabilities"])
    }()

    @Test(
        "a picture classifier of ai.onnx.ml operators answers classify with the labels of its file",
        .enabled(if: hasEngine, engineAbsence))
    func aClassifierOfPicturesIsClassifiedByTheLabelsOfItsFile() throws {
        try inFolder([:]) { folder in
            try Self.add(
                "colors", Self.colors, to: folder,
                inputs: """
                    { "name": "image", "type": "image", "shape": [8, 8, 3], "format": "RGB", "layout": "NCHW",
                      "normalize": { "standard": "[0,1]" } }
                    """, outputs: #"{ "name": "probabilities", "type": "array", "shape": [1, 3] }"#)
            let daemon = try Daemon(["--models", folder.path + "/models", "--cache-dir", ""])
            defer { daemon.stop() }
            #expect(try engine(daemon, "colors")["name"] as? String == "onnxruntime")
            let red = CoreMLFixtures.product.appendingPathComponent("red.png")
            let answer = try Curl.post(red, to: daemon.url + "/v1/models/colors/classify?top=3")
            #expect(answer.status == 200 && answer.topLabel == "red" && answer.topIndex == 2, "\(answer.text)")
            let confidences = answer.classifications.reduce(into: [String: Double]()) {
                $0[$1["label"] as? String ?? ""] = $1["confidence"] as? Double
            }
            #expect(Set(confidences.keys) == ["red", "green", "blue"], "\(answer.text)")
            #expect(abs(confidences.values.reduce(0, +) - 1) < 1e-5 && answer.topConfidence > 0.5, "\(answer.text)")
            let predicted = try Curl.post(red, to: daemon.url + "/v1/models/colors/predict")
            let outputs = predicted.json["outputs"] as? [String: Any]
            #expect(near(outputs?["probabilities"], confidences, 1e-6), "\(predicted.text) and \(answer.text)")
        }
    }

    @Test(
        "a classifier of tables answers predict with its best labels, and classify says that it takes no picture",
        .enabled(if: hasEngine, engineAbsence))
    func aClassifierOfTablesAnswersPredictWithItsBestLabels() throws {
        let daemon = try Daemon(["--models", Self.fixtures.appendingPathComponent("models").path, "--cache-dir", ""])
        defer { daemon.stop() }
        // Names, numbers as names, and texts: the first cases of cases.json.
        for (name, inputs, index, label, value) in [
            ("iris_names", #"{"X": [5.5, 2.4, 3.7, 1.0]}"#, 1, "versicolor", 0.959434),
            ("iris_logistic", #"{"X": [6.1, 2.6, 5.6, 1.4]}"#, 2, "2", 0.812071),
            ("text_topics", #"{"text": "match one goal coach match league coach was coach"}"#, 2, "sport", 0.947746),
        ] {
            let body = Data("{\"inputs\": \(inputs)}".utf8), route = daemon.url + "/v1/models/\(name)"
            let answer = try Curl.run(route + "/predict?top=1", ["--data-binary", "@-"], input: body)
            let outputs = answer.json["outputs"] as? [String: Any] ?? [:]
            let best = outputs["output_probability"] as? [[String: Any]] ?? []
            #expect(best.count == 1 && best.first?["label"] as? String == label, "\(name): \(answer.text)")
            #expect(best.first?["index"] as? Int == index, "\(name): \(answer.text)")
            #expect(abs((best.first?["value"] as? Double ?? .nan) - value) < 1e-5, "\(name): \(answer.text)")
            let refused = try Curl.post(BadInputTests.seven, to: route + "/classify")
            #expect(refused.status == 400 && refused.code == "invalid_input", "\(name): \(refused.text)")
            #expect(refused.error.contains("it answers /predict"), "\(name): \(refused.text)")
        }
    }

    /// The maximum of a window, put back in its place: an operator that OpenVINO does not have.
    private static let unpool = ONNXFile(
        [
            .init("MaxPool", ["x"], ["v", "i"], integers: [("kernel_shape", [2, 2]), ("strides", [2, 2])]),
            .init("MaxUnpool", ["v", "i"], ["y"], integers: [("kernel_shape", [2, 2]), ("strides", [2, 2])]),
        ], inputs: [("x", [1, 1, 2, 2])], outputs: [("y", [1, 1, 2, 2])])

    /// Half the size with an antialiasing filter, which OpenVINO ignores.
    private static let shrink = ONNXFile(
        [.init("Resize", ["x", "", "scales"], ["y"], integers: [("antialias", [1])], texts: [("mode", "linear")])],
        inputs: [("x", [1, 1, 1, 8])], outputs: [("y", [1, 1, 1, 4])], constants: [("scales", [1, 1, 1, 0.5])])

    private func engine(_ daemon: Daemon, _ name: String) throws -> [String: Any] {
        try Curl.run(daemon.url + "/v1/models/\(name)").json["engine"] as? [String: Any] ?? [:]
    }

    /// Adds a bundle with one input and one output.
    private static func add(
        _ name: String, _ file: ONNXFile, to folder: URL, inputs: String, outputs: String, runtime: String = "{}"
    ) throws {
        let bundle = folder.appendingPathComponent("models/\(name)")
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        try file.bytes.write(to: bundle.appendingPathComponent("\(name).onnx"))
        let json = """
            { "name": "\(name)", "id": "\(name)", "version": "1",
              "model": { "file": "\(name).onnx", "backend": "onnx" },
              "inputs": [ \(inputs) ], "outputs": [ \(outputs) ], "runtime": \(runtime) }
            """
        try Data(json.utf8).write(to: bundle.appendingPathComponent("model.json"))
    }

    /// By default, and by the setting, each of the two would run on the other engine.
    @Test(
        "runtime.engine in model.json fixes the engine of a model, regardless of the setting and the answers",
        .enabled(if: hasEngine, engineAbsence), arguments: ["auto", "openvino", "onnxruntime"])
    func theEngineOfModelJSONIsTheOneThatRuns(setting: String) throws {
        try inFolder([:]) { folder in
            try Self.add(
                "shrink", Self.shrink, to: folder, inputs: #"{ "name": "x", "type": "array", "shape": [1, 1, 1, 8] }"#,
                outputs: #"{ "name": "y", "type": "array", "shape": [1, 1, 1, 4] }"#,
                runtime: #"{ "engine": "openvino" }"#)
            try Self.add(
                "mean", .slow(layers: 2, side: 16, window: 3), to: folder,
                inputs: #"{ "name": "image", "type": "array", "shape": [1, 3, 16, 16] }"#,
                outputs: #"{ "name": "mean", "type": "array", "shape": [1, 3, 1, 1] }"#,
                runtime: #"{ "engine": "onnxruntime" }"#)
            let daemon = try Daemon(["--models", folder.path + "/models", "--cache-dir", "", "--engine", setting])
            defer { daemon.stop() }
            let shrink = try engine(daemon, "shrink"), mean = try engine(daemon, "mean")
            #expect(shrink["name"] as? String == "openvino" && shrink["reason"] == nil, "\(shrink)")
            #expect(mean["name"] as? String == "onnxruntime", "\(mean)")
            #expect(mean["reason"] as? String == "it is configured (engine)", "\(mean)")
            let answer = try Curl.run(
                daemon.url + "/v1/models/shrink/predict",
                ["--data-binary", "{\"inputs\": {\"x\": [7, 0, 0, 8, 0, 0, 0, 0]}}"])
            #expect(answer.status == 200, "\(answer.text)")
        }
    }

    @Test(
        "ONNX Runtime runs models that OpenVINO cannot, with the reason; without ONNX Runtime they fail",
        .enabled(if: hasEngine, engineAbsence))
    func theSecondEngineRunsWhatTheFirstCannotAndSaysWhy() throws {
        try inFolder(["unpool.onnx": Self.unpool.bytes, "shrink.onnx": Self.shrink.bytes]) { folder in
            let flags = ["--models", folder.path + "/models", "--cache-dir", folder.path + "/cache"]
            var daemon = try Daemon(flags)
            var comparisons: [Double] = []
            func check() throws {
                comparisons.append(try engine(daemon, "shrink")["comparison_ms"] as? Double ?? .nan)
                let unpool = try Curl.run(
                    daemon.url + "/v1/models/unpool/predict", ["--data-binary", "{\"inputs\": {\"x\": [1, 4, 3, 2]}}"])
                #expect(
                    (unpool.json["outputs"] as? [String: Any])?["y"] as? [[Double]] == [[0, 4], [0, 0]],
                    "\(unpool.text)")
                // Weights 1, 3, 3, 1 about the middle of two pixels; beyond the border the pixel at it counts
                // (exclude_outside is 0).
                let shrink = try Curl.run(
                    daemon.url + "/v1/models/shrink/predict",
                    ["--data-binary", "{\"inputs\": {\"x\": [7, 0, 0, 8, 0, 0, 0, 0]}}"])
                let values = (shrink.json["outputs"] as? [String: Any])?["y"] as? [Double] ?? []
                #expect(
                    zip(values, [3.5, 3, 1, 0]).allSatisfy { abs($0 - $1) < 1e-4 } && values.count == 4,
                    "\(shrink.text)")
                for (name, words) in [
                    ("unpool", "OpenVINO cannot read it: "), ("shrink", "OpenVINO computes it wrongly: "),
                ] {
                    let engine = try engine(daemon, name)
                    #expect(engine["name"] as? String == "onnxruntime", "\(name): \(engine)")
                    #expect((engine["reason"] as? String ?? "").hasPrefix(words), "\(name): \(engine)")
                    #expect(daemon.log.contains("model \(name) version 1 runs on ONNX Runtime "), "\(daemon.log)")
                    let metrics = try Curl.run(daemon.url + "/metrics").text
                    let sample =
                        "ocelli_model_engine{model=\"\(name)\",version=\"1\",engine=\"onnxruntime\",device=\"CPU\"} 1"
                    #expect(metrics.contains(sample), "\(name)")
                }
            }
            try check()
            #expect(daemon.stop() == 0)
            // The choice is remembered, with its reason.
            daemon = try Daemon(flags)
            try check()
            #expect(daemon.stop() == 0)
            // The first start compares, in the process of the load check; the second one does not.
            #expect(comparisons[0] > comparisons[1], "\(comparisons)")
            let command = try Shell.run(Daemon.binary.path, ["check", folder.path + "/models/shrink.onnx"])
            #expect(
                command.text.contains("runs on ONNX Runtime ") && command.text.contains("computes it wrongly"),
                "\(command.text)")
            // Without the engine that answered so far the model fails, instead of running on another one.
            daemon = try Daemon(flags + ["--onnxruntime-path", folder.path + "/gone.so"])
            let state = try Curl.run(daemon.url + "/v1/models/shrink").json
            #expect(state["state"] as? String == "failed", "\(state)")
            let reason = state["reason"] as? String ?? ""
            #expect(reason.contains("ONNX Runtime ran it before, because OpenVINO computes it wrongly"), "\(reason)")
            #expect(daemon.stop() == 0)
        }
    }

    @Test("without ONNX Runtime a model that needs it fails with the reason, and the other models are served")
    func whereTheSecondEngineIsMissingItIsSaid() throws {
        try inFolder(["unpool.onnx": Self.unpool.bytes]) { folder in
            let digits = SharedData.packageRoot.appendingPathComponent("models/digits")
            try FileManager.default.copyItem(at: digits, to: folder.appendingPathComponent("models/digits"))
            let daemon = try Daemon([
                "--models", folder.path + "/models", "--cache-dir", folder.path + "/cache", "--onnxruntime-path",
                folder.path + "/gone.so",
            ])
            defer { daemon.stop() }
            let reason = try Curl.run(daemon.url + "/v1/models/unpool").json["reason"] as? String ?? ""
            #expect(reason.contains("MaxUnpool") && reason.contains("gone.so"), "\(reason)")
            #expect(try engine(daemon, "digits")["name"] as? String == "openvino")
            let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/digits/classify")
            #expect(answer.topLabel == "7", "\(answer.text)")
        }
    }
}

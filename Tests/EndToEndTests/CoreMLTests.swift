import Foundation
import TestSupport
import Testing

/// Core ML files as users have them: dropped into the models folder, and asked over HTTP. What is expected is what numpy and
/// scikit-learn compute (Tests/FixtureMakers/coreml_fixtures).
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CoreMLTests {
    static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/coreml")
    static let product = fixtures.appendingPathComponent("product")

    /// A models folder with files of the fixtures; gone with the test.
    final class Folder {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-coreml-\(UUID().uuidString)")

        init(_ files: [URL] = []) throws {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
            for file in files { try add(file) }
        }

        func add(_ file: URL, as name: String? = nil) throws {
            let target = url.appendingPathComponent(name ?? file.lastPathComponent)
            try FileManager.default.createDirectory(
                at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: file, to: target)
        }

        func write(_ text: String, to name: String) throws {
            let target = url.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: target)
        }

        deinit { try? FileManager.default.removeItem(at: url) }
    }

    private func expected() throws -> [String: Any] {
        let data = try Data(contentsOf: Self.product.appendingPathComponent("expected.json"))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    /// Runs the program without settings from the environment of the tests.
    private func ocelli(_ arguments: [String]) throws -> Shell.Result {
        try Shell.run("env", ["-u", "OCELLI_ONLY", Daemon.binary.path] + arguments)
    }

    private func predict(_ daemon: Daemon, _ model: String, _ body: String) throws -> Answer {
        try Curl.run(daemon.url + "/v1/models/\(model)/predict", ["--data-binary", "@-"], input: Data(body.utf8))
    }

    private func close(_ a: Any?, _ b: Double, _ tolerance: Double = 1e-5) -> Bool {
        (a as? NSNumber).map { abs($0.doubleValue - b) <= tolerance * max(1, abs(b)) } ?? false
    }

    // MARK: Pictures

    @Test func aClassifierAnswersWithItsOwnLabelsAndPreprocessing() throws {
        let folder = try Folder([Self.product.appendingPathComponent("colors.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let scores = try #require(try expected()["colors"] as? [String: [String: Double]])
        for (picture, wanted) in scores {
            let file = Self.product.appendingPathComponent("\(picture).png")
            // The only classifier there is answers /v1/classify.
            let answer = try Curl.post(file, to: daemon.url + "/v1/classify?top=4")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.topLabel == picture)
            for entry in answer.classifications {
                let label = try #require(entry["label"] as? String)
                #expect(close(entry["confidence"], try #require(wanted[label])), "\(picture), \(label): \(entry)")
            }
            let prediction = try Curl.post(file, to: daemon.url + "/v1/models/colors/predict")
            let outputs = try #require(prediction.json["outputs"] as? [String: Any], "\(prediction.text)")
            #expect(outputs["color"] as? String == picture)
            let probabilities = try #require(outputs["probabilities"] as? [String: Any])
            #expect(probabilities.count == 4)
            for (label, value) in wanted { #expect(close(probabilities[label], value)) }
        }
        let record = try Curl.run(daemon.url + "/v1/models/colors").json
        let metadata = try #require(record["metadata"] as? [String: Any])
        #expect(metadata["description"] as? String == "Tells the main colour of a picture.")
        #expect(metadata["author"] as? String == "The Ocelli authors")
        #expect(metadata["license"] as? String == "Apache-2.0")
        #expect(metadata["backend"] as? String == "coreml")
        #expect((record["options"] as? [String: Any])?["source"] as? String != nil)
        let inputs = try #require(record["inputs"] as? [[String: Any]])
        #expect(inputs[0]["type"] as? String == "image")
        #expect(inputs[0]["format"] as? String == "BGR")
    }

    /// Scores below 0 are no confidences: no threshold applies to them, and each answer says what they are.
    @Test func logitsAreAnsweredWholeAndSaidToBeLogits() throws {
        let file = Self.product.appendingPathComponent("colors_logits.mlmodel")
        let folder = try Folder([file, Self.product.appendingPathComponent("colors.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let scores = try #require(try expected()["colors_logits"] as? [String: [String: Double]])
        func check(_ answer: [String: Any], _ picture: String) throws {
            #expect(answer["scores"] as? String == "logits", "\(answer)")
            let wanted = try #require(scores[picture])
            let entries = try #require(answer["classifications"] as? [[String: Any]])
            #expect(entries.count == 4 && entries.first?["label"] as? String == picture, "\(answer)")
            for entry in entries {
                let label = try #require(entry["label"] as? String)
                #expect(close(entry["confidence"], try #require(wanted[label]), 1e-4), "\(picture), \(label): \(entry)")
            }
        }
        let route = daemon.url + "/v1/models/colors_logits/classify"
        for picture in scores.keys {
            let path = Self.product.appendingPathComponent("\(picture).png")
            for query in ["", "?threshold=0", "?threshold=0.5"] {
                try check(try Curl.post(path, to: route + query).json, picture)
            }
        }
        let parts = scores.keys.sorted().flatMap { ["-F", "image=@\(Self.product.path)/\($0).png"] }
        let batch = try Curl.run(route + "?threshold=0.5", parts)
        let results = try #require(batch.json["results"] as? [[String: Any]], "\(batch.text)")
        #expect(results.count == 4)
        for (result, picture) in zip(results, scores.keys.sorted()) { try check(result, picture) }
        // Confidences are as before.
        let red = Self.product.appendingPathComponent("red.png")
        let sure = try Curl.post(red, to: daemon.url + "/v1/models/colors/classify?threshold=0.5")
        #expect(sure.classifications.count == 1 && sure.json["scores"] == nil, "\(sure.text)")
        // The command line prints logits as they are.
        func classify(_ model: String, _ more: [String] = []) throws -> Shell.Result {
            try ocelli(["classify", "--models", folder.url.path, "--model", model, red.path] + more)
        }
        let logits = try classify("colors_logits", ["--threshold", "0.5"])
        #expect(logits.text.contains("logits, not confidences") && !logits.text.contains("%"), "\(logits.text)")
        #expect(logits.text.contains("-1.882  red") && logits.text.contains("-11.294  blue"), "\(logits.text)")
        #expect(try classify("colors").text.contains("%  red"))
        #expect(try classify("colors_logits", ["--json"]).text.contains("\"scores\":\"logits\""))
    }

    @Test func anMLProgramInAPackageIsTheSameClassifier() throws {
        let folder = try Folder([Self.product.appendingPathComponent("program.mlpackage")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let scores = try #require(try expected()["colors"] as? [String: [String: Double]])
        for (picture, wanted) in scores {
            let answer = try Curl.post(
                Self.product.appendingPathComponent("\(picture).png"), to: daemon.url + "/v1/classify?top=4")
            #expect(answer.topLabel == picture, "\(answer.text)")
            for entry in answer.classifications {
                let label = try #require(entry["label"] as? String)
                #expect(close(entry["confidence"], try #require(wanted[label])), "\(picture), \(label): \(entry)")
            }
        }
    }

    @Test func checkWarnsOfBiasesThatAreAdded() throws {
        let wrong = Self.product.appendingPathComponent("colors_mean.mlmodel").path
        let result = try ocelli(["check", wrong])
        #expect(result.status == 0)
        #expect(result.text.contains("positive, which looks like a mistake of sign"), "\(result.text)")
        let right = try ocelli(["check", Self.product.appendingPathComponent("colors.mlmodel").path])
        #expect(right.text.contains("answers to classify, predict and /v2"), "\(right.text)")
        #expect(!right.text.contains("warning:"))
    }

    /// The model.json that init writes leaves every answer as it is, and each of its comments is a member that may be said.
    @Test func initWritesAnOverlayThatChangesNothing() throws {
        let names = [
            "colors.mlmodel", "colors_mean.mlmodel", "program.mlpackage", "detector.mlmodel", "tickets.mlmodel",
        ]
        let bare = try Folder(), overlaid = try Folder(), edited = try Folder()
        let red = Self.product.appendingPathComponent("red.png")
        for name in names {
            let file = Self.product.appendingPathComponent(name), own = String(name.prefix { $0 != "." })
            try bare.add(file)
            for folder in [overlaid, edited] {
                try folder.add(file, as: "\(own)/\(name)")
                let target = folder.url.appendingPathComponent("\(own)/model.json")
                let result = try ocelli(["init", folder.url.appendingPathComponent("\(own)/\(name)").path])
                #expect(result.status == 0 && result.text.contains("which changes nothing yet"), "\(result.errors)")
                let text = try String(contentsOf: target, encoding: .utf8)
                let again = try ocelli(["init", folder.url.appendingPathComponent("\(own)/\(name)").path])
                #expect(again.status != 0 && again.errors.contains("already exists"), "\(again.errors)")
                guard folder === edited else { continue }
                let lines = text.split(separator: "\n").map {
                    $0.replacingOccurrences(of: "      // \"", with: "      \"")
                }
                try folder.write(lines.joined(separator: "\n"), to: "\(own)/model.json")
                let labels = own == "detector" || own == "tickets" ? "" : "red\ngreen\nblue\ngray\n"
                try folder.write(labels, to: "\(own)/labels.txt")
            }
        }
        var answers: [[String]] = []
        for folder in [bare, overlaid, edited] {
            let daemon = try Daemon(["--models", folder.url.path])
            defer { daemon.stop() }
            var texts: [String] = []
            for name in names {
                let model = daemon.url + "/v1/models/" + name.prefix { $0 != "." }
                let answer =
                    name.hasPrefix("tickets")
                    ? try Curl.run(
                        model + "/predict", ["--data-binary", "@-"], input: Data("{\"day\": \"weekday\"}".utf8))
                    : try Curl.post(red, to: model + "/predict")
                #expect(answer.status == 200, "\(name): \(answer.text)")
                // All but the times.
                texts.append(
                    "\(answer.text.split(separator: "\"outputs\"").last?.split(separator: "\"timing_ms\"").first ?? "")"
                )
            }
            answers.append(texts)
        }
        #expect(answers[0] == answers[1] && answers[0] == answers[2], "\(answers)")
    }

    /// A model.json in a folder of models would make all of it one bundle, and one elsewhere would change the model's name.
    @Test(arguments: [
        ["colors.mlmodel", "tickets.mlmodel"], ["program.mlpackage", "colors.mlmodel"], ["colors.mlmodel"],
    ])
    func initRefusesFoldersThatAreNotTheModelsOwn(_ names: [String]) throws {
        let folder = try Folder(names.map { Self.product.appendingPathComponent($0) })
        let before = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
        let result = try ocelli(["init", folder.url.appendingPathComponent(names[0]).path])
        #expect(result.status != 0 && result.errors.contains("mkdir "), "\(result.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == before)
        let printed = try ocelli(["init", folder.url.appendingPathComponent(names[0]).path, "--stdout"])
        #expect(printed.status == 0 && printed.text.contains("\"backend\": \"coreml\""), "\(printed.errors)")
    }

    /// What may be left out, which shapes a file allows, and which of them are used: in check, `/v1/models` and `/v2`.
    @Test func descriptionsSayWhatMayBeChosen() throws {
        let names = [
            "batch.mlmodel", "default.mlmodel", "detector.mlmodel", "enlarge.mlpackage", "sizes.mlmodel",
            "tickets.mlmodel",
        ]
        let folder = try Folder(names.map { Self.product.appendingPathComponent($0) })
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let text = try ocelli(["check", folder.url.path]).text
        let wanted: [(model: String, input: String, said: String, members: [String: Any])] = [
            (
                "batch", "x", "the file allows a shape of [1...2, 3] (default [1,3]): predictions have [1,3] only",
                ["shapes": ["ranges": [[1, 2], [3, 3]], "default": [1, 3], "used": [1, 3]]]
            ),
            ("default", "shift", "optional (default 0.25)", ["optional": true, "default": 0.25]),
            ("detector", "iouThreshold", "optional (default 0.45)", ["optional": true, "default": 0.45]),
            (
                "enlarge", "x", "a shape of [1, 2, 2...8, 2...8] (default [1,2,4,4])",
                ["shapes": ["ranges": [[1, 1], [2, 2], [2, 8], [2, 8]], "default": [1, 2, 4, 4]]]
            ),
            (
                "sizes", "x",
                "the file allows a shape of [1, 2, 4...8, 4...] (default [1,2,6,6]): predictions have [1,2,6,6] only",
                [
                    "shapes": [
                        "ranges": [[1, 1], [2, 2], [4, 8], [4, NSNull()]], "default": [1, 2, 6, 6],
                        "used": [1, 2, 6, 6],
                    ]
                ]
            ),
            ("tickets", "distance", "optional", ["optional": true]),
        ]
        for one in wanted {
            #expect(text.contains(one.said), "\(one.model): \(text)")
            func input(_ path: String) throws -> [String: Any]? {
                let answer = try Curl.run(daemon.url + path + one.model).json
                return (answer["inputs"] as? [[String: Any]])?.first { $0["name"] as? String == one.input }
            }
            let described = try #require(try input("/v1/models/"))
            let parameters = try #require(try input("/v2/models/")?["parameters"] as? [String: Any])
            for found in [described.filter { one.members.keys.contains($0.key) }, parameters] {
                #expect(
                    NSDictionary(dictionary: found) == NSDictionary(dictionary: one.members), "\(one.model): \(found)")
            }
            #expect(["optional", "default", "shapes"].allSatisfy { described[$0] == nil || one.members[$0] != nil })
        }
        #expect(text.contains("detect: 2 labels"), "\(text)")
        #expect(try Curl.run(daemon.url + "/v1/models/detector").json["labels"] as? Int == 2)
        // What every prediction must have says nothing.
        let plain = try #require(try Curl.run(daemon.url + "/v2/models/default").json["inputs"] as? [[String: Any]])
        #expect(plain.first { $0["name"] as? String == "x" }?["parameters"] == nil)
    }

    @Test func openInferenceHasTheLabelAsBytesAndTheScoresAsTensor() throws {
        let folder = try Folder([Self.product.appendingPathComponent("colors.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let pixels = Array(repeating: "220", count: 16 * 16) + Array(repeating: "40", count: 2 * 16 * 16)
        let body = """
            {"inputs": [{"name": "image", "datatype": "FP32", "shape": [1, 3, 16, 16], "data": [\(pixels.joined(separator: ","))]}]}
            """
        let answer = try Curl.run(
            daemon.url + "/v2/models/colors/infer", ["--data-binary", "@-"], input: Data(body.utf8))
        #expect(answer.status == 200, "\(answer.text)")
        let outputs = try #require(answer.json["outputs"] as? [[String: Any]])
        let label = try #require(outputs.first { $0["name"] as? String == "color" })
        #expect(label["datatype"] as? String == "BYTES")
        // Prepared pixels are not scaled again: the network sees 220 and 40, and its first channel is blue.
        #expect(label["data"] as? [String] == ["blue"])
        let scores = try #require(outputs.first { $0["name"] as? String == "probabilities" })
        #expect(scores["datatype"] as? String == "FP32")
        #expect((scores["data"] as? [Any])?.count == 4)
    }

    @Test func aPictureComesBackAsPNG() throws {
        let folder = try Folder([Self.product.appendingPathComponent("invert.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let answer = try Curl.post(
            Self.product.appendingPathComponent("red.png"), to: daemon.url + "/v1/models/invert/predict",
            ["-H", "Accept: image/png"])
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.headers["content-type"] == "image/png")
        #expect(answer.body.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        // The negative's negative is the picture: its colour is the answer.
        try folder.add(Self.product.appendingPathComponent("colors.mlmodel"))
        let other = try Daemon(["--models", folder.url.path])
        defer { other.stop() }
        let cyan = try Curl.run(
            other.url + "/v1/models/invert/predict", ["--data-binary", "@-", "-H", "Accept: image/png"],
            input: answer.body)
        let reported = try Curl.run(
            other.url + "/v1/models/colors/classify", ["--data-binary", "@-"], input: cyan.body)
        #expect(reported.topLabel == "red", "\(reported.text)")
    }

    @Test func aPipelineOfANetworkAndALinearModelClassifies() throws {
        let folder = try Folder([Self.product.appendingPathComponent("pixels.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let scores = try #require(try expected()["pixels"] as? [String: [String: Double]])
        for (picture, wanted) in scores {
            let file = Self.product.appendingPathComponent("\(picture).png")
            let best = try #require(wanted.max { $0.value < $1.value })
            let prediction = try Curl.post(file, to: daemon.url + "/v1/models/pixels/predict")
            let outputs = try #require(prediction.json["outputs"] as? [String: Any], "\(prediction.text)")
            #expect(outputs["shade"] as? String == best.key)
            for (label, value) in wanted { #expect(close((outputs["odds"] as? [String: Any])?[label], value)) }
            let answer = try Curl.post(file, to: daemon.url + "/v1/classify")
            #expect(answer.topLabel == best.key, "\(answer.text)")
            #expect(close(answer.topConfidence, best.value))
        }
    }

    /// Scale, bias and order of colors are those of each network.
    @Test func networksOfAPipelineScaleTheirOwnPictures() throws {
        let all = try #require(try expected()["pipelines"] as? [String: [String: [Double]]])
        let folder = try Folder(all.keys.map { Self.product.appendingPathComponent("\($0).mlmodel") })
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let red = Self.product.appendingPathComponent("red.png")
        for (name, outputs) in all {
            let answer = try Curl.post(red, to: daemon.url + "/v1/models/\(name)/predict")
            for (output, wanted) in outputs {
                let found = try #require(
                    (answer.json["outputs"] as? [String: Any])?[output] as? [Double], "\(answer.text)")
                #expect(zip(found, wanted).allSatisfy { close($0, $1, 1e-4) }, "\(output): \(found), not \(wanted)")
                #expect(found.count == wanted.count)
            }
        }
    }

    @Test func modelJSONFixesBiasesOfTheWrongSign() throws {
        let folder = try Folder()
        let file = Self.product.appendingPathComponent("colors_mean.mlmodel")
        try folder.add(file, as: "as_written.mlmodel")
        try folder.add(file, as: "right/colors.mlmodel")
        try folder.write(
            """
            {"name": "right", "id": "right", "version": "3",
             "model": {"file": "colors.mlmodel", "backend": "coreml"},
             "inputs": [{"name": "image", "normalize": {"standard": "[-1,1]"}}],
             "outputs": [{"name": "color", "labels": "labels.txt"}, {"name": "probabilities"}]}
            """, to: "right/model.json")
        try folder.write("rot\ngrün\nblau\ngrau\n", to: "right/labels.txt")
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        #expect(daemon.log.contains("model as_written version 1: the biases of input \"image\""))
        #expect(!daemon.log.contains("model right version 3: the biases"))
        let red = Self.product.appendingPathComponent("red.png")
        let wanted = try #require(try expected()["colors_mean"] as? [String: [String: Double]])["red"]
        let written = try Curl.post(red, to: daemon.url + "/v1/models/as_written/classify?top=4")
        for entry in written.classifications {
            let label = try #require(entry["label"] as? String)
            #expect(close(entry["confidence"], try #require(wanted?[label]), 1e-4))
        }
        let right = try Curl.post(red, to: daemon.url + "/v1/models/right/classify")
        #expect(right.topLabel == "rot", "\(right.text)")
        #expect(right.json["version"] as? String == "3")
        let scores = try #require(try expected()["colors"] as? [String: [String: Double]])
        #expect(close(right.topConfidence, try #require(scores["red"]?["red"])))
    }

    // MARK: Numbers, strings, dictionaries

    @Test func aLogisticRegressionAnswersAsScikitLearnDoes() throws {
        let name = "glm_classifier_strings"
        let folder = try Folder([Self.fixtures.appendingPathComponent("classical/\(name).mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let data = try Data(contentsOf: Self.fixtures.appendingPathComponent("classical/\(name).json"))
        let record = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        for entry in try #require(record["cases"] as? [[String: Any]]) {
            let inputs = String(
                decoding: try JSONSerialization.data(withJSONObject: try #require(entry["inputs"])), as: UTF8.self)
            let wanted = try #require(entry["outputs"] as? [String: Any])
            for body in [inputs, "{\"inputs\": \(inputs)}"] {
                let answer = try predict(daemon, name, body)
                let outputs = try #require(answer.json["outputs"] as? [String: Any], "\(answer.text)")
                #expect(outputs["state"] as? String == wanted["state"] as? String)
                for (label, value) in try #require(wanted["classProbability"] as? [String: Double]) {
                    #expect(close((outputs["classProbability"] as? [String: Any])?[label], value, 1e-9))
                }
            }
        }
        let items = try predict(
            daemon, name,
            "{\"items\": [{\"goal\": 1, \"backersCount\": 2, \"duration\": 3}, {\"goal\": 1, \"backersCount\": 2}]}")
        let results = try #require(items.json["results"] as? [[String: Any]] ?? [items.json])
        #expect(items.status == 400 || results.count == 2)
        let missing = try predict(daemon, name, "{\"goal\": 1, \"duration\": 3}")
        #expect(missing.status == 400)
        #expect(missing.error.contains("\"backersCount\": is missing"), "\(missing.text)")
        let wrong = try predict(daemon, name, "{\"goal\": \"much\", \"backersCount\": 2, \"duration\": 3}")
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

    @Test func wordsAndOptionalInputs() throws {
        let folder = try Folder([Self.product.appendingPathComponent("tickets.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        for entry in try #require(try expected()["tickets"] as? [[String: Any]]) {
            let inputs = String(
                decoding: try JSONSerialization.data(withJSONObject: try #require(entry["inputs"])), as: UTF8.self)
            let answer = try predict(daemon, "tickets", inputs)
            #expect(
                close((answer.json["outputs"] as? [String: Any])?["price"], try #require(entry["price"] as? Double)))
        }
        let left = try predict(daemon, "tickets", "{\"day\": \"weekend\", \"distance\": null}")
        #expect(close((left.json["outputs"] as? [String: Any])?["price"], 30.5), "\(left.text)")
        let unknown = try predict(daemon, "tickets", "{\"day\": \"feast\"}")
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
            let answer = try predict(daemon, "tickets", body)
            #expect(answer.status == 400 && answer.error.contains(words), "\(body): \(answer.text)")
        }
        let number = try predict(daemon, "tickets", "{\"day\": 3}")
        #expect(number.status == 400)
        #expect(number.error.contains("\"day\": expected a string"), "\(number.text)")
        for body in ["[\"weekend\"]", "[\"weekend\", null]", "{\"inputs\": [\"weekend\"]}"] {
            let ordered = try predict(daemon, "tickets", body)
            #expect(close((ordered.json["outputs"] as? [String: Any])?["price"], 30.5), "\(body): \(ordered.text)")
        }
    }

    @Test func stringsAreBytesOfTheOpenInferenceProtocol() throws {
        let folder = try Folder([
            Self.product.appendingPathComponent("tickets.mlmodel"),
            Self.fixtures.appendingPathComponent("classical/dict_vectorizer.mlmodel"),
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
            #expect(close((output?["data"] as? [Any])?.first, price), "\(answer.text)")
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
        #expect(close((output?["data"] as? [Any])?.first, 30.5), "\(binary.text)")
        let words = try infer(
            "dict_vectorizer", "\"name\": \"x\", \"datatype\": \"BYTES\", \"shape\": [1], \"data\": [\"a\"]")
        #expect(words.status == 400 && words.error.contains("/predict"), "\(words.text)")
    }

    @Test func everyTypeOfFeatureGoesInAndOut() throws {
        let folder = try Folder(
            ["identity", "dict_vectorizer", "one_hot_error_sparse"].map {
                Self.fixtures.appendingPathComponent("classical/\($0).mlmodel")
            })
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let values = """
            {"number": 0.1, "count": 9007199254740993, "text": "Grüße, 世界", "array": [1.5, -2], "words": {"a": 0.1}}
            """
        let same = try predict(daemon, "identity", values)
        #expect(same.text.contains("9007199254740993"), "\(same.text)")
        let outputs = try #require(same.json["outputs"] as? [String: Any])
        #expect(outputs["number"] as? Double == 0.1)
        #expect(outputs["text"] as? String == "Grüße, 世界")
        #expect(outputs["array"] as? [Double] == [1.5, -2])
        #expect(outputs["words"] as? [String: Double] == ["a": 0.1])
        let vector = try predict(
            daemon, "dict_vectorizer", "{\"x\": {\"bedrooms\": 3, \"city=Rome\": 1, \"other\": 9}}")
        #expect((vector.json["outputs"] as? [String: Any])?["y"] as? [Double] == [0, 3, 0, 1], "\(vector.text)")
        let sparse = try predict(daemon, "one_hot_error_sparse", "{\"color\": \"blue\"}")
        #expect((sparse.json["outputs"] as? [String: Any])?["y"] as? [String: Double] == ["2": 1], "\(sparse.text)")
    }

    @Test func openSizesAreThoseThatTheFileAllows() throws {
        let folder = try Folder([Self.product.appendingPathComponent("enlarge.mlpackage")])
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
            let answer = try predict(daemon, "enlarge", "{\"inputs\": {\"x\": [\(x)]}}")
            let found = (answer.json["outputs"] as? [String: Any])?["y"] as? [[[[Double]]]]
            #expect(found == [wanted], "\(answer.text)")
        }
        for (rows, columns) in [(9, 4), (4, 1)] {
            let row = Array(repeating: 1, count: columns)
            let x = Array(repeating: Array(repeating: row, count: rows), count: 2)
            let answer = try predict(daemon, "enlarge", "{\"inputs\": {\"x\": [\(x)]}}")
            #expect(answer.status == 400 && answer.error.contains("2...8"), "\(answer.text)")
        }
    }

    @Test func thresholdsOfADetectorMayBeLeftOut() throws {
        let folder = try Folder([Self.fixtures.appendingPathComponent("classical/suppression_pipeline.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let data = try Data(contentsOf: Self.fixtures.appendingPathComponent("classical/suppression_pipeline.json"))
        let record = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        for test in try #require(record["cases"] as? [[String: [String: Any]]]) {
            let body = try JSONSerialization.data(withJSONObject: ["inputs": test["inputs"] ?? [:]])
            let answer = try predict(daemon, "suppression_pipeline", String(decoding: body, as: UTF8.self))
            let found = (answer.json["outputs"] as? [String: Any])?["confidence"] as? [Any]
            #expect(found?.count == (test["outputs"]?["confidence"] as? [Any])?.count, "\(answer.text)")
        }
    }

    /// scikit-learn marks what is missing by NaN, which JSON has not.
    @Test func nullIsAMissingNumberWhereAnImputerTakesIt() throws {
        let names = ["imputer", "imputer_double", "glm_classifier_strings"]
        let folder = try Folder(names.map { Self.fixtures.appendingPathComponent("classical/\($0).mlmodel") })
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let data = try Data(contentsOf: Self.fixtures.appendingPathComponent("classical/imputer.json"))
        let record = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        // The means of the columns: what scikit-learn makes of a row in which everything is missing.
        let missing = try #require(record["cases"] as? [[String: [String: [Double]]]]).first {
            $0["inputs"]?["x"] == [-1, -1, -1]
        }
        let imputed = try #require(missing?["outputs"]?["y"])
        let array = try predict(daemon, "imputer", "{\"inputs\": {\"x\": [null, 2.5, null]}}")
        let found = (array.json["outputs"] as? [String: Any])?["y"] as? [Double]
        #expect(found == [imputed[0], 2.5, imputed[2]], "\(array.text)")
        let number = try predict(daemon, "imputer_double", "{\"x\": null}")
        #expect((number.json["outputs"] as? [String: Any])?["y"] as? Double == 2.5, "\(number.text)")
        let glm = try predict(
            daemon, "glm_classifier_strings", "{\"goal\": null, \"backersCount\": 2, \"duration\": 3}")
        #expect(glm.status == 400 && glm.error.contains("found null"), "\(glm.text)")
    }

    /// Inputs that have no zeros are a word or a key that the model knows.
    @Test func reportMeasuresModelsOfWordsAndDictionaries() throws {
        let files = [
            "product/tickets", "classical/dict_vectorizer", "classical/one_hot_error",
            "classical/categorical_mapping_integers",
            "classical/categorical_mapping_strings", "classical/identity",
        ]
        for file in files {
            let path = Self.fixtures.appendingPathComponent("\(file).mlmodel").path
            let result = try ocelli(["report", path, "--seconds", "50ms", "--json"])
            #expect(result.status == 0, "\(file): \(result.errors)")
            let latency = result.json["prediction_ms"] as? [String: Double] ?? [:]
            #expect((latency["p50"] ?? 0) > 0, "\(file): \(result.text)")
        }
    }

    @Test func theExamplesAreServed() throws {
        let examples = SharedData.packageRoot.appendingPathComponent("examples/coreml")
        let daemon = try Daemon(["--models", examples.path])
        defer { daemon.stop() }
        let projects = try #require(try expected()["kickstarter"] as? [[String: Any]])
        for project in projects {
            let body = try JSONSerialization.data(withJSONObject: try #require(project["inputs"]))
            let answer = try predict(daemon, "Kickstarter", String(decoding: body, as: UTF8.self))
            let outputs = try #require(answer.json["outputs"] as? [String: Any], "\(answer.text)")
            #expect(outputs["state"] as? String == project["state"] as? String)
            let odds = try #require(outputs["classProbability"] as? [String: Any])
            for (label, value) in try #require(project["odds"] as? [String: Double]) {
                #expect(close(odds[label], value, 1e-9), "\(answer.text)")
            }
        }
        let red = Self.product.appendingPathComponent("red.png")
        #expect(try Curl.post(red, to: daemon.url + "/v1/models/Colors/classify").topLabel == "red")
    }

    // MARK: Files

    @Test func filesThatCannotBeServedAreListedWithTheReason() throws {
        let folder = try Folder([Self.product.appendingPathComponent("tickets.mlmodel")])
        let whole = try Data(contentsOf: Self.product.appendingPathComponent("colors.mlmodel"))
        try whole.prefix(200).write(to: folder.url.appendingPathComponent("cut.mlmodel"))
        try folder.write("{}", to: "empty.mlpackage/Manifest.json")
        try folder.write(
            "{\"rootModelIdentifier\": \"a\", \"itemInfoEntries\": {\"a\": {\"path\": \"../../tickets.mlmodel\"}}}",
            to: "outside.mlpackage/Manifest.json")
        let nowhere = "{\"rootModelIdentifier\": \"b\", \"itemInfoEntries\": {\"a\": {\"path\": \"a/model.mlmodel\"}}}"
        try folder.write(nowhere, to: "nowhere.mlpackage/Manifest.json")
        try folder.write("", to: "folder.mlpackage/Data/a/model.mlmodel")
        try folder.write(
            "{\"rootModelIdentifier\": \"a\", \"itemInfoEntries\": {\"a\": {\"path\": \"a\"}}}",
            to: "folder.mlpackage/Manifest.json")
        try folder.write("", to: "compiled.mlmodelc/coremldata.bin")
        // What a clone without Git LFS, a download and an archive leave in the place of a file.
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 24706\n"
        try folder.write(pointer, to: "pointer.mlmodel")
        try folder.write(pointer, to: "onnx.onnx")
        try folder.write("\n<!DOCTYPE html><html></html>", to: "page.mlmodel")
        try folder.write("PK\u{3}\u{4}archive", to: "archive.mlmodel")
        try Data([0x1F, 0x8B, 8, 0, 0]).write(to: folder.url.appendingPathComponent("compressed.mlmodel"))
        try folder.write("", to: "nothing.mlmodel")
        try folder.write("404: Not Found\n", to: "text.mlmodel")
        try folder.write("Das Modell heißt f", to: "words.onnx")
        try Data("book\0\0\0\0mark\0\0\0\0\u{38}\0".utf8).write(to: folder.url.appendingPathComponent("alias.mlmodel"))
        try Data([0, 5, 0x16, 7, 0, 2, 0, 0, 0x4D]).write(to: folder.url.appendingPathComponent("double.mlmodel"))
        try folder.add(Self.product.appendingPathComponent("program.mlpackage"), as: "bare.mlpackage")
        let weights = folder.url.appendingPathComponent("bare.mlpackage/Data/com.apple.CoreML/weights")
        try FileManager.default.removeItem(at: weights)
        try folder.add(Self.product.appendingPathComponent("program.mlpackage"), as: "weights.mlpackage")
        try folder.write(pointer, to: "weights.mlpackage/Data/com.apple.CoreML/weights/weight.bin")
        try folder.add(
            Self.product.appendingPathComponent("tickets.mlmodel"), as: "package.mlpackage/Data/a/model.mlmodel")
        try folder.write(
            "{\"rootModelIdentifier\": \"a\", \"itemInfoEntries\": {\"a\": {\"path\": \"./a//model.mlmodel\"}}}",
            to: "package.mlpackage/Manifest.json")
        try folder.add(Self.product.appendingPathComponent("tickets.mlmodel"), as: "numbered/7/any.mlmodel")
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let models = try #require(try Curl.run(daemon.url + "/v1/models").json["models"] as? [[String: Any]])
        func reason(_ name: String) -> String {
            models.first { $0["name"] as? String == name }?["reason"] as? String ?? ""
        }
        #expect(reason("cut").contains("truncated"), "\(models)")
        #expect(reason("empty").contains("Manifest.json"))
        #expect(reason("outside").contains("leaves the package"))
        #expect(reason("nowhere").contains("the root model \"b\" has no path"), "\(reason("nowhere"))")
        #expect(
            reason("folder").contains("Data/a: cannot be read: expected a regular file, found a folder"),
            "\(reason("folder"))")
        #expect(reason("compiled").contains(".mlmodelc"))
        #expect(reason("pointer").contains("git lfs pull"), "\(reason("pointer"))")
        #expect(reason("onnx").contains("git lfs pull"), "\(reason("onnx"))")
        #expect(reason("weights").contains("the weight file: is a Git LFS pointer"), "\(reason("weights"))")
        #expect(reason("text").contains("is a text file"), "\(reason("text"))")
        #expect(reason("words").contains("is a text file"), "\(reason("words"))")
        #expect(reason("alias").contains("is a macOS alias"), "\(reason("alias"))")
        #expect(reason("double").contains("AppleDouble"), "\(reason("double"))")
        #expect(reason("bare").contains("the weight file \"weights/weight.bin\" is missing: copy"), "\(reason("bare"))")
        #expect(reason("bare").components(separatedBy: "is missing").count == 2, "\(reason("bare"))")
        #expect(reason("page").contains("web page"), "\(reason("page"))")
        #expect(reason("archive").contains("zip archive"), "\(reason("archive"))")
        #expect(reason("compressed").contains("gunzip"), "\(reason("compressed"))")
        #expect(reason("nothing").contains("is empty"), "\(reason("nothing"))")
        for name in ["tickets", "package", "numbered"] {
            let answer = try predict(daemon, name, "{\"day\": \"weekend\"}")
            #expect(answer.status == 200, "\(name): \(answer.text)")
        }
        #expect(models.first { $0["name"] as? String == "numbered" }?["version"] as? String == "7")
    }
}

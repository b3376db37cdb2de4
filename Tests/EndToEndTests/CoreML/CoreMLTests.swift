import Foundation
import TestSupport
import Testing

/// Core ML files that take pictures, as used by users: copied into the models folder, and requested over HTTP.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CoreMLTests {
    @Test("a Core ML classifier answers with its own labels, preprocessing and metadata")
    func aClassifierAnswersWithItsOwnLabelsAndPreprocessing() throws {
        let folder = try CoreMLFixtures.Folder([CoreMLFixtures.product.appendingPathComponent("colors.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let scores = try #require(try CoreMLFixtures.expected()["colors"] as? [String: [String: Double]])
        for (picture, wanted) in scores {
            let file = CoreMLFixtures.product.appendingPathComponent("\(picture).png")
            // The only classifier answers /v1/classify.
            let answer = try Curl.post(file, to: daemon.url + "/v1/classify?top=4")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.topLabel == picture)
            for entry in answer.classifications {
                let label = try #require(entry["label"] as? String)
                #expect(
                    CoreMLFixtures.close(entry["confidence"], try #require(wanted[label])),
                    "\(picture), \(label): \(entry)")
            }
            let prediction = try Curl.post(file, to: daemon.url + "/v1/models/colors/predict")
            let outputs = try #require(prediction.json["outputs"] as? [String: Any], "\(prediction.text)")
            #expect(outputs["color"] as? String == picture)
            let probabilities = try #require(outputs["probabilities"] as? [String: Any])
            #expect(probabilities.count == 4)
            for (label, value) in wanted { #expect(CoreMLFixtures.close(probabilities[label], value)) }
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

    /// Scores below 0 are not confidences: no threshold applies to them, and each answer marks them.
    @Test("logits of a Core ML classifier are marked as logits, and no threshold applies to them")
    func logitsAreAnsweredWholeAndSaidToBeLogits() throws {
        let file = CoreMLFixtures.product.appendingPathComponent("colors_logits.mlmodel")
        let folder = try CoreMLFixtures.Folder([file, CoreMLFixtures.product.appendingPathComponent("colors.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let scores = try #require(try CoreMLFixtures.expected()["colors_logits"] as? [String: [String: Double]])
        func check(_ answer: [String: Any], _ picture: String) throws {
            #expect(answer["scores"] as? String == "logits", "\(answer)")
            let wanted = try #require(scores[picture])
            let entries = try #require(answer["classifications"] as? [[String: Any]])
            #expect(entries.count == 4 && entries.first?["label"] as? String == picture, "\(answer)")
            for entry in entries {
                let label = try #require(entry["label"] as? String)
                #expect(
                    CoreMLFixtures.close(entry["confidence"], try #require(wanted[label]), 1e-4),
                    "\(picture), \(label): \(entry)")
            }
        }
        let route = daemon.url + "/v1/models/colors_logits/classify"
        for picture in scores.keys {
            let path = CoreMLFixtures.product.appendingPathComponent("\(picture).png")
            for query in ["", "?threshold=0", "?threshold=0.5"] {
                try check(try Curl.post(path, to: route + query).json, picture)
            }
        }
        let parts = scores.keys.sorted().flatMap { ["-F", "image=@\(CoreMLFixtures.product.path)/\($0).png"] }
        let batch = try Curl.run(route + "?threshold=0.5", parts)
        let results = try #require(batch.json["results"] as? [[String: Any]], "\(batch.text)")
        #expect(results.count == 4)
        for (result, picture) in zip(results, scores.keys.sorted()) { try check(result, picture) }
        // Confidences are not affected.
        let red = CoreMLFixtures.product.appendingPathComponent("red.png")
        let sure = try Curl.post(red, to: daemon.url + "/v1/models/colors/classify?threshold=0.5")
        #expect(sure.classifications.count == 1 && sure.json["scores"] == nil, "\(sure.text)")
        for (model, count) in [("colors_logits", 4), ("colors", 1)] {
            let answer = try Curl.post(red, to: daemon.url + "/v1/models/\(model)/predict?threshold=0.5")
            let outputs = try #require(answer.json["outputs"] as? [String: Any], "\(answer.text)")
            #expect(outputs.values.compactMap { ($0 as? [Any])?.count } == [count], "\(answer.text)")
        }
        // The command line prints logits unchanged.
        func classify(_ model: String, _ more: [String] = []) throws -> Shell.Result {
            try CoreMLFixtures.ocelli(["classify", "--models", folder.url.path, "--model", model, red.path] + more)
        }
        let logits = try classify("colors_logits", ["--threshold", "0.5"])
        #expect(logits.text.contains("logits, not confidences") && !logits.text.contains("%"), "\(logits.text)")
        #expect(logits.text.contains("-1.882  red") && logits.text.contains("-11.294  blue"), "\(logits.text)")
        #expect(try classify("colors").text.contains("%  red"))
        #expect(try classify("colors_logits", ["--json"]).text.contains("\"scores\":\"logits\""))
    }

    @Test("an ML program in an .mlpackage classifies like the same network in an .mlmodel")
    func anMLProgramInAPackageIsTheSameClassifier() throws {
        let folder = try CoreMLFixtures.Folder([CoreMLFixtures.product.appendingPathComponent("program.mlpackage")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let scores = try #require(try CoreMLFixtures.expected()["colors"] as? [String: [String: Double]])
        for (picture, wanted) in scores {
            let answer = try Curl.post(
                CoreMLFixtures.product.appendingPathComponent("\(picture).png"), to: daemon.url + "/v1/classify?top=4")
            #expect(answer.topLabel == picture, "\(answer.text)")
            for entry in answer.classifications {
                let label = try #require(entry["label"] as? String)
                #expect(
                    CoreMLFixtures.close(entry["confidence"], try #require(wanted[label])),
                    "\(picture), \(label): \(entry)")
            }
        }
    }

    @Test("the /v2 answer of a Core ML classifier has the label as BYTES and the scores as FP32")
    func openInferenceHasTheLabelAsBytesAndTheScoresAsTensor() throws {
        let folder = try CoreMLFixtures.Folder([CoreMLFixtures.product.appendingPathComponent("colors.mlmodel")])
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
        // Prepared pixels are not scaled again: the network's input is 220 and 40, with blue as the first channel.
        #expect(label["data"] as? [String] == ["blue"])
        let scores = try #require(outputs.first { $0["name"] as? String == "probabilities" })
        #expect(scores["datatype"] as? String == "FP32")
        #expect((scores["data"] as? [Any])?.count == 4)
    }

    @Test("a Core ML model whose output is a picture answers `Accept: image/png` with a PNG")
    func aPictureComesBackAsPNG() throws {
        let folder = try CoreMLFixtures.Folder([CoreMLFixtures.product.appendingPathComponent("invert.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let answer = try Curl.post(
            CoreMLFixtures.product.appendingPathComponent("red.png"), to: daemon.url + "/v1/models/invert/predict",
            ["-H", "Accept: image/png"])
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.headers["content-type"] == "image/png")
        #expect(answer.body.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        // The negative's negative is the picture: its colour is the answer.
        try folder.add(CoreMLFixtures.product.appendingPathComponent("colors.mlmodel"))
        let other = try Daemon(["--models", folder.url.path])
        defer { other.stop() }
        let cyan = try Curl.run(
            other.url + "/v1/models/invert/predict", ["--data-binary", "@-", "-H", "Accept: image/png"],
            input: answer.body)
        let reported = try Curl.run(
            other.url + "/v1/models/colors/classify", ["--data-binary", "@-"], input: cyan.body)
        #expect(reported.topLabel == "red", "\(reported.text)")
    }

    @Test("a Core ML pipeline of a network and a linear model answers predict and classify")
    func aPipelineOfANetworkAndALinearModelClassifies() throws {
        let folder = try CoreMLFixtures.Folder([CoreMLFixtures.product.appendingPathComponent("pixels.mlmodel")])
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let scores = try #require(try CoreMLFixtures.expected()["pixels"] as? [String: [String: Double]])
        for (picture, wanted) in scores {
            let file = CoreMLFixtures.product.appendingPathComponent("\(picture).png")
            let best = try #require(wanted.max { $0.value < $1.value })
            let prediction = try Curl.post(file, to: daemon.url + "/v1/models/pixels/predict")
            let outputs = try #require(prediction.json["outputs"] as? [String: Any], "\(prediction.text)")
            #expect(outputs["shade"] as? String == best.key)
            for (label, value) in wanted {
                #expect(CoreMLFixtures.close((outputs["odds"] as? [String: Any])?[label], value))
            }
            let answer = try Curl.post(file, to: daemon.url + "/v1/classify")
            #expect(answer.topLabel == best.key, "\(answer.text)")
            #expect(CoreMLFixtures.close(answer.topConfidence, best.value))
        }
    }

    @Test("each network of a Core ML pipeline uses its own scale, biases and colour order")
    func networksOfAPipelineScaleTheirOwnPictures() throws {
        let all = try #require(try CoreMLFixtures.expected()["pipelines"] as? [String: [String: [Double]]])
        let folder = try CoreMLFixtures.Folder(
            all.keys.map { CoreMLFixtures.product.appendingPathComponent("\($0).mlmodel") })
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let red = CoreMLFixtures.product.appendingPathComponent("red.png")
        for (name, outputs) in all {
            let answer = try Curl.post(red, to: daemon.url + "/v1/models/\(name)/predict")
            for (output, wanted) in outputs {
                let found = try #require(
                    (answer.json["outputs"] as? [String: Any])?[output] as? [Double], "\(answer.text)")
                #expect(
                    zip(found, wanted).allSatisfy { CoreMLFixtures.close($0, $1, 1e-4) },
                    "\(output): \(found), not \(wanted)")
                #expect(found.count == wanted.count)
            }
        }
    }

    @Test("a model.json corrects the biases of a Core ML file that have the wrong sign")
    func modelJSONFixesBiasesOfTheWrongSign() throws {
        let folder = try CoreMLFixtures.Folder()
        let file = CoreMLFixtures.product.appendingPathComponent("colors_mean.mlmodel")
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
        let red = CoreMLFixtures.product.appendingPathComponent("red.png")
        let wanted = try #require(try CoreMLFixtures.expected()["colors_mean"] as? [String: [String: Double]])["red"]
        let written = try Curl.post(red, to: daemon.url + "/v1/models/as_written/classify?top=4")
        for entry in written.classifications {
            let label = try #require(entry["label"] as? String)
            #expect(CoreMLFixtures.close(entry["confidence"], try #require(wanted?[label]), 1e-4))
        }
        let right = try Curl.post(red, to: daemon.url + "/v1/models/right/classify")
        #expect(right.topLabel == "rot", "\(right.text)")
        #expect(right.json["version"] as? String == "3")
        let scores = try #require(try CoreMLFixtures.expected()["colors"] as? [String: [String: Double]])
        #expect(CoreMLFixtures.close(right.topConfidence, try #require(scores["red"]?["red"])))
    }
}

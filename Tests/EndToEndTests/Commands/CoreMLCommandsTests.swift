import Foundation
import TestSupport
import Testing

/// Core ML files with `ocelli check`, `init` and `report`, and the reasons of those that cannot be served.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CoreMLCommandsTests {
    @Test("`ocelli check` warns of positive biases in a Core ML file, which look like a mistake of sign")
    func checkWarnsOfBiasesThatAreAdded() throws {
        let wrong = CoreMLFixtures.product.appendingPathComponent("colors_mean.mlmodel").path
        let result = try CoreMLFixtures.ocelli(["check", wrong])
        #expect(result.status == 0)
        #expect(result.text.contains("positive, which looks like a mistake of sign"), "\(result.text)")
        let right = try CoreMLFixtures.ocelli([
            "check", CoreMLFixtures.product.appendingPathComponent("colors.mlmodel").path,
        ])
        #expect(right.text.contains("answers to classify, predict and /v2"), "\(right.text)")
        #expect(!right.text.contains("warning:"))
    }

    /// The written model.json changes no answer, and each of its comments is a member that may be set.
    @Test("the model.json that `ocelli init` writes for a Core ML file changes no answer")
    func initWritesAnOverlayThatChangesNothing() throws {
        let names = [
            "colors.mlmodel", "colors_mean.mlmodel", "program.mlpackage", "detector.mlmodel", "tickets.mlmodel",
        ]
        let bare = try CoreMLFixtures.Folder(), overlaid = try CoreMLFixtures.Folder(),
            edited = try CoreMLFixtures.Folder()
        let red = CoreMLFixtures.product.appendingPathComponent("red.png")
        for name in names {
            let file = CoreMLFixtures.product.appendingPathComponent(name), own = String(name.prefix { $0 != "." })
            try bare.add(file)
            for folder in [overlaid, edited] {
                try folder.add(file, as: "\(own)/\(name)")
                let target = folder.url.appendingPathComponent("\(own)/model.json")
                let result = try CoreMLFixtures.ocelli([
                    "init", folder.url.appendingPathComponent("\(own)/\(name)").path,
                ])
                #expect(result.status == 0 && result.text.contains("which changes nothing yet"), "\(result.errors)")
                let text = try String(contentsOf: target, encoding: .utf8)
                let again = try CoreMLFixtures.ocelli([
                    "init", folder.url.appendingPathComponent("\(own)/\(name)").path,
                ])
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

    /// A model.json in a folder of models would make one bundle of all its files, and elsewhere it would change the
    /// model's name.
    @Test(
        "`ocelli init` writes no model.json where a Core ML file is not in a folder of its own",
        arguments: [
            ["colors.mlmodel", "tickets.mlmodel"], ["program.mlpackage", "colors.mlmodel"], ["colors.mlmodel"],
        ])
    func initRefusesFoldersThatAreNotTheModelsOwn(_ names: [String]) throws {
        let folder = try CoreMLFixtures.Folder(names.map { CoreMLFixtures.product.appendingPathComponent($0) })
        let before = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
        let result = try CoreMLFixtures.ocelli(["init", folder.url.appendingPathComponent(names[0]).path])
        #expect(result.status != 0 && result.errors.contains("mkdir "), "\(result.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == before)
        let printed = try CoreMLFixtures.ocelli(["init", folder.url.appendingPathComponent(names[0]).path, "--stdout"])
        #expect(printed.status == 0 && printed.text.contains("\"backend\": \"coreml\""), "\(printed.errors)")
    }

    /// Optional inputs, the shapes that a file allows, and those that are used: in check, `/v1/models` and `/v2`.
    @Test("optional inputs and flexible shapes of Core ML files are in `check`, /v1/models and /v2/models")
    func descriptionsSayWhatMayBeChosen() throws {
        let names = [
            "batch.mlmodel", "default.mlmodel", "detector.mlmodel", "enlarge.mlpackage", "sizes.mlmodel",
            "tickets.mlmodel",
        ]
        let folder = try CoreMLFixtures.Folder(names.map { CoreMLFixtures.product.appendingPathComponent($0) })
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let text = try CoreMLFixtures.ocelli(["check", folder.url.path]).text
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
        // A required input has no such parameters.
        let plain = try #require(try Curl.run(daemon.url + "/v2/models/default").json["inputs"] as? [[String: Any]])
        #expect(plain.first { $0["name"] as? String == "x" }?["parameters"] == nil)
    }

    /// Such inputs have no zeros: the measurement uses a word or a key that the model knows.
    @Test("`ocelli report` measures Core ML models whose inputs are strings or dictionaries")
    func reportMeasuresModelsOfWordsAndDictionaries() throws {
        let files = [
            "product/tickets", "classical/dict_vectorizer", "classical/one_hot_error",
            "classical/categorical_mapping_integers",
            "classical/categorical_mapping_strings", "classical/identity",
        ]
        for file in files {
            let path = CoreMLFixtures.folder.appendingPathComponent("\(file).mlmodel").path
            let result = try CoreMLFixtures.ocelli(["report", path, "--seconds", "50ms", "--json"])
            #expect(result.status == 0, "\(file): \(result.errors)")
            let latency = result.json["prediction_ms"] as? [String: Double] ?? [:]
            #expect((latency["p50"] ?? 0) > 0, "\(file): \(result.text)")
        }
    }

    @Test("a Core ML file that cannot be served is listed with the reason, and good files are served")
    func filesThatCannotBeServedAreListedWithTheReason() throws {
        let folder = try CoreMLFixtures.Folder([CoreMLFixtures.product.appendingPathComponent("tickets.mlmodel")])
        let whole = try Data(contentsOf: CoreMLFixtures.product.appendingPathComponent("colors.mlmodel"))
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
        // The content of a file after a clone without Git LFS, a failed download, and in an archive.
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
        try folder.add(CoreMLFixtures.product.appendingPathComponent("program.mlpackage"), as: "bare.mlpackage")
        let weights = folder.url.appendingPathComponent("bare.mlpackage/Data/com.apple.CoreML/weights")
        try FileManager.default.removeItem(at: weights)
        try folder.add(CoreMLFixtures.product.appendingPathComponent("program.mlpackage"), as: "weights.mlpackage")
        try folder.write(pointer, to: "weights.mlpackage/Data/com.apple.CoreML/weights/weight.bin")
        try folder.add(
            CoreMLFixtures.product.appendingPathComponent("tickets.mlmodel"),
            as: "package.mlpackage/Data/a/model.mlmodel")
        try folder.write(
            "{\"rootModelIdentifier\": \"a\", \"itemInfoEntries\": {\"a\": {\"path\": \"./a//model.mlmodel\"}}}",
            to: "package.mlpackage/Manifest.json")
        try folder.add(CoreMLFixtures.product.appendingPathComponent("tickets.mlmodel"), as: "numbered/7/any.mlmodel")
        let daemon = try Daemon(["--models", folder.url.path])
        defer { daemon.stop() }
        let models = try #require(try Curl.run(daemon.url + "/v1/models").json["models"] as? [[String: Any]])
        func reason(_ name: String) -> String {
            models.first { $0["name"] as? String == name }?["reason"] as? String ?? ""
        }
        #expect(reason("cut").contains("damaged or cut off"), "\(models)")
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
            let answer = try CoreMLFixtures.predict(daemon, name, "{\"day\": \"weekend\"}")
            #expect(answer.status == 200, "\(name): \(answer.text)")
        }
        #expect(models.first { $0["name"] as? String == "numbered" }?["version"] as? String == "7")
    }
}

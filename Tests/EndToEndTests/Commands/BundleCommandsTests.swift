import Foundation
import TestSupport
import Testing

/// `ocelli check` and `ocelli init`.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
struct BundleCommandsTests {
    private let digits = SharedData.packageRoot.appendingPathComponent("models/digits")

    private func ocelli(_ arguments: [String]) throws -> Shell.Result {
        try Shell.run(Daemon.binary.path, arguments)
    }

    /// A copy of the digits bundle with another model.json.
    private func copy(_ change: (String) -> String) throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-check-\(UUID().uuidString)")
        try FileManager.default.copyItem(at: digits, to: folder)
        let file = folder.appendingPathComponent("model.json")
        try change(String(contentsOf: file, encoding: .utf8)).write(to: file, atomically: true, encoding: .utf8)
        return folder
    }

    @Test("`ocelli check` calls a good bundle good, and prints its input size and number of labels")
    func aGoodBundleIsDescribed() throws {
        let result = try ocelli(["check", digits.path])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.contains("good") && result.text.contains("64x64 GRAY") && result.text.contains("10 labels"))
    }

    /// The values that `init` marked are undecided: the daemon serves the model by its name only, and reports that
    /// everywhere.
    @Test("a model with values to decide is served by its name, but is never the default model")
    func anUnfinishedBundleIsServedByItsNameAlone() throws {
        let models = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-open-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: models) }
        let open = try copy {
            $0.replacing("\"GRAY\"", with: "\"GRAY\", \"$decide\": \"normalize: [0,1] or [-1,1]\"", maxReplacements: 1)
        }
        try FileManager.default.moveItem(at: open, to: models.appendingPathComponent("a-draft"))
        let daemon = try Daemon(["--models", models.path])
        defer { daemon.stop() }
        let picture = SharedData.packageRoot.appendingPathComponent("examples/seven.png")
        let remark = "inputs[0]: normalize: [0,1] or [-1,1]"
        let unnamed = try Curl.post(picture, to: daemon.url + "/v1/classify")
        #expect(
            unnamed.status == 404 && unnamed.error.contains("the model.json of \"a-draft\" has values to decide"),
            "\(unnamed.text)")
        #expect(try Curl.post(picture, to: daemon.url + "/v1/models/a-draft/classify").topLabel == "7")
        let described = try Curl.run(daemon.url + "/v1/models/a-draft", [])
        #expect(described.json["undecided"] as? [String] == [remark], "\(described.text)")
        #expect(try Curl.run(daemon.url + "/v1/models", []).json["default"] is NSNull)
        #expect(
            daemon.log.contains("model a-draft version 1: model.json has values to decide")
                && daemon.log.contains(remark), "\(daemon.log)")
    }

    @Test("a bundle with Windows line ends has the same ten labels")
    func labelsFromWindowsAreLabels() throws {
        let folder = try copy { $0.replacingOccurrences(of: "\n", with: "\r\n") }
        defer { try? FileManager.default.removeItem(at: folder) }
        let labels = folder.appendingPathComponent("labels.txt")
        try String(contentsOf: labels, encoding: .utf8).replacingOccurrences(of: "\n", with: "\r\n")
            .write(to: labels, atomically: true, encoding: .utf8)
        let result = try ocelli(["check", folder.path])
        #expect(result.status == 0 && result.text.contains("10 labels"), "\(result.errors)")
    }

    /// Notepad, PowerShell and Excel write a mark before UTF-8: it belongs neither to a label nor to JSON nor to a
    /// heading.
    @Test("byte order marks before model.json, labels and a table of expectations are ignored")
    func byteOrderMarksArePassedOver() throws {
        let folder = try copy { "\u{FEFF}" + $0 }
        defer { try? FileManager.default.removeItem(at: folder) }
        let labels = folder.appendingPathComponent("labels.txt")
        try ("\u{FEFF}" + String(contentsOf: labels, encoding: .utf8)).write(
            to: labels, atomically: true, encoding: .utf8)
        let expected = folder.appendingPathComponent("expected.csv")
        let zero = SharedData.packageRoot.appendingPathComponent("examples/zero-colours.png").path
        try "\u{FEFF}picture,label\r\n\(zero),0\r\n".write(to: expected, atomically: true, encoding: .utf8)
        let result = try ocelli(["check", folder.path, "--against", expected.path, "--at-least", "1"])
        #expect(result.status == 0 && result.text.contains("1 of 1 agree"), "\(result.text)\(result.errors)")
    }

    @Test("`ocelli check` reports each mistake of a bundle with its place, and still checks the next bundle")
    func everyProblemIsReportedWithItsPlace() throws {
        let folder = try copy {
            $0.replacingOccurrences(of: "\"GRAY\"", with: "\"GREY\"").replacingOccurrences(
                of: "\"labels.txt\"", with: "\"l.txt\""
            )
            .replacingOccurrences(of: "\"id\"", with: "\"ids\"")
        }
        defer { try? FileManager.default.removeItem(at: folder) }
        let result = try ocelli(["check", folder.path, digits.path])
        #expect(result.status == 1)
        for words in [
            "inputs[0].format: ", "\"GREY\"", "outputs[0].labels: ", "l.txt", "id: is missing", "did you mean \"id\"?",
        ] {
            #expect(result.errors.contains(words), "\(words): \(result.errors)")
        }
        #expect(result.text.contains("digits: good"), "one bad bundle does not hide a good one")
    }

    @Test(
        "`ocelli check` says what can be sent to models without a task, by commands that work, and what is not served")
    func modelsWithoutATaskAreNotSimplyGood() throws {
        try withFolder { folder in
            let table = TabularTests.fixtures.appendingPathComponent("models/iris_plain.onnx")
            let exports = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/exports")
            for (file, name) in [(table, "iris.onnx"), (exports.appendingPathComponent("depth"), "depth")] {
                try FileManager.default.copyItem(at: file, to: folder.appendingPathComponent(name))
            }
            // The daemon serves the first of one name.
            let tflite = SharedData.packageRoot.appendingPathComponent(
                "Tests/Fixtures/exports/yolov5_tflite/model.tflite")
            try FileManager.default.copyItem(at: tflite, to: folder.appendingPathComponent("iris.tflite"))
            let checked = try ocelli(["check", folder.path])
            #expect(checked.status == 0, "\(checked.errors)")
            #expect(
                checked.text.contains("/iris.onnx: good for predict and /v2 only, without pictures\n"),
                "\(checked.text)")
            #expect(
                checked.text.contains("/depth: good for predict and /v2 only, which answer numbers\n"),
                "\(checked.text)")
            #expect(
                checked.text.contains("not served: iris.tflite (its name is used by \(folder.path)/iris.onnx)\n"),
                "\(checked.text)")
            #expect(!checked.text.contains("/iris.tflite:"), "\(checked.text)")
            let daemon = try Daemon(["--models", folder.path])
            defer { daemon.stop() }
            let commands = checked.text.split(separator: "\n").compactMap { line in
                line.firstRange(of: ": curl ").map { String(line[$0.upperBound...]) }
            }
            #expect(commands.count == 2, "\(checked.text)")
            let picture = SharedData.packageRoot.appendingPathComponent("examples/seven.png").path
            for command in commands {
                let line =
                    "curl -sS "
                    + command.replacing("localhost:8080", with: daemon.url.dropFirst("http://".count))
                    .replacing("PICTURE", with: picture)
                let answer = try Shell.run("sh", ["-c", line])
                #expect(answer.text.contains("\"outputs\""), "\(line): \(answer.text)\(answer.errors)")
            }
            let json = try ocelli(["check", folder.path + "/iris.onnx", "--json"]).json
            #expect(json["good"] as? Bool == true && json["pictures"] as? Bool == false)
        }
    }

    /// The models of a folder are checked one by one; files without the name of a model do not reach the engine.
    @Test("`ocelli check` of a folder checks each model; a training framework's file gets advice to export")
    func aFolderOfBundlesIsCheckedWhole() throws {
        let saved = SharedData.packageRoot.appendingPathComponent(
            "Tests/Fixtures/tensorio/tensorflow-scalars.tiobundle/predict")
        try withFolder { folder in
            try FileManager.default.copyItem(at: digits, to: folder.appendingPathComponent("digits"))
            try FileManager.default.copyItem(at: saved, to: folder.appendingPathComponent("saved"))
            let good = try ocelli(["check", folder.path + "/"])
            #expect(good.status == 0, "\(good.errors)")
            #expect(good.text.contains("/digits: good") && good.text.contains("/saved: good"), "\(good.text)")
            let none = try ocelli(["check", digits.path + "/labels.txt"])
            #expect(none.status == 1 && none.errors.contains("is not a supported model file"), "\(none.errors)")
            #expect(none.errors.split(separator: "\n").count == 2, "only our own words: \(none.errors)")
            let empty = folder.appendingPathComponent("empty")
            try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
            let nothing = try ocelli(["check", empty.path])
            #expect(nothing.status == 1, "\(nothing.errors)")
            #expect(nothing.errors.contains("model.json: is missing, and the folder itself has no model file"))
            #expect(!nothing.errors.contains("is not supported"), "\(nothing.errors)")
            // Users often begin with the file of a training framework.
            for (name, advice) in [
                ("net.pt", "torch.onnx.export"), ("model.safetensors", "optimum-cli export onnx"),
                ("net.keras", "model.export("), ("net.H5", "model.export("), ("net.engine", "ONNX"),
                ("net.joblib", "coremltools"), ("net.tar.gz", "unpack it"),
            ] {
                let file = empty.appendingPathComponent(name)
                try Data("x".utf8).write(to: file)
                for arguments in [["check", file.path], ["check", empty.path], ["init", file.path]] {
                    let result = try ocelli(arguments)
                    #expect(result.status == 1 && result.errors.contains(advice), "\(arguments): \(result.errors)")
                }
                let serve = try Shell.run(
                    "timeout",
                    ["20", Daemon.binary.path, "serve", "--listen", "127.0.0.1:0", "--models", folder.path + "/empty"])
                #expect(serve.status == 1 && serve.errors.contains(advice), "\(serve.errors)")
                try FileManager.default.removeItem(at: file)
            }
        }
    }

    @Test(
        "a syntax error in model.json is reported with its line or column",
        arguments: [
            ("{\n  \"name\": \"x\"\n  \"id\": 1\n}", "line 3, column 3"), ("{\n  \"name\": \"x\n}", "line 2"),
            ("\"", "line 1, column 2"),
            ("", "line 1, column 1"), ("{\"a\": [1, 2}", "column 12"), ("{\"a\": /* x", "column 7"),
            ("{} x", "column 4"),
        ])
    func jsonThatIsNoneSaysWhere(_ json: String, _ place: String) throws {
        let folder = try copy { _ in json }
        defer { try? FileManager.default.removeItem(at: folder) }
        let result = try ocelli(["check", folder.path])
        #expect(
            result.status == 1 && result.errors.contains("model.json") && result.errors.contains(place),
            "\(result.errors)")
    }

    @Test("`ocelli init` drafts model.json from the model file; `check` fails while the draft has marks")
    func aDraftIsFilledInAndMarked() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-init-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in ["digits.onnx", "labels.txt"] {
            try FileManager.default.copyItem(
                at: digits.appendingPathComponent(name), to: folder.appendingPathComponent(name))
        }
        let model = folder.path + "/digits.onnx"
        let result = try ocelli(["init", model])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.contains("inputs[0].normalize"), "\(result.text)")
        let data = try Data(contentsOf: folder.appendingPathComponent("model.json"))
        // Strict JSON, so that TensorIO's own tools can read it too.
        let json = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let input = try #require((json["inputs"] as? [[String: Any]])?.first)
        #expect(input["type"] as? String == "image" && input["format"] as? String == "GRAY")
        #expect(input["shape"] as? [Int] == [64, 64, 1] && input["layout"] as? String == "NCHW")
        #expect((input["$decide"] as? String)?.contains("normalize") == true)
        let output = try #require((json["outputs"] as? [[String: Any]])?.first)
        #expect(output["labels"] as? String == "labels.txt")
        // The model is served, but check fails until the marks are gone.
        let open = try ocelli(["check", folder.path])
        #expect(
            open.status == 1 && open.errors.contains("not finished, 1 remark \"$decide\"")
                && !open.errors.contains("good"), "\(open.text)\(open.errors)")
        let file = folder.appendingPathComponent("model.json")
        let text = String(decoding: data, as: UTF8.self)
        let lines = text.split(separator: "\n").filter { !$0.contains("$decide") }.joined(separator: "\n")
        try Data(lines.utf8).write(to: file)
        let done = try ocelli(["check", folder.path])
        #expect(done.status == 0 && done.text.contains(": good"), "\(done.text)\(done.errors)")
        #expect(try ocelli(["init", model]).status == 1, "what a person may have edited is not overwritten")
        #expect(try ocelli(["init", model, "--force"]).status == 0)
        #expect(try ocelli(["init", folder.path + "/nothing.onnx"]).status == 1)
        #expect(try ocelli(["init"]).status == 2)
    }

    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-init-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    /// Every kind of model file.
    @Test("a draft of `ocelli init` for each kind of model loads, and `check` lists the undecided values")
    func draftsOfEveryKindPassTheCheck() throws {
        let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/tensorio")
        for (bundle, file, decisions) in [
            ("tensor-3x3x3.tiobundle", "model.tflite", []), ("tensorflow-scalars.tiobundle", "predict", []),
            ("picture-quantized-labels.tiobundle", "model.tflite", ["inputs[0].format", "outputs[0].dequantize"]),
            ("picture-normalized.tiobundle", "model.tflite", ["inputs[0].normalize", "outputs[0].type: image"]),
            ("tensorflow-batch-of-pictures.tiobundle", "predict", ["inputs[0].crop_and_scale"]),
            ("matrices-2-in-2-out.tiobundle", "model.tflite", []),
        ] as [(String, String, [String])] {
            try withFolder { folder in
                let copy = folder.appendingPathComponent(bundle)
                try FileManager.default.copyItem(at: fixtures.appendingPathComponent(bundle), to: copy)
                try FileManager.default.removeItem(at: copy.appendingPathComponent("model.json"))
                let drafted = try ocelli(["init", copy.appendingPathComponent(file).path])
                #expect(drafted.status == 0, "\(bundle): \(drafted.errors)")
                for decision in decisions { #expect(drafted.text.contains(decision), "\(bundle): \(drafted.text)") }
                // One of them answers with a number for each class, which `--try` shows.
                #expect(
                    drafted.text.contains("ocelli classify --try \(copy.path) PICTURE")
                        == (bundle == "picture-quantized-labels.tiobundle"), "\(bundle): \(drafted.text)")
                let checked = try ocelli(["check", copy.path])
                #expect(checked.status == (decisions.isEmpty ? 0 : 1), "\(bundle): \(checked.errors)")
                let said = checked.text + checked.errors
                #expect(said.contains("still to decide: ") == !decisions.isEmpty, "\(bundle): \(said)")
            }
        }
    }

    @Test("the commands that `ocelli init` prints can be copied, for paths with blanks and quotes too")
    func thePrintedCommandsAreCopied() throws {
        try withFolder { folder in
            let own = folder.appendingPathComponent("it's my net")
            try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                at: TabularTests.fixtures.appendingPathComponent("models/iris_plain.onnx"),
                to: own.appendingPathComponent("iris.onnx"))
            let drafted = try ocelli(["init", own.path + "/iris.onnx"])
            let command = try #require(drafted.text.split(separator: "\n").last?.replacing("then: ocelli ", with: ""))
            let checked = try Shell.run("sh", ["-c", "'\(Daemon.binary.path)' \(command)"])
            #expect(
                checked.text.hasPrefix("\(own.path): good for predict and /v2 only"),
                "\(drafted.text)\(checked.text)\(checked.errors)")
            // Tables have no classes of pictures to decide on.
            #expect(!drafted.text.contains("outputs["), "\(drafted.text)")
            try FileManager.default.copyItem(
                at: own.appendingPathComponent("iris.onnx"), to: own.appendingPathComponent("other.onnx"))
            let refused = try ocelli(["init", own.path + "/other.onnx", "--force"])
            #expect(
                refused.errors.contains("mkdir '\(own.path.replacing("'", with: "'\\''"))/other' && mv "),
                "\(refused.errors)")
        }
    }

    @Test(
        "`ocelli init` recommends the command that shows the results of the recognized kind of model",
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)),
        arguments: [
            ("yolox_nano.onnx", "detect", "cats_and_dogs.jpg"), ("ultraface.onnx", "detect", "faces.jpg"),
            ("movenet.tflite", "keypoints", "squat.png"),
        ])
    func theRecommendedCommandWorks(_ file: String, _ command: String, _ picture: String) throws {
        try withFolder { folder in
            let things = try #require(SharedData.folder).appendingPathComponent("things")
            let name = try #require(file.split(separator: "/").last.map(String.init))
            try FileManager.default.copyItem(
                at: things.appendingPathComponent(file), to: folder.appendingPathComponent(name))
            let drafted = try ocelli(["init", folder.path + "/" + name])
            let recommended = "ocelli \(command) --model \(folder.path) --draw DIR PICTURE"
            #expect(drafted.text.contains("to see the results: " + recommended), "\(drafted.text)")
            #expect(!drafted.text.contains("--try"), "\(drafted.text)")
            let shown = try ocelli([
                command, "--model", folder.path, "--draw", folder.path + "/drawn",
                things.appendingPathComponent("pictures/" + picture).path,
            ])
            #expect(shown.status == 0 && shown.text.contains("%"), "\(shown.text)\(shown.errors)")
            #expect(FileManager.default.fileExists(atPath: folder.path + "/drawn"))
        }
    }

    @Test("a dimension that the model file leaves open is a value to decide in the draft of `ocelli init`")
    func anExtentThatTheFileLeavesOpenIsToBeDecided() throws {
        try withFolder { folder in
            try IdentityModel.write("f32", named: "net", into: folder)
            let file = folder.appendingPathComponent("net.xml")
            let text = try String(contentsOf: file, encoding: .utf8)
            try text.replacingOccurrences(of: "?,3", with: "?,?").replacingOccurrences(of: "<dim>3", with: "<dim>-1")
                .write(to: file, atomically: true, encoding: .utf8)
            let drafted = try ocelli(["init", file.path])
            #expect(
                drafted.status == 0 && drafted.text.contains("inputs[0].shape[1]"), "\(drafted.text)\(drafted.errors)")
            #expect(try ocelli(["check", folder.path]).errors.contains("still to decide: inputs[0]: shape[1]"))
        }
    }

    /// A model.json in a folder of models would make one bundle of all its files.
    @Test(
        "`ocelli init` writes no model.json into a folder of models, and says how to move the file",
        arguments: ["other.xml", "digits/model.json", ""])
    func aFolderOfModelsGetsNoModelJSON(_ other: String) throws {
        try withFolder { folder in
            let models = folder.appendingPathComponent(other.isEmpty ? "models" : "mine")
            try FileManager.default.createDirectory(
                at: models.appendingPathComponent("digits"), withIntermediateDirectories: true)
            try IdentityModel.write("f32", named: "net", into: models)
            if !other.isEmpty { try Data("{}".utf8).write(to: models.appendingPathComponent(other)) }
            let file = models.appendingPathComponent("net.xml").path
            let refused = try ocelli(["init", file])
            #expect(refused.status == 1, "\(refused.text)")
            let target = models.appendingPathComponent("net").path
            #expect(refused.errors.contains("mkdir \(target) && mv \(file) \(target)/"), "\(refused.errors)")
            #expect(!FileManager.default.fileExists(atPath: models.path + "/model.json"))
            #expect(try ocelli(["init", file, "--stdout"]).text.contains("\"net.xml\""))
        }
    }

    @Test("`ocelli init` refuses folders, missing files and files that are not models, with the reason")
    func filesThatAreNotModelsAreRefusedWithAReason() throws {
        try withFolder { folder in
            try IdentityModel.write("f32", named: "net", into: folder)
            for (path, words) in [
                (folder.path, ["is a folder", "/net.xml"]), (folder.path + "/none.onnx", ["does not exist"]),
                (SharedData.packageRoot.path + "/LICENSE", ["not a supported model file", ".onnx"]),
                (SharedData.packageRoot.path + "/docs", ["is a folder, not a TensorFlow SavedModel"]),
            ] {
                let result = try ocelli(["init", path])
                #expect(result.status == 1 && result.text.isEmpty, "\(result.text)")
                for word in words { #expect(result.errors.contains(word), "\(word): \(result.errors)") }
            }
        }
    }
}

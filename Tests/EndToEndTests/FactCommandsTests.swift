import Foundation
import TestSupport
import Testing

/// `ocelli init`, `check --against` and `classify --try` on folders as they are downloaded.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)), .serialized)
struct FactCommandsTests {
    private func ocelli(_ arguments: [String]) throws -> (status: Int32, output: String, errors: String) {
        let result = try Shell.run(
            Daemon.binary.path, arguments,
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        return (result.status, String(decoding: result.output, as: UTF8.self), result.errors)
    }

    private func temporary() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-init-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    private func data(_ path: String) throws -> URL { try #require(SharedData.folder).appendingPathComponent(path) }

    /// The tensor and the labels are the same with the model.json that `init` writes as without one.
    @Test(arguments: [
        "vit", "resnet50", "mobilevit", "efficientnet", "deit", "timm_convnext", "timm_nfnet", "yolo_detect",
        "yolo_classify", "onnx_ultralytics", "ir_ultralytics",
    ])
    func initWritesWhatIsServedWithoutIt(_ name: String) throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let bundle = folder.appendingPathComponent(name)
        try FileManager.default.copyItem(at: try data("import/\(name)"), to: bundle)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: bundle.path)
        let picture = try data("things/pictures/pets.jpg")
        func look() throws -> (Data, String) {
            let daemon = try Daemon(["--models", folder.path])
            let tensor = try Curl.post(picture, to: daemon.url + "/v1/classify?explain=npy")
            let answer = try Curl.post(picture, to: daemon.url + "/v1/classify")
            daemon.stop()
            #expect(answer.status == 200, "\(answer.text)")
            return (tensor.body, "\(answer.topIndex) \(answer.topLabel) \(answer.topConfidence)")
        }
        let before = try look()
        let drafted = try ocelli(["init", bundle.path])
        #expect(drafted.status == 0, "\(drafted.errors)")
        let text = try String(contentsOf: bundle.appendingPathComponent("model.json"), encoding: .utf8)
        #expect(!text.contains("$decide"), "\(text)")
        #expect(text.contains("// from "))
        let checked = try ocelli(["check", bundle.path])
        #expect(
            checked.status == 0 && !checked.output.contains("still to decide"), "\(checked.output)\(checked.errors)")
        #expect(try look() == before)
    }

    @Test func againstWhatTheOriginalMade() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let pets = try data("things/pictures/pets.jpg").path, hopper = try data("things/pictures/grace_hopper.jpg").path
        let tensor = try data("import/vit/pets.npy").path
        let csv = folder.appendingPathComponent("expected.csv")
        try Data(
            "picture,label,tensor\n\(pets),actinic_keratoses,\(tensor)\n\(hopper),benign_keratosis-like_lesions,\n".utf8
        )
        .write(to: csv)
        let vit = try data("import/vit").path
        let good = try ocelli(["check", vit, "--against", csv.path, "--at-least", "1"])
        #expect(good.status == 0, "\(good.output)\(good.errors)")
        #expect(good.output.contains("2 of 2 agree (100.0%)") && good.output.contains("1 of 1 tensors are the same"))

        // Another bundle: its resampler and its crop are others than those that made the tensor.
        let lines = folder.appendingPathComponent("expected.jsonl")
        try Data("{\"picture\": \"\(pets)\", \"index\": 2, \"tensor\": \"\(tensor)\", \"confidence\": 0.9}\n".utf8)
            .write(to: lines)
        let other = try ocelli([
            "check", try data("import/resnet50").path, "--against", lines.path, "--at-least", "0.5",
        ])
        #expect(other.status == 1)
        #expect(other.output.contains("0 of 1 agree"), "\(other.output)")
        #expect(
            other.output.contains(
                "first at: \"crop_and_scale\": \"fill\", then \"resampler\": \"bilinear\", normalized by [-1,1]"),
            "\(other.output)")
        for (text, words) in [
            ("picture,label\nx.jpg,nothing\n", "is not one of the 7 labels"), ("a,b\n", "line 1: expected a heading"),
        ] {
            try Data(text.utf8).write(to: csv)
            let wrong = try ocelli(["check", vit, "--against", csv.path])
            #expect(wrong.status != 0 && (wrong.errors + wrong.output).contains(words), "\(wrong.errors)")
        }
    }

    @Test func whatIsUndecidedIsTried() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let model = folder.appendingPathComponent("model.onnx")
        try FileManager.default.copyItem(at: try data("import/vit/model.onnx"), to: model)
        let pets = try data("things/pictures/pets.jpg").path
        let tried = try ocelli(["classify", "--try", model.path, pets])
        #expect(tried.status == 0, "\(tried.errors)")
        // Two orders, six normalizations, three crops.
        #expect(tried.output.split(separator: "\n").count { $0.hasPrefix("  ") } == 36, "\(tried.output)")
        #expect(tried.output.contains("  RGB, [-1,1], crop fill: class 2 38.2%"), "\(tried.output)")
        let known = try ocelli(["classify", "--try", try data("import/vit").path, pets])
        #expect(known.output.contains("nothing is left to decide") && known.output.contains("actinic_keratoses 38.2%"))
    }

    @Test func imageNetsLabelsAreInTheProgram() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let bundle = folder.appendingPathComponent("mobilenet")
        try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
        let model = bundle.appendingPathComponent("m.tflite")
        try FileManager.default.copyItem(at: try data("import/mobilenet_v1_metadata.tflite"), to: model)
        let drafted = try ocelli(["init", bundle.path])
        #expect(drafted.status == 0, "\(drafted.errors)")
        let file = bundle.appendingPathComponent("model.json")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(
            text.contains("\"labels\": \"labels.txt\",  // 1001 names, from TFLITE_METADATA of m.tflite")
                || text.contains("\"labels\": \"labels.txt\"  // 1001 names"), "\(text)")
        try text.replacing("\"labels.txt\"", with: "\"imagenet-1001\"").write(
            to: file, atomically: true, encoding: .utf8)
        let daemon = try Daemon(["--models", folder.path])
        let answer = try Curl.post(try data("images/parrot.jpg"), to: daemon.url + "/v1/classify")
        #expect(answer.topLabel == "macaw" && answer.topIndex == 89, "\(answer.text)")
        daemon.stop()
    }
}

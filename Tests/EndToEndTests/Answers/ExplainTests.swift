import Foundation
import TestSupport
import Testing

/// The model's input, shown over HTTP and by the command.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct ExplainTests {
    @Test("`explain` gives the model's input as steps, PNG and NPY, for a single picture within its deadline")
    func explain_overHTTP_givesStepsPNGAndNPY() throws {
        let daemon = try Daemon()
        let url = daemon.url + "/v1/classify?explain="
        let answer = try Curl.post(BadInputTests.seven, to: url + "preprocess")
        #expect(answer.status == 200, "\(answer.text.prefix(300))")
        let steps = (answer.json["steps"] as? [[String: Any]])?.compactMap { $0["operation"] as? String }
        #expect(steps?.first == "decode")
        #expect(steps?.contains("resize") == true)
        #expect((answer.json["tensor"] as? [String: Any])?["shape"] as? [Int] == [1, 1, 64, 64])
        let png = try Curl.post(BadInputTests.seven, to: url + "png")
        #expect(png.headers["content-type"] == "image/png")
        #expect(png.body.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        let npy = try Curl.post(BadInputTests.seven, to: url + "npy")
        #expect(npy.body.starts(with: Data("\u{93}NUMPY".unicodeScalars.map { UInt8($0.value) })))
        #expect(npy.body.count >= 64 * 64 * 4)
        for (name, file) in [("png", png.body), ("npy", npy.body)] {
            let member = (answer.json[name] as? [String: Any])?["b64"] as? String
            #expect(member == file.base64EncodedString())
        }
        // The model's input is itself a picture of the same digit.
        let again = try Curl.run(daemon.url + "/v1/classify", ["--data-binary", "@-"], input: png.body)
        #expect(again.topLabel == "7", "\(again.text)")
        let wrong = try Curl.post(BadInputTests.seven, to: url + "everything")
        #expect(wrong.status == 400 && wrong.error.contains("explain"))
        // A deadline applies as to a prediction: the picture takes longer than a millisecond.
        let large = SharedData.packageRoot.appendingPathComponent(
            "Tests/ImagePipelineTests/Fixtures/size-4000x3000.jpg")
        let late = try Curl.post(large, to: url + "npy&timeout_ms=1")
        #expect(late.status == 504 && late.code == "deadline_exceeded", "\(late.text.prefix(300))")
        // One picture at a time.
        let parts = ["-F", "image=@\(BadInputTests.seven.path)"]
        let one = try Curl.run(url + "npy", parts)
        #expect(one.status == 200 && one.body == npy.body)
        let two = try Curl.run(url + "npy", parts + parts)
        #expect(
            two.status == 400 && two.code == "bad_request" && two.error.contains("has 2"), "\(two.text.prefix(300))")
        daemon.stop()
    }

    /// A picture and a vector in one form, sent by curl, for every task that takes a picture; Pillow makes the expected
    /// pictures.
    @Test(
        "`explain` of a form with a picture and a vector gives Pillow's pixels, for each task",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func explain_ofAForm_isPillowsPictureForEveryTask() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "ocelli-explain-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let root = SharedData.packageRoot
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in ["spots", "looks", "colors", "means"] {
            try FileManager.default.copyItem(
                at: root.appendingPathComponent("Tests/Fixtures/pipelines/\(name)"),
                to: folder.appendingPathComponent(name))
        }
        func array(_ name: String, _ shape: [Int]) -> String {
            "{ \"name\": \"\(name)\", \"type\": \"array\", \"shape\": \(shape) }"
        }
        let photo = ("photo", [1, 24, 20, 3]), vector = ("vector", [1, 4])
        for (name, tensors, output) in [
            ("mixed", [photo, vector], "\(array(photo.0, photo.1)), \(array(vector.0, vector.1))"),
            ("classes", [photo], #"{ "name": "photo", "type": "mask", "labels": "labels.txt" }"#),
            (
                "points", [photo],
                #"{ "name": "photo", "type": "keypoints", "layout": "heatmaps", "names": ["red", "green", "blue"] }"#
            ),
        ] {
            let bundle = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: bundle, withIntermediateDirectories: true)
            try IdentityModel.write("f32", named: "net", tensors: tensors, into: bundle)
            try "red\ngreen\nblue\n".write(
                to: bundle.appendingPathComponent("labels.txt"), atomically: true, encoding: .utf8)
            try """
            { "name": "\(name)", "id": "\(name)", "version": "1", "model": { "file": "net.xml", "backend": "openvino" },
              "inputs": [ { "name": "photo", "type": "image", "shape": [24, 20, 3], "format": "RGB", "layout": "NHWC",
                "crop_and_scale": "fill", "normalize": { "standard": "[0,1]" } }\(tensors.count == 1 ? "" : ", " + array(vector.0, vector.1)) ],
              "outputs": [ \(output) ] }
            """.write(to: bundle.appendingPathComponent("model.json"), atomically: true, encoding: .utf8)
        }
        let daemon = try Daemon(["--models", folder.path])
        let pictures = ["orientation-1.jpg", "orientation-6.jpg", "orientation-7.png", "scene.png"].map {
            root.appendingPathComponent("Tests/ImagePipelineTests/Fixtures/\($0)").path
        }
        let result = try PythonClients.run("explain_client.py", [daemon.url] + pictures)
        #expect(result.status == 0, "\(result.text)\(result.errors)\(daemon.log)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("`classify --explain` writes JSON, NPY and PNG files, and no file replaces another")
    func explain_byTheCommand_writesFiles() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "ocelli-explain-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let result = try Shell.run(
            Daemon.binary.path,
            ["classify", "--explain", folder.path, BadInputTests.seven.path, BadInputTests.seven.path],
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        #expect(result.status == 0, "\(result.errors)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        let kinds = ["json", "npy", "png"]
        #expect(names == kinds.map { "seven.png-2.\($0)" } + kinds.map { "seven.png.\($0)" }, "none replaces another")
    }
}

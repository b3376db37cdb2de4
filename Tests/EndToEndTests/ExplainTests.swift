import Foundation
import TestSupport
import Testing

/// "What the model saw", over HTTP and by the command.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct ExplainTests {
    @Test func explain_overHTTP_givesStepsPNGAndNPY() throws {
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
        // What the model saw is itself a picture of the same digit.
        let again = try Curl.run(daemon.url + "/v1/classify", ["--data-binary", "@-"], input: png.body)
        #expect(again.topLabel == "7", "\(again.text)")
        let wrong = try Curl.post(BadInputTests.seven, to: url + "everything")
        #expect(wrong.status == 400 && wrong.error.contains("explain"))
        // A deadline counts as it does for a prediction: the picture takes longer than a millisecond.
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

    @Test func explain_byTheCommand_writesFiles() throws {
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

import Foundation
import TestSupport
import Testing

/// Numbered versions: every answer names its version.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct VersionsTests {
    /// A models folder with the digits model as versions of these numbers; its own `version` is 1.
    private static func folder(_ versions: [String]) throws -> URL {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        let bundle = SharedData.packageRoot.appendingPathComponent("models/digits")
        try files.createDirectory(at: folder.appendingPathComponent("ten"), withIntermediateDirectories: true)
        for version in versions {
            try files.copyItem(at: bundle, to: folder.appendingPathComponent("ten/\(version)"))
        }
        return folder
    }

    private func member(_ name: String, _ url: String, _ arguments: [String]) throws -> String {
        let answer = try Curl.run(url, arguments)
        #expect(answer.status == 200, "\(url): \(answer.text)")
        return answer.json[name] as? String ?? "none"
    }

    @Test("each answer and description has the version number of the folder that gave the answer")
    func theAnswerTellsTheFoldersNumber() throws {
        let folder = try Self.folder(["3", "12"])
        defer { try? FileManager.default.removeItem(at: folder) }
        let daemon = try Daemon(["--models", folder.path])
        let model = daemon.url + "/v1/models/ten", v2 = daemon.url + "/v2/models/ten"
        let picture = ["--data-binary", "@" + BadInputTests.seven.path]
        let pixels = Array(repeating: "0", count: 64 * 64).joined(separator: ",")
        let infer = [
            "--data-binary",
            "{\"inputs\":[{\"name\":\"image\",\"shape\":[1,1,64,64],\"datatype\":\"FP32\",\"data\":[\(pixels)]}]}",
        ]
        for (path, version) in [("", "12"), ("/versions/12", "12"), ("/versions/3", "3")] {
            #expect(try member("version", model + path + "/classify", picture) == version)
            #expect(try member("version", model + path + "/predict", picture) == version)
            #expect(try member("model_version", v2 + path + "/infer", infer) == version)
            #expect(try member("version", model + path, []) == version)
        }
        #expect(try member("version", daemon.url + "/v1/classify", picture) == "12")
        let list = try Curl.run(daemon.url + "/v1/models").json["models"] as? [[String: Any]] ?? []
        #expect(list.first?["version"] as? String == "12")
        let known = (list.first?["versions"] as? [[String: Any]] ?? []).compactMap { $0["version"] as? String }
        #expect(known == ["3", "12"])
        let metadata = try Curl.run(v2).json["versions"] as? [String]
        #expect(metadata == ["3", "12"])
        #expect(daemon.stop() == 0)
    }

    /// After a start, and after a reload: the highest good version serves, the daemon is ready on every route about
    /// that, and the failed one is shown.
    @Test("a version that fails is shown as failed, and the highest good version serves")
    func aVersionThatFailsLeavesTheHighestGoodOneServing() throws {
        let folder = try Self.folder(["1", "2", "3"])
        defer { try? FileManager.default.removeItem(at: folder) }
        func damage(_ version: String) throws {
            try Data("junk".utf8).write(to: folder.appendingPathComponent("ten/\(version)/digits.onnx"))
        }
        try damage("3")
        let daemon = try Daemon(["--models", folder.path])
        let picture = ["--data-binary", "@" + BadInputTests.seven.path]
        func check(serving: String, failed: String) throws {
            #expect(try member("version", daemon.url + "/v1/classify", picture) == serving)
            for path in ["/readyz", "/v2/health/ready", "/v2/models/ten/ready"] {
                #expect(try Curl.run(daemon.url + path).status == 200, "\(path)")
            }
            let model = try Curl.run(daemon.url + "/v1/models/ten").json
            #expect(model["version"] as? String == serving && model["state"] as? String == "ready")
            let versions = model["versions"] as? [[String: Any]] ?? []
            let bad = versions.first { $0["version"] as? String == failed } ?? [:]
            #expect(bad["state"] as? String == "failed" && (bad["reason"] as? String)?.isEmpty == false, "\(bad)")
            let metrics = try Curl.run(daemon.url + "/metrics").text
            #expect(metrics.contains("ocelli_model_state{model=\"ten\",version=\"\(failed)\",state=\"failed\"} 1\n"))
            #expect(metrics.contains("ocelli_model_state{model=\"ten\",version=\"\(serving)\",state=\"ready\"} 1\n"))
            #expect(metrics.contains("ocelli_ready 1\n"))
        }
        try check(serving: "2", failed: "3")
        try FileManager.default.copyItem(
            at: folder.appendingPathComponent("ten/3"), to: folder.appendingPathComponent("ten/4"))
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("reload: done"))
        try check(serving: "2", failed: "4")
        // The files of the serving version are replaced by others that are not a model: it continues, and that is shown
        // too.
        try damage("2")
        daemon.signal(SIGHUP)
        #expect(eventually { daemon.log.components(separatedBy: "reload: done").count == 3 })
        try check(serving: "2", failed: "3")
        let metrics = try Curl.run(daemon.url + "/metrics").text
        #expect(metrics.contains("ocelli_model_stale{model=\"ten\",version=\"2\"} 1\n"))
        #expect(metrics.contains("ocelli_model_stale{model=\"ten\",version=\"3\"} 0\n"))
        #expect(daemon.stop() == 0)
    }
}

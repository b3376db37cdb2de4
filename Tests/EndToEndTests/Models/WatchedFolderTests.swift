import Foundation
import TestSupport
import Testing

/// A folder of models that the daemon scans by itself.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct WatchedFolderTests {
    @Test("with repository_poll models are loaded, changed and removed without a signal")
    func modelsComeChangeAndGoWithoutASignal() throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        let bundle = SharedData.packageRoot.appendingPathComponent("models/digits")
        try files.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? files.removeItem(at: folder) }
        try files.copyItem(at: bundle, to: folder.appendingPathComponent("first"))
        let daemon = try Daemon(["--models", folder.path, "--repository-poll", "200ms"])
        func classify(_ model: String) throws -> Answer {
            try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/\(model)/classify")
        }
        #expect(try classify("first").topLabel == "7")
        // A copy that stops half-way.
        let second = folder.appendingPathComponent("second")
        try files.createDirectory(at: second, withIntermediateDirectories: true)
        for name in ["model.json", "labels.txt"] {
            try files.copyItem(at: bundle.appendingPathComponent(name), to: second.appendingPathComponent(name))
        }
        #expect(daemon.waitForLog("model second is not retried"))
        #expect(try Curl.run(daemon.url + "/readyz").status == 200)
        #expect(try classify("second").code == "model_not_found")
        // It is finished.
        try files.copyItem(
            at: bundle.appendingPathComponent("digits.onnx"), to: second.appendingPathComponent("digits.onnx"))
        #expect(try eventually { try classify("second").topLabel == "7" }, "\(daemon.log)")
        // It changes.
        let manifest = second.appendingPathComponent("model.json")
        let text = try String(contentsOf: manifest, encoding: .utf8)
        try text.replacingOccurrences(of: "\"version\": \"1\"", with: "\"version\": \"2\"")
            .write(to: manifest, atomically: true, encoding: .utf8)
        #expect(try eventually { try classify("second").json["version"] as? String == "2" }, "\(daemon.log)")
        // It is removed.
        try files.removeItem(at: second)
        #expect(try eventually { try classify("second").status == 404 }, "\(daemon.log)")
        #expect(try classify("first").topLabel == "7")
        let page = try Curl.run(daemon.url + "/metrics").text
        let loads = ["true", "false"].compactMap { cached in
            MetricsTests.value("ocelli_model_load_seconds_count{model=\"first\",cached=\"\(cached)\"}", in: page)
        }
        #expect(loads.reduce(0, +) == 1, "the first has not changed")
        #expect(MetricsTests.value("ocelli_reloads_total{result=\"ok\"}", in: page) == 0)
        #expect(daemon.stop() == 0)
    }

    @Test("with repository_poll an empty folder of models is waited for, and /readyz answers 503 meanwhile")
    func anEmptyFolderIsFilledLater() throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        try files.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? files.removeItem(at: folder) }
        let daemon = try Daemon(["--models", folder.path, "--repository-poll", "200ms"])
        #expect(daemon.log.contains("no models in \(folder.path)"))
        let ready = try Curl.run(daemon.url + "/readyz")
        #expect(ready.status == 503 && ready.text.contains("not ready: there is no model"), "\(ready.text)")
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").status == 404)
        for path in ["/", "/v1/models", "/metrics"] {
            #expect(try Curl.run(daemon.url + path).status == 200, "\(path)")
        }
        let bundle = SharedData.packageRoot.appendingPathComponent("models/digits")
        try files.copyItem(at: bundle, to: folder.appendingPathComponent("first"))
        #expect(try eventually { try Curl.run(daemon.url + "/readyz").status == 200 }, "\(daemon.log)")
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").topLabel == "7")
        #expect(daemon.stop() == 0)
    }
}

import Foundation
import TestSupport
import Testing

/// Numbered versions: every answer tells the one that gave it.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct VersionsTests {
    /// A models folder with the digits model, whose own `version` is 1, as versions of these numbers.
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

    @Test func theAnswerTellsTheFoldersNumber() throws {
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
}

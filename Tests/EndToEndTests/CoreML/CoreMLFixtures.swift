import Foundation
import TestSupport
import Testing

/// The Core ML files that tests serve, and the expected answers, computed by numpy and scikit-learn
/// (Tests/FixtureMakers/coreml_fixtures).
enum CoreMLFixtures {
    static let folder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/coreml")
    static let product = folder.appendingPathComponent("product")

    /// A models folder with files of the fixtures, deleted after the test.
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

    static func expected() throws -> [String: Any] {
        let data = try Data(contentsOf: product.appendingPathComponent("expected.json"))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    /// Runs the program without settings from the tests' environment.
    static func ocelli(_ arguments: [String]) throws -> Shell.Result {
        try Shell.run("env", ["-u", "OCELLI_ONLY", Daemon.binary.path] + arguments)
    }

    static func predict(_ daemon: Daemon, _ model: String, _ body: String) throws -> Answer {
        try Curl.run(daemon.url + "/v1/models/\(model)/predict", ["--data-binary", "@-"], input: Data(body.utf8))
    }

    static func close(_ a: Any?, _ b: Double, _ tolerance: Double = 1e-5) -> Bool {
        (a as? NSNumber).map { abs($0.doubleValue - b) <= tolerance * max(1, abs(b)) } ?? false
    }
}

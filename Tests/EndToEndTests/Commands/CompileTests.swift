import Foundation
import TestSupport
import Testing

/// `ocelli compile`: models compiled before the daemon starts.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct CompileTests {
    private static let digits = SharedData.packageRoot.appendingPathComponent("models/digits")

    private func temporary() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    private func compile(_ arguments: [String]) throws -> Shell.Result {
        try Shell.run(Daemon.binary.path, ["compile"] + arguments)
    }

    /// The models are given as a bundle, as a folder of bundles, as numbered versions, and by the settings.
    @Test(
        "a model compiled by `ocelli compile` is loaded from the cache, without a load check",
        arguments: LongTests.every(2, of: ["", "/digits", "/versions", "settings"]))
    func daemonFindsWhatWasCompiled(_ what: String) throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let models = folder.path + "/models", cache = folder.path + "/cache"
        let place = models + (what == "/versions" ? "/versions/3" : "/digits")
        try FileManager.default.createDirectory(
            atPath: (place as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: Self.digits.path, toPath: place)
        let words = what == "settings" ? ["--model", "digits=\(place)"] : [models + what]
        let first = try compile(["--cache-dir", cache] + words)
        #expect(first.status == 0, "\(first.errors)")
        #expect(
            first.text.contains("\(place): compiled in ") && first.text.contains("are in \(cache)"), "\(first.text)")
        let blobs = try FileManager.default.contentsOfDirectory(atPath: cache).filter { $0.hasSuffix(".blob") }
        #expect(!blobs.isEmpty)
        let again = try compile(words + ["--cache-dir=\(cache)"])
        #expect(again.status == 0 && again.text.contains("\(place): was in the cache"), "\(again.text)\(again.errors)")
        let daemon = try Daemon(["--model=digits=\(place)", "--cache-dir", cache])
        #expect(daemon.log.contains("from the cache of compiled models"), "\(daemon.log)")
        // The load check is not repeated for the same files.
        #expect(!daemon.log.contains("of it a load check"), "\(daemon.log)")
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/digits/classify").topLabel == "7")
        #expect(daemon.stop() == 0)
    }

    @Test("`ocelli compile` names a broken model, a missing path, a bad cache folder and an unknown flag")
    func whatCannotBeCompiledIsNamed() throws {
        let folder = try temporary()
        defer { try? FileManager.default.removeItem(at: folder) }
        let models = folder.path + "/models"
        try FileManager.default.createDirectory(atPath: models + "/broken", withIntermediateDirectories: true)
        try Data("{}".utf8).write(to: URL(fileURLWithPath: models + "/broken/model.json"))
        try FileManager.default.copyItem(atPath: Self.digits.path, toPath: models + "/digits")
        let result = try compile(["--cache-dir", folder.path + "/cache", models])
        #expect(result.status == 1)
        #expect(result.errors.contains("/broken: ") && result.text.contains("/digits: compiled"), "\(result.errors)")
        let nowhere = try compile(["--cache-dir", folder.path + "/cache", models + "/nowhere"])
        #expect(nowhere.status == 1 && nowhere.errors.contains("nowhere"), "\(nowhere.errors)")
        let file = folder.path + "/file"
        try Data().write(to: URL(fileURLWithPath: file))
        let unwritable = try compile(["--cache-dir", file + "/cache", models])
        #expect(unwritable.status == 1 && unwritable.errors.contains("(cache_dir)"), "\(unwritable.errors)")
        let without = try compile(["--cache-dir=", models])
        #expect(without.status == 1 && without.errors.contains("--cache-dir DIR"), "\(without.errors)")
        let empty = try compile(["--cache-dir", folder.path + "/cache", "--nonsense", models])
        #expect(empty.status == 2 && empty.errors.contains("--nonsense"), "\(empty.errors)")
    }
}

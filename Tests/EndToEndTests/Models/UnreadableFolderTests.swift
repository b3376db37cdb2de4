import Foundation
import TestSupport
import Testing

/// Folders of models that the daemon's user may not read: loaded models continue to serve, and the reason is reported
/// everywhere.
@Suite(
    .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
    .enabled(if: getuid() != 0 || Shell.has("setpriv"), "root may read everything, and setpriv is not there"),
    .serialized)
struct UnreadableFolderTests {
    /// Without these capabilities root is bound by permissions.
    private static let launcher =
        getuid() == 0 ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"] : []

    private static func permit(_ mode: Int, _ folder: URL) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.path)
    }

    @Test("in unreadable folders, loaded models still serve and new models fail with the reason")
    func whatServesGoesOnAndWhatIsNewHasFailed() throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        let bundle = SharedData.packageRoot.appendingPathComponent("models/digits")
        let new = folder.appendingPathComponent("new"), versions = folder.appendingPathComponent("versions")
        defer {
            for closed in [folder, new, versions] { try? Self.permit(0o755, closed) }
            try? files.removeItem(at: folder)
        }
        try files.createDirectory(at: versions, withIntermediateDirectories: true)
        try files.copyItem(at: bundle, to: folder.appendingPathComponent("digits"))
        try files.copyItem(at: bundle, to: versions.appendingPathComponent("1"))
        let daemon = try Daemon(["--models", folder.path], launcher: Self.launcher)
        func reload(_ end: String) throws {
            let before = daemon.log.count
            daemon.signal(SIGHUP)
            #expect(eventually { daemon.log.dropFirst(before).contains(end) }, "\(daemon.log)")
        }
        func classify(_ model: String) throws -> Answer {
            try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/\(model)/classify")
        }
        try files.copyItem(at: bundle, to: new)
        for closed in [new, versions] { try Self.permit(0, closed) }
        try reload("reload: done")
        #expect(try classify("versions").topLabel == "7", "\(daemon.log)")
        let why = "\(versions.path) cannot be read: Permission denied (this user, uid \(getuid()), needs r and x on it"
        #expect(daemon.log.contains("model versions version 1 was not reloaded: " + why), "\(daemon.log)")
        let reason = "\(new.path) cannot be read: Permission denied"
        #expect(daemon.log.contains("model new version 1 could not be loaded: " + reason), "\(daemon.log)")
        // The reason is in every answer, without the path of the models folder.
        func shown(_ words: String) -> String { words.replacingOccurrences(of: folder.path + "/", with: "") }
        #expect(
            (try Curl.run(daemon.url + "/v1/models/versions").json["stale"] as? String)?.hasPrefix(shown(why)) == true)
        #expect(try Curl.run(daemon.url + "/v1/models/new").text.contains(shown(reason)))
        #expect(try Curl.run(daemon.url + "/v2/repository/index", ["-d", ""]).text.contains(shown(reason)))
        #expect(try classify("new").error.contains(shown(reason)))
        #expect(try Curl.run(daemon.url + "/v2/repository/models/new/load", ["-d", ""]).error.contains(shown(reason)))
        #expect(try Curl.run(daemon.url + "/readyz").status == 503)
        for checked in [folder, new] {
            let words = Self.launcher + [Daemon.binary.path, "check", checked.path]
            let check = try Shell.run(words[0], Array(words.dropFirst()))
            #expect(check.status != 0 && (check.text + check.errors).contains(reason), "\(check.text)\(check.errors)")
        }
        // The models folder itself: nothing changes.
        try Self.permit(0, folder)
        try reload("nothing has changed")
        #expect(daemon.log.contains("the models folder \(folder.path) cannot be read: Permission denied"))
        for model in ["digits", "versions"] { #expect(try classify(model).topLabel == "7") }
        // After the permissions are restored.
        for open in [folder, new, versions] { try Self.permit(0o755, open) }
        try reload("reload: done")
        for model in ["digits", "versions", "new"] { #expect(try classify(model).topLabel == "7") }
        #expect(try Curl.run(daemon.url + "/readyz").status == 200)
        #expect(try Curl.run(daemon.url + "/v1/models/versions").json["stale"] == nil)
        #expect(!daemon.log.contains("was unloaded"), "\(daemon.log)")
        #expect(daemon.stop() == 0)
    }

    /// OpenVINO searches the current folder for its plugins, and would end the process there.
    @Test("a current folder that the user may not enter ends `ocelli classify` with a message")
    func aCurrentFolderThatMayNotBeEnteredIsNamed() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer {
            try? Self.permit(0o755, folder)
            try? FileManager.default.removeItem(at: folder)
        }
        let models = SharedData.packageRoot.appendingPathComponent("models")
        let result = try Shell.run(
            "/bin/sh",
            ["-c", "cd \"$0\" && chmod 000 . && exec \"$@\"", folder.path] + Self.launcher
                + [Daemon.binary.path, "classify", "--models", models.path, BadInputTests.seven.path])
        #expect(result.status == 1, "\(result.text)\(result.errors)")
        #expect(result.errors.contains("this user cannot enter the current folder"), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1, "only our own words: \(result.errors)")
    }
}

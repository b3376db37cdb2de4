import Foundation
import TestSupport
import Testing

private enum SmallDisk {
    static let canBeMounted =
        (try? Shell.run("unshare", ["-rm", "sh", "-c", "mount -t tmpfs none /mnt"]).status) == 0
}

/// Tests on a full disk: a small file system, mounted in its own namespaces.
@Suite(.enabled(if: SmallDisk.canBeMounted, "needs mount(2) in a namespace: unshare -rm"))
struct FullDiskTests {
    private func probe(_ arguments: [String], size: String) throws -> (status: Int32, text: String, errors: String) {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let mount = "mount -t tmpfs -o size=\(size) none \(folder.path) && exec \"$0\" \"$@\""
        let result = try Shell.run(
            "unshare",
            ["-rm", "sh", "-c", mount, KillTests.probe.path, arguments[0], folder.path + "/taught"]
                + arguments.dropFirst())
        return (result.status, result.text, result.errors)
    }

    /// The probe fills the disk again before each request that forgets.
    @Test(
        "on a full disk every example can be forgotten, one by one, and no file holds it",
        arguments: ["64k", "300k"])
    func everythingCanBeForgotten(_ size: String) throws {
        let outcome = try probe(["full"], size: size)
        #expect(outcome.status == 0, "\(outcome.text) \(outcome.errors)")
        #expect(outcome.text.contains("everything forgotten"), "\(outcome.text)")
    }

    @Test("on a full disk the damaged end of a journal is kept, and the rest is served")
    func aDamagedEndIsKeptOnAFullDisk() throws {
        let outcome = try probe(["full-damaged"], size: "256k")
        #expect(outcome.status == 0 && outcome.text.contains("kept"), "\(outcome.text) \(outcome.errors)")
    }
}

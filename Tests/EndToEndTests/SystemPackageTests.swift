import Foundation
import TestSupport
import Testing

/// `make install` and `make deb`: what they put where, that it works from there, and that nothing is left of it.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct SystemPackageTests {
    private static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-root-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    private static func files(under folder: URL) -> [String] {
        (FileManager.default.enumerator(atPath: folder.path)?.allObjects as? [String] ?? []).sorted()
    }

    private let environment = ["OCELLI_BINARY": Daemon.binary.path]

    @Test func whatIsInstalledWorksAndIsRemovedWhole() throws {
        let root = try Self.folder()
        defer { try? FileManager.default.removeItem(at: root) }
        let prefix = root.appendingPathComponent("usr/local").path
        let script = SharedData.packageRoot.appendingPathComponent("scripts/install").path
        let install = try Shell.run(script, [prefix], environment: environment)
        #expect(install.status == 0, "\(install.errors)")
        // The embedded model is found beside the binary, wherever that is.
        let result = try Shell.run(
            prefix + "/bin/ocelli", ["classify", "--top", "1", BadInputTests.seven.path],
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        #expect(result.text.contains("  7"), "\(result.errors)")
        let unit = try String(contentsOfFile: prefix + "/lib/systemd/system/ocelli.service", encoding: .utf8)
        #expect(unit.contains("ExecStart=\(prefix)/bin/ocelli serve"))
        #expect(try Shell.run(script, ["--remove", prefix]).status == 0)
        #expect(Self.files(under: URL(fileURLWithPath: prefix)) == [])
        // A folder that was there before stays, though it is empty (an updated installation has not made it either).
        try FileManager.default.createDirectory(atPath: prefix + "/bin", withIntermediateDirectories: true)
        for _ in 1...2 { #expect(try Shell.run(script, [prefix], environment: environment).status == 0) }
        #expect(try Shell.run(script, ["--remove", prefix]).status == 0)
        #expect(Self.files(under: URL(fileURLWithPath: prefix)) == ["bin"])
    }

    @Test(
        .enabled(if: MetricsTests.hasTool("dpkg-deb") && getuid() == 0, "needs dpkg, and root to install with it"))
    func thePackageInstallsAndIsPurgedWhole() throws {
        let root = try Self.folder()
        defer { try? FileManager.default.removeItem(at: root) }
        let script = SharedData.packageRoot.appendingPathComponent("scripts/deb").path
        let build = try Shell.run(script, [root.path + "/built"], environment: environment)
        let package = build.text.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(build.status == 0 && package.hasSuffix(".deb"), "\(build.errors)")
        let target = root.appendingPathComponent("target")
        for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "var/log"] {
            try FileManager.default.createDirectory(
                at: target.appendingPathComponent(folder), withIntermediateDirectories: true)
        }
        try "".write(to: target.appendingPathComponent("var/lib/dpkg/status"), atomically: true, encoding: .utf8)
        func dpkg(_ arguments: String...) throws -> Shell.Result {
            try Shell.run(
                "dpkg", ["--root=\(target.path)", "--force-depends", "--force-script-chrootless"] + arguments)
        }
        func own() -> [String] {
            Self.files(under: target).filter { !$0.hasPrefix("var/lib/dpkg") && !$0.hasPrefix("var/log") }
        }
        let before = own()
        let install = try dpkg("-i", package)
        #expect(install.status == 0, "\(install.text)\(install.errors)")
        #expect(own().contains("usr/bin/ocelli"))
        #expect(own().contains("etc/ocelli/ocelli.json5"))
        let result = try Shell.run(
            target.path + "/usr/bin/ocelli", ["classify", "--top", "1", BadInputTests.seven.path],
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        #expect(result.text.contains("  7"), "\(result.errors)")
        // A run of the service would leave its cache.
        try FileManager.default.createDirectory(
            at: target.appendingPathComponent("var/cache/ocelli"), withIntermediateDirectories: true)
        #expect(try dpkg("--remove", "ocelli").status == 0)
        #expect(own().contains("etc/ocelli/ocelli.json5"), "a removal keeps the configuration")
        let purge = try dpkg("--purge", "ocelli")
        #expect(purge.status == 0, "\(purge.text)\(purge.errors)")
        // dpkg leaves folders that it did not make, such as those of var.
        #expect(own().filter { $0.contains("ocelli") } == [], "\(own())")
        #expect(own().filter { !before.contains($0) && $0.contains(".") } == [])
    }

    /// An upgrade restarts a daemon that runs, for its libraries are others now; a removal disables the unit. systemctl is a script
    /// that writes down what it is asked.
    @Test(
        .enabled(if: MetricsTests.hasTool("dpkg-deb") && getuid() == 0, "needs dpkg, and root to install with it"))
    func anUpgradeRestartsAndARemovalDisables() throws {
        let root = try Self.folder()
        defer { try? FileManager.default.removeItem(at: root) }
        let script = SharedData.packageRoot.appendingPathComponent("scripts/deb").path
        let build = try Shell.run(script, [root.path + "/built"], environment: environment)
        let package = build.text.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(build.status == 0 && package.hasSuffix(".deb"), "\(build.errors)")
        let depends = try Shell.run("dpkg-deb", ["-f", package, "Depends"]).text
        #expect(depends.contains("procps") && depends.contains("libc6 (>= "), "\(depends)")
        let target = root.appendingPathComponent("target"), calls = root.appendingPathComponent("calls").path
        let wants = target.appendingPathComponent("etc/systemd/system/multi-user.target.wants")
        for folder in [
            "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "var/log", "run/systemd/system",
        ] {
            try FileManager.default.createDirectory(
                at: target.appendingPathComponent(folder), withIntermediateDirectories: true)
        }
        try FileManager.default.createDirectory(at: wants, withIntermediateDirectories: true)
        try "".write(to: target.appendingPathComponent("var/lib/dpkg/status"), atomically: true, encoding: .utf8)
        let bin = root.appendingPathComponent("bin")
        try FileManager.default.createDirectory(at: bin, withIntermediateDirectories: true)
        for name in ["systemctl", "deb-systemd-invoke"] {
            let file = bin.appendingPathComponent(name)
            try "#!/bin/sh\necho \(name) \"$@\" >>'\(calls)'\n".write(to: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
        }
        func dpkg(_ arguments: String...) throws -> [Substring] {
            try "".write(toFile: calls, atomically: true, encoding: .utf8)
            let result = try Shell.run(
                "dpkg", ["--root=\(target.path)", "--force-depends", "--force-script-chrootless"] + arguments,
                environment: ["PATH": bin.path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")])
            #expect(result.status == 0, "\(result.text)\(result.errors)")
            return try String(contentsOfFile: calls, encoding: .utf8).split(separator: "\n")
        }
        #expect(try !dpkg("-i", package).contains { $0.contains("restart") }, "an installation starts nothing")
        try FileManager.default.createSymbolicLink(
            atPath: wants.path + "/ocelli.service", withDestinationPath: "/usr/lib/systemd/system/ocelli.service")
        #expect(try dpkg("-i", package).contains("deb-systemd-invoke try-restart ocelli.service"))
        let removal = try dpkg("--remove", "ocelli")
        #expect(removal.contains("systemctl disable ocelli.socket ocelli.service"), "\(removal)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: wants.path) == [])
        _ = try dpkg("--purge", "ocelli")
        #expect(Self.files(under: target).filter { $0.contains("ocelli") && !$0.hasPrefix("var/") } == [])
    }
}

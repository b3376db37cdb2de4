import Foundation
import Synchronization
import TestSupport
import Testing

/// `make install` and `make deb`: the places of the files, a working program, and a complete removal.
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

    @Test("scripts/install installs a working program with its documents, and removes all of the files")
    func whatIsInstalledWorksAndIsRemovedWhole() throws {
        let root = try Self.folder()
        defer { try? FileManager.default.removeItem(at: root) }
        let prefix = root.appendingPathComponent("usr/local").path
        let script = SharedData.packageRoot.appendingPathComponent("scripts/install").path
        let install = try Shell.run(script, [prefix], environment: environment)
        #expect(install.status == 0, "\(install.errors)")
        // The embedded model is found relative to the binary, wherever that is.
        let result = try Shell.run(
            prefix + "/bin/ocelli", ["classify", "--top", "1", BadInputTests.seven.path],
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        #expect(result.text.contains("  7"), "\(result.errors)")
        let unit = try String(contentsOfFile: prefix + "/lib/systemd/system/ocelli.service", encoding: .utf8)
        #expect(unit.contains("ExecStart=\(prefix)/bin/ocelli serve"))
        try Self.checkDocuments(prefix)
        #expect(try Shell.run(script, ["--remove", prefix]).status == 0)
        #expect(Self.files(under: URL(fileURLWithPath: prefix)) == [])
        // A folder that existed before stays, even if it is empty (an updated installation did not create it either).
        try FileManager.default.createDirectory(atPath: prefix + "/bin", withIntermediateDirectories: true)
        for _ in 1...2 { #expect(try Shell.run(script, [prefix], environment: environment).status == 0) }
        #expect(try Shell.run(script, ["--remove", prefix]).status == 0)
        #expect(Self.files(under: URL(fileURLWithPath: prefix)) == ["bin"])
    }

    /// A unit of the system may not read home folders (ProtectHome), nor does systemd look for it there.
    @Test("below a home folder scripts/install installs a unit of the user, with a folder of models there")
    func aHomeFolderGetsAUnitOfItsUser() throws {
        let root = try Self.folder()
        defer { try? FileManager.default.removeItem(at: root) }
        let prefix = root.path + "/.local"
        let script = SharedData.packageRoot.appendingPathComponent("scripts/install").path
        let install = try Shell.run(script, [prefix], environment: environment.merging(["HOME": root.path]) { $1 })
        #expect(install.status == 0, "\(install.errors)")
        #expect(install.text.contains("systemctl --user enable --now \(prefix)/share/systemd/user/ocelli.service"))
        let unit = try String(contentsOfFile: prefix + "/share/systemd/user/ocelli.service", encoding: .utf8)
        #expect(unit.contains("ExecStart=\(prefix)/bin/ocelli serve"))
        #expect(!FileManager.default.fileExists(atPath: prefix + "/lib/systemd"))
        let configuration = try String(contentsOfFile: prefix + "/share/ocelli/ocelli.json5", encoding: .utf8)
        #expect(configuration.contains("\n  models: [\"\(root.path)/.local/state/ocelli/models\"],"))
        #expect(try Shell.run(script, ["--remove", prefix]).status == 0)
        #expect(Self.files(under: URL(fileURLWithPath: prefix)) == [])
    }

    /// The targets of links in the installed documents exist, and so do the files that they name.
    private static func checkDocuments(_ prefix: String) throws {
        let root = prefix + "/share/doc/ocelli", files = FileManager.default
        let documents = Self.files(under: URL(fileURLWithPath: root)).filter { $0.hasSuffix(".md") }
        #expect(documents.count > 10)
        var count = 0
        for document in documents {
            let text = try String(contentsOfFile: root + "/" + document, encoding: .utf8)
            let folder = URL(fileURLWithPath: root + "/" + document).deletingLastPathComponent()
            let links = text.matches(of: /\]\(([^)#\s]+)[^)]*\)|src="([^"]+)"/).compactMap {
                $0.output.1 ?? $0.output.2
            }
            for link in links where !link.contains("://") {
                let path = link.hasPrefix("/") ? String(link) : folder.appendingPathComponent(String(link)).path
                #expect(files.fileExists(atPath: path), "\(document) links to \(link)")
                count += 1
            }
            for name in text.matches(of: /[\w.\/-]*\/(?:share\/ocelli|lib\/systemd)\/[\w.\/-]*\w/).map(\.output)
            where name.hasPrefix(prefix) && !name.hasSuffix("deploy/models") {
                #expect(files.fileExists(atPath: String(name)), "\(document) names \(name)")
                count += 1
            }
            for name in text.matches(of: /(?:^|[^\w.\/-])((?:\.\.\/)?(?:config|examples)\/\w[\w.-]*)/).map(\.output.1) {
                Issue.record("\(document) names \(name), which is in the source tree")
            }
        }
        #expect(count > 50)
    }

    /// Builds the package; returns its path.
    private func package(in root: URL) throws -> String {
        let script = SharedData.packageRoot.appendingPathComponent("scripts/deb").path
        let build = try Shell.run(script, [root.path + "/built"], environment: environment)
        let package = build.text.trimmingCharacters(in: .whitespacesAndNewlines)
        try #require(build.status == 0 && package.hasSuffix(".deb"), "\(build.errors)")
        return package
    }

    /// A folder that dpkg takes for the root of a system without packages, with further folders in it.
    private static func installationRoot(in root: URL, _ further: [String] = []) throws -> URL {
        let target = root.appendingPathComponent("target")
        for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "var/log"] + further {
            try FileManager.default.createDirectory(
                at: target.appendingPathComponent(folder), withIntermediateDirectories: true)
        }
        try "".write(to: target.appendingPathComponent("var/lib/dpkg/status"), atomically: true, encoding: .utf8)
        return target
    }

    @Test(
        "the Debian package installs and classifies; remove keeps the configuration, purge leaves nothing",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(if: MetricsTests.hasTool("dpkg-deb") && getuid() == 0, "needs dpkg, and root to install with it"))
    func thePackageInstallsAndIsPurgedWhole() throws {
        let root = try Self.folder()
        defer { try? FileManager.default.removeItem(at: root) }
        let package = try package(in: root)
        let target = try Self.installationRoot(in: root)
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
        let description = try Shell.run("dpkg-deb", ["-f", package, "Description"]).text
        for words in ["ONNX", "TensorFlow Lite", "Paddle", "Core ML", "boxes, masks"] {
            #expect(description.replacing(/\s+/, with: " ").contains(words), "\(description)")
        }
        let configuration = try String(
            contentsOfFile: target.path + "/etc/ocelli/ocelli.json5", encoding: .utf8)
        for line in ["models: [\"/var/lib/ocelli/models\"],", "repository_poll: \"2s\","] {
            #expect(configuration.contains("\n  " + line), "\(line)")
        }
        // As systemd lays out the state of a unit with DynamicUser.
        let state = target.path + "/var/lib/ocelli"
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: state) == "private/ocelli")
        #expect(try FileManager.default.contentsOfDirectory(atPath: state + "/models") == [])
        let result = try Shell.run(
            target.path + "/usr/bin/ocelli", ["classify", "--top", "1", BadInputTests.seven.path],
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        #expect(result.text.contains("  7"), "\(result.errors)")
        // The other engines are separate packages: without them the program has one engine.
        for (name, title, library) in [
            ("onnxruntime", "ONNX Runtime", "libonnxruntime.so.1"), ("litert", "LiteRT", "libLiteRt.so"),
        ] {
            let installed = "usr/lib/ocelli/\(library)"
            func hasEngine() throws -> Bool {
                try Shell.run(target.path + "/usr/bin/ocelli", ["devices"]).text.contains(title)
            }
            #expect(try !hasEngine() && !own().contains(installed))
            let unpacked = SharedData.packageRoot.appendingPathComponent(".deps/\(name)/lib/\(library)").path
            guard FileManager.default.fileExists(atPath: unpacked) else { continue }
            let second = package.replacing("/ocelli_", with: "/ocelli-\(name)_")
            #expect(try dpkg("-i", second).status == 0)
            #expect(try hasEngine() && own().contains(installed))
            #expect(own().contains("usr/share/doc/ocelli-\(name)/\(name)-ThirdPartyNotices.txt"))
            #expect(try dpkg("--purge", "ocelli-\(name)").status == 0)
            #expect(try !hasEngine())
        }
        // A run of the service would leave its cache.
        try FileManager.default.createDirectory(
            at: target.appendingPathComponent("var/cache/ocelli"), withIntermediateDirectories: true)
        #expect(try dpkg("--remove", "ocelli").status == 0)
        #expect(own().contains("etc/ocelli/ocelli.json5"), "a removal keeps the configuration")
        // Models are the administrator's: a purge keeps them.
        try "kept".write(toFile: state + "/models/m.onnx", atomically: true, encoding: .utf8)
        #expect(try dpkg("--purge", "ocelli").status == 0)
        #expect(own().filter { $0.hasSuffix("m.onnx") } == ["var/lib/private/ocelli/models/m.onnx"])
        try FileManager.default.removeItem(atPath: state + "/models/m.onnx")
        #expect(try dpkg("-i", package).status == 0)
        let purge = try dpkg("--purge", "ocelli")
        #expect(purge.status == 0, "\(purge.text)\(purge.errors)")
        // dpkg leaves folders that it did not make, such as those of var.
        #expect(own().filter { $0.contains("ocelli") } == [], "\(own())")
        #expect(own().filter { !before.contains($0) && $0.contains(".") } == [])
    }

    /// An upgrade restarts a running daemon, because its libraries have changed; a removal disables the unit. systemctl
    /// is replaced by a script that records its arguments.
    @Test(
        "an upgrade of the package restarts a running daemon, and a removal disables its units",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(if: MetricsTests.hasTool("dpkg-deb") && getuid() == 0, "needs dpkg, and root to install with it"))
    func anUpgradeRestartsAndARemovalDisables() throws {
        let root = try Self.folder()
        defer { try? FileManager.default.removeItem(at: root) }
        let package = try package(in: root)
        let depends = try Shell.run("dpkg-deb", ["-f", package, "Depends"]).text
        #expect(depends.contains("procps") && depends.contains("libc6 (>= "), "\(depends)")
        let target = try Self.installationRoot(in: root, ["run/systemd/system"])
        let calls = root.appendingPathComponent("calls").path
        let wants = target.appendingPathComponent("etc/systemd/system/multi-user.target.wants")
        try FileManager.default.createDirectory(at: wants, withIntermediateDirectories: true)
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

    /// An older package is upgraded to this one while clients send requests. The service manager holds the socket, as
    /// with ocelli.socket, so that no connection is refused between the old process and the new one. The
    /// administrator's configuration stays, and no file of the old version does.
    @Test(
        "an upgrade of the package under load loses no request and keeps the configuration",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(
            if: MetricsTests.hasTool("dpkg-deb") && MetricsTests.hasTool("python3") && getuid() == 0,
            "needs dpkg, python3, and root to install with it"))
    func anUpgradeUnderLoadLosesNoRequest() throws {
        let root = try Self.folder()
        defer { try? FileManager.default.removeItem(at: root) }
        let package = try package(in: root)
        // The older version: another number, its own configuration, and a library that the newer one no longer has.
        let tree = root.appendingPathComponent("tree").path, old = root.appendingPathComponent("old.deb").path
        let repack = """
            set -e
            dpkg-deb -R '\(package)' '\(tree)'
            sed -i 's/^Version: .*/Version: 0.0.1/' '\(tree)/DEBIAN/control'
            echo '// of version 0.0.1' >>'\(tree)/etc/ocelli/ocelli.json5'
            echo old >'\(tree)/usr/lib/ocelli/libold.so.1'
            rm '\(tree)/DEBIAN/md5sums'
            dpkg-deb --root-owner-group -Zgzip -z1 --build '\(tree)' '\(old)'
            """
        let repacked = try Shell.run("bash", ["-c", repack])
        #expect(repacked.status == 0, "\(repacked.errors)")

        let target = try Self.installationRoot(in: root, ["run/systemd/system"])
        let bin = root.appendingPathComponent("bin"), pidFile = root.appendingPathComponent("manager.pid")
        try FileManager.default.createDirectory(at: bin, withIntermediateDirectories: true)
        for name in ["systemctl", "deb-systemd-invoke"] {
            let file = bin.appendingPathComponent(name)
            let text = "#!/bin/sh\n[ \"$1\" != try-restart ] || kill -USR1 \"$(cat '\(pidFile.path)')\"\n"
            try text.write(to: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
        }
        func dpkg(_ arguments: String...) throws -> Shell.Result {
            try Shell.run(
                "dpkg",
                ["--root=\(target.path)", "--force-depends", "--force-script-chrootless", "--force-confold"]
                    + arguments,
                environment: ["PATH": bin.path + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")])
        }
        let first = try dpkg("-i", old)
        #expect(first.status == 0, "\(first.text)\(first.errors)")
        let configuration = target.appendingPathComponent("etc/ocelli/ocelli.json5")
        let own = try String(contentsOf: configuration, encoding: .utf8) + "// the administrator's own\n"
        try own.write(to: configuration, atomically: true, encoding: .utf8)

        let manager = Process(), output = Pipe()
        manager.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        manager.arguments = [
            "python3", PythonClients.scripts.appendingPathComponent("service_manager.py").path, pidFile.path,
            root.appendingPathComponent("log").path, target.path + "/usr/bin/ocelli", "serve", "--cache-dir",
            root.appendingPathComponent("cache").path, "--config", configuration.path, "--models",
            target.path + "/usr/share/ocelli/models",
        ]
        manager.environment = Shell.environment
        manager.standardOutput = output
        try manager.run()
        defer {
            kill(manager.processIdentifier, SIGTERM)
            manager.waitUntilExit()
        }
        let said = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let port = try #require(said.split(separator: "\n").first.flatMap { Int($0) }, "\(said)")
        let url = "http://127.0.0.1:\(port)/v1/classify"
        let answers = Mutex((right: 0, wrong: [String]())), ends = Mutex(false)
        let clients = DispatchGroup()
        for _ in 0..<4 {
            DispatchQueue.global().async(group: clients) {
                while !ends.withLock({ $0 }) {
                    let answer = try? Curl.post(BadInputTests.seven, to: url)
                    answers.withLock {
                        if answer?.status == 200, answer?.topLabel == "7" {
                            $0.right += 1
                        } else {
                            $0.wrong.append("\(answer?.status ?? 0) \(answer?.error ?? "")")
                        }
                    }
                }
            }
        }
        func pass(_ more: Int) {
            let before = answers.withLock { $0.right }
            #expect(eventually(within: 60) { answers.withLock { $0.right >= before + more } })
        }
        pass(20)
        let upgrade = try dpkg("-i", package)
        #expect(upgrade.status == 0, "\(upgrade.text)\(upgrade.errors)")
        let log = root.appendingPathComponent("log").path
        let restarted = eventually(within: 60) {
            ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").components(separatedBy: "ready after").count
                >= 3
        }
        #expect(restarted, "\((try? String(contentsOfFile: log, encoding: .utf8)) ?? "")")
        pass(20)
        ends.withLock { $0 = true }
        clients.wait()
        #expect(answers.withLock { $0.wrong } == [])
        print("upgrade under load: \(answers.withLock { $0.right }) answers, none lost")
        #expect(try String(contentsOf: configuration, encoding: .utf8) == own)
        #expect(!Self.files(under: target).contains { $0.hasSuffix("libold.so.1") })
        let status = try Shell.run("dpkg-query", ["--admindir=\(target.path)/var/lib/dpkg", "-W", "ocelli"]).text
        #expect(!status.contains("0.0.1"), "\(status)")
        #expect(try dpkg("--purge", "ocelli").status == 0)
        #expect(Self.files(under: target).filter { $0.contains("ocelli") && !$0.hasPrefix("var/") } == [])
    }
}

import Foundation
import Settings
import TestSupport
import Testing

/// Wrong settings: the message names the mistake, its place and the remedy.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct WrongSettingsTests {
    private static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-wrong-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// The output of the daemon with arguments that end it at once. `{}` stands for a folder with a file called `file`.
    private func complaint(
        _ arguments: [String], configuration: String? = nil, environment: [String: String] = [:]
    ) throws -> (status: Int32, text: String) {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try "x".write(to: folder.appendingPathComponent("file"), atomically: true, encoding: .utf8)
        var arguments = arguments.map { $0.replacingOccurrences(of: "{}", with: folder.path) }
        if let configuration {
            let file = folder.appendingPathComponent("ocelli.json5")
            try configuration.write(to: file, atomically: true, encoding: .utf8)
            arguments += ["--config", file.path]
        }
        let result = try Shell.run(
            "timeout", ["20", Daemon.binary.path, "serve"] + arguments,
            environment: environment.merging(["XDG_CACHE_HOME": Daemon.cache.path]) { $1 })
        return (result.status, result.errors)
    }

    @Test(
        "a wrong file, folder or address at start is named in a single line with the remedy",
        arguments: [
            (["--config", "{}"], ["{}", "it is a folder"], 2),
            (["--config", "{}/none.json5"], ["none.json5", "no such file"], 2),
            (["--tokens-file", "{}/none"], ["tokens_file", "no such file"], 2),
            (["--tokens-file", "{}/file"], ["the tokens file, line 1", "classes, a space and a token"], 2),
            (["--models", "{}/none"], ["{}/none", "does not exist"], 1),
            (["--models", "{}/file"], ["is not a supported model file: expected .onnx", "or a folder"], 1),
            (["--models", "{}"], ["no models in", "model.json"], 1),
            (["--listen", "8080"], ["\"8080\" (did you mean \"127.0.0.1:8080\"?)", "HOST:PORT"], 2),
            (["--listen", "127.0.0.1:99999"], ["99999", "HOST:PORT"], 2),
            (["--listen", "192.0.2.7:18100"], ["192.0.2.7", "no interface of this machine"], 1),
            (["--listen", "unix:{}/none/socket"], ["none/socket", "create it first"], 1),
            (["--listen", "unix:{}/file"], ["not a socket", "remove it"], 1),
            (["--listen", "unix:/tmp/" + String(repeating: "x", count: 110)], ["at most 107 bytes"], 1),
            (["--listen", ""], ["no address", "(listen)"], 2),
            (["--listen", "systemd"], ["systemd passed no listening socket", "ocelli.socket"], 1),
        ] as [([String], [String], Int32)])
    func isNamedWithWhatToDo(_ arguments: [String], _ words: [String], expected: Int32) throws {
        let (status, text) = try complaint(arguments)
        #expect(status == expected, "\(text)")
        for word in words where !word.contains("{}") { #expect(text.contains(word), "\(text)") }
        #expect(text.split(separator: "\n").count == 1, "one sentence, not a page: \(text)")
    }

    /// The source of a wrong value does not matter: a flag, a variable or the file.
    @Test(
        "a wrong value from a flag, a variable or the settings file ends with status 2 and its name",
        arguments: [
            ("listen", "nowhere", "HOST:PORT"), ("listen", "127.0.0.1:0?proxy=v3", "proxy=v1"),
            ("trusted_proxies", "10.0.0.0/33", "expected an address"), ("model", "digits", "NAME=PATH"),
            ("ready_when", "all,digits", "cannot be combined"), ("top", "none", "whole number"),
            ("max_body", "20XB", "amount of memory"), ("load", "soon", "one of"),
            ("deadline", "10m", "more than max_deadline, 5m"),
        ])
    func aWrongValueEndsWithTheStatusOfWrongSettings(_ name: String, _ value: String, words: String) throws {
        let flag = "--" + name.replacingOccurrences(of: "_", with: "-")
        let list = value.split(separator: ",").map { "\"\($0)\"" }.joined(separator: ", ")
        let isList = ["listen", "trusted_proxies", "model", "ready_when"].contains(name)
        for (status, text) in [
            try complaint([flag, value]), try complaint([], environment: ["OCELLI_" + name.uppercased(): value]),
            try complaint([], configuration: "{ \(name): \(isList ? "[\(list)]" : list) }"),
        ] {
            #expect(status == 2 && text.contains(words), "\(text)")
            #expect([name, flag, "OCELLI_"].contains { text.contains($0) }, "\(text)")
        }
        let other = try Shell.run(Daemon.binary.path, ["limits", flag, value])
        #expect(other.status == 2 && other.errors.contains(words), "\(other)")
    }

    @Test(
        "a mistake in the settings file is named with its line and column, or the setting's name",
        arguments: [
            ("{ max_bodi: 1 }", ["\"max_bodi\" is not a setting", "did you mean \"max_body\"?"]),
            ("{ port: 9000 }", ["\"port\" is not a setting", "did you mean \"listen\"?"]),
            ("{\n  top: 3\n  max_body: 1,\n}", ["not valid JSON5", "line 3, column 3"]),
            ("{ top: ", ["not valid JSON5", "the end of the file"]),
            ("", ["not valid JSON5", "line 1, column 1"]),
            ("{ top: 0 }", ["top: expected a whole number from 1", "found 0"]),
            ("{ top: 2,\n  'max_body': 1,\n  \"top\": 3 }", ["line 3, column 3", "\"top\" is given a second time"]),
            ("{ top: 2, \"t\\u006fp\": 3 }", ["line 1, column 11", "\"top\" is given a second time"]),
            ("{ top: 2,\n  \0 }", ["line 2, column 3", "control character with number 0"]),
            ("{ default_model: 'a\0b' }", ["line 1, column 20", "control character with number 0"]),
        ])
    func aWrongFileIsNamedWithThePlace(_ configuration: String, _ words: [String]) throws {
        let (status, text) = try complaint([], configuration: configuration)
        #expect(status == 2)
        for word in words + ["ocelli.json5"] { #expect(text.contains(word), "\(text)") }
    }

    /// The engine would end the process if an allocation failed.
    @Test("a start with too little address space is refused with the ulimit to raise")
    func tooLittleAddressSpaceIsRefusedWithTheReason() throws {
        let result = try Shell.run(
            "bash", ["-c", "ulimit -v 400000; exec timeout 20 \(Daemon.binary.path) serve --listen 127.0.0.1:0"])
        #expect(result.status == 1, "\(result)")
        #expect(
            result.errors.contains("limited to 390.6MiB") && result.errors.contains("ulimit -v unlimited"), "\(result)")
    }

    /// True if this user may unmount /proc in a mount namespace.
    private static let canHideProc = (try? Shell.run("unshare", ["-m", "umount", "-l", "/proc"]).status) == 0

    /// Swift reads the arguments in /proc: without it the program would have none.
    @Test(
        "a start without /proc is refused with advice to mount /proc",
        .enabled(if: canHideProc, "needs root: /proc is unmounted in a namespace"))
    func withoutProcTheReasonIsNamed() throws {
        // Without /proc the loader does not know the program's place, and so not its libraries.
        let libraries = SharedData.packageRoot.appendingPathComponent(".deps/openvino/lib").path
        let result = try Shell.run(
            "unshare",
            [
                "-m", "bash", "-c",
                "umount -l /proc; LD_LIBRARY_PATH=\(libraries) exec \(Daemon.binary.path) serve --listen 127.0.0.1:0",
            ])
        #expect(result.status == 1 && result.errors.contains("mount /proc"), "\(result)")
    }

    @Test("a port that is taken ends the start with advice to run ss")
    func aTakenPortSaysWhoToAsk() throws {
        let daemon = try Daemon()
        let address = String(daemon.url.dropFirst("http://".count))
        let (status, text) = try complaint(["--listen", address])
        #expect(status == 1)
        #expect(text.contains("Address already in use") && text.contains("ss -ltnp"), "\(text)")
        daemon.stop()
    }

    /// Runs the daemon as the user nobody.
    private static func asNobody(_ arguments: [String]) throws -> (status: Int32, errors: String) {
        let result = try Shell.run(
            "timeout",
            [
                "20", "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all",
                Daemon.binary.path,
            ] + arguments)
        return (result.status, result.errors)
    }

    /// Another user cannot run a clone in a folder that only root may enter.
    private static var nobodyCanRunIt: Bool {
        getuid() == 0 && Shell.has("setpriv") && (try? asNobody(["--version"]).status) == 0
    }

    @Test(
        "a file that the user may not read is named with the uid; a port below 1024 is explained",
        .enabled(if: nobodyCanRunIt, "needs root, to become another user, and a clone that others may read"))
    func whatAnotherUserMayNotDoIsSaid() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let secret = folder.appendingPathComponent("secret")
        try "{}".write(to: secret, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret.path)
        func run(_ arguments: String...) throws -> String { try Self.asNobody(["serve"] + arguments).errors }
        for flag in ["--config", "--tokens-file"] {
            let text = try run(flag, secret.path)
            #expect(text.contains("uid 65534") && text.contains("may not read it"), "\(text)")
        }
        // If the kernel lets all users have low ports (containers), there is no error.
        let first = try String(contentsOfFile: "/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding: .utf8)
        if first.hasPrefix("1024") {
            let text = try run("--listen", "127.0.0.1:81")
            #expect(text.contains("ports below 1024"), "\(text)")
        }
    }

    @Test("an unusable cache folder and an unknown default model are warned of, and models are served")
    func aCacheThatCannotBeAndAModelThatIsNotAreWarnedOf() throws {
        let daemon = try Daemon(["--cache-dir", "/proc/none", "--default-model", "nobody"])
        #expect(daemon.log.contains("cannot cache compiled models in /proc/none (cache_dir)"), "\(daemon.log)")
        #expect(daemon.waitForLog("unknown model \"nobody\" (available: digits)"), "\(daemon.log)")
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").status == 404)
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/digits/classify").topLabel == "7")
        #expect(daemon.stop() == 0)
    }

    /// A socket file that a killed daemon left is replaced; one with a running daemon is not.
    @Test("the socket file of a killed daemon is replaced; that of a running daemon is refused")
    func aSocketFileIsTakenOverOnlyFromTheDead() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("socket").path
        let first = try Daemon(listen: "unix:\(path)")
        let (status, text) = try complaint(["--listen", "unix:\(path)"])
        #expect(status == 1)
        #expect(text.contains("another process listens on it") && text.contains("stop it"), "\(text)")
        first.signal(SIGKILL)
        first.waitForExit()
        #expect(FileManager.default.fileExists(atPath: path))
        let second = try Daemon(listen: "unix:\(path)")
        let answer = try Curl.run("http://localhost/healthz", ["--unix-socket", path])
        #expect(answer.status == 200)
        #expect(second.stop() == 0)
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}

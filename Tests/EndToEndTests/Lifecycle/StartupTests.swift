import Foundation
import TestSupport
import Testing

/// Messages about problems before the first request.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct StartupTests {
    private func ocelli(_ arguments: String...) throws -> Shell.Result {
        try Shell.run(Daemon.binary.path, arguments, environment: ["XDG_CACHE_HOME": Daemon.cache.path])
    }

    /// A folder with a copy of the embedded bundle, which a test then damages.
    private func folder(_ damage: (URL) throws -> Void) throws -> URL {
        let models = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-models-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        let digits = SharedData.packageRoot.appendingPathComponent("models/digits")
        try FileManager.default.copyItem(at: digits, to: models.appendingPathComponent("digits"))
        try FileManager.default.copyItem(at: digits, to: models.appendingPathComponent("damaged"))
        try damage(models.appendingPathComponent("damaged"))
        return models
    }

    @Test("a wrong command, flag or value is refused with a correct one")
    func wrongUseSaysWhatIsRight() throws {
        for (arguments, words) in [
            (["serv"], ["\"serv\" is not a command", "did you mean \"serve\"?"]),
            (["serve", "--modles", "x"], ["--modles", "did you mean \"--models\"?"]),
            (["serve", AbsentPath.path], [AbsentPath.path, "does not exist"]),
            (["serve", "--port", "9000"], ["\"--port\" is not a flag", "did you mean \"--listen\"?"]),
            (["serve", "--model-repository=m"], ["did you mean \"--models\"?"]),
            (["limits", "-p", "1"], ["`ocelli limits`", "\"--listen\""]), (["devices", "--port", "1"], ["\"--port\""]),
            (["serve", "--access-log", "maybe"], ["maybe"]),
            (["serve", "--top", "many"], ["--top", "whole number", "many"]),
            (["serve", "--max-body", "20XB"], ["--max-body", "20MiB", "20XB"]),
            (["serve", "--config", AbsentPath.path + ".json5"], [AbsentPath.path + ".json5"]),
            (["serve", "--models", "--listen", ":0"], ["--models needs a value", "--models=--listen"]),
            (["classify", "--json=1", "x"], ["--json takes no value"]),
            (["classify", "--", "-x", "--y"], ["-x: cannot be read", "--y: cannot be read"]),
            (
                [
                    "serve", "--models", AbsentPath.path, "--listen", "nowhere", "--listen", "there", "--tokens-file",
                    AbsentPath.path + ".tokens",
                ],
                [AbsentPath.path, "\"nowhere\", \"there\"", AbsentPath.path + ".tokens"]
            ),
            (["serve", "--models", AbsentPath.path], [AbsentPath.path]),
            (["serve", "--listen", "nowhere"], ["nowhere", "HOST:PORT"]),
            (["classify"], ["no file"]),
            (["help", "nothing"], ["nothing"]),
        ] as [([String], [String])] {
            let result = try Shell.run(Daemon.binary.path, arguments)
            #expect(result.status != 0, "\(arguments)")
            for word in words { #expect(result.errors.contains(word), "\(arguments): \(result.errors)") }
        }
    }

    @Test("commands exit with 0 for success, 1 for a failure and 2 for wrong use, as documented in the help")
    func theExitStatusIsWhatTheHelpSays() throws {
        #expect(try ocelli("help").text.contains("0 for success, 1 for a failure"))
        for (arguments, status) in [
            (["help"], 0), (["limits"], 0), (["classify", AbsentPath.path + ".png"], 1),
            (["check", AbsentPath.path], 1),
            (["init", AbsentPath.path], 1), (["ready", "http://127.0.0.1:1"], 1), (["report", "nothing"], 1), ([], 2),
            (["classify"], 2), (["classify", "--top", "many", "x"], 2), (["serve", "--config", AbsentPath.path], 2),
            (["help", "nothing"], 2), (["check", "--nothing"], 2), (["ready", "--timeout", "soon"], 2),
            (["serve", "--models", AbsentPath.path], 1), (["limits", "--listen", "nowhere"], 2),
            (["limits", "--model", "digits"], 2),
            (["serve", "--models", AbsentPath.path, "--listen", "8080"], 2),
        ] as [([String], Int32)] {
            #expect(try Shell.run(Daemon.binary.path, arguments).status == status, "\(arguments)")
        }
    }

    /// A name may contain any character but a slash; a terminal must not interpret it.
    @Test("control characters in file names are escaped in the output of `ocelli classify`")
    func namesDoNotCommandTheTerminal() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let picture = folder.path + "/\u{1B}[31mé\u{9B}2J\r.png"
        try FileManager.default.copyItem(atPath: BadInputTests.seven.path, toPath: picture)
        let result = try ocelli("classify", picture, picture + "\u{7}")
        #expect(
            result.text.contains("/\\u{1B}[31mé\\u{9B}2J\\u{D}.png  (png, 256x256)  digits version 1\n"),
            "\(result.text)")
        #expect(result.errors.contains(".png\\u{7}: cannot be read: no such file"), "\(result.errors)")
        let controls = (result.text + result.errors).unicodeScalars.filter { $0.properties.generalCategory == .control }
        #expect(controls.allSatisfy { $0 == "\n" })
    }

    /// Labels of a model and names of files in every form of output: JSON stays valid.
    @Test("direction marks and characters without width in labels and file names are escaped in text and in JSON")
    func labelsDoNotTurnTheText() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let hidden = "\u{202E}gnp\u{200B}\u{2066}\n\u{85}", bundle = folder.appendingPathComponent("digits\u{202E}")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let digits = SharedData.packageRoot.appendingPathComponent("models/digits")
        try FileManager.default.copyItem(at: digits, to: bundle)
        let json = bundle.appendingPathComponent("model.json")
        let manifest = try String(contentsOf: json, encoding: .utf8)
        let labels = try #require(manifest.firstMatch(of: /"labels": "([a-z.]+)"/)).1
        try Data(manifest.replacing("\"labels\": \"\(labels)\"", with: "\"labels\": \"own.json\"").utf8).write(to: json)
        let names = (0..<10).map { "\($0)\(hidden)" }
        try JSONEncoder().encode(names).write(to: bundle.appendingPathComponent("own.json"))
        let picture = folder.path + "/seven\(hidden).png"
        try FileManager.default.copyItem(atPath: BadInputTests.seven.path, toPath: picture)
        func isHidden(_ scalar: Unicode.Scalar) -> Bool {
            [.control, .format].contains(scalar.properties.generalCategory) && scalar != "\n"
        }
        for arguments in [
            ["classify", picture], ["classify", "--json", picture], ["classify", "--jsonl", folder.path],
            ["classify", "--try", bundle.path, picture], ["check", bundle.path], ["classify", picture + hidden],
            ["compile", bundle.path, "--cache-dir", folder.path + "/cache"],
            ["init", "--stdout", bundle.path + "/\(hidden).onnx"],
        ] {
            let result = try Shell.run(
                Daemon.binary.path, arguments + (arguments[0] == "init" ? [] : ["--models", folder.path]))
            #expect(!(result.text + result.errors).unicodeScalars.contains(where: isHidden), "\(arguments) \(result)")
            #expect((result.text + result.errors).contains("202E") || (result.text + result.errors).contains("202e"))
        }
        let text = try ocelli("classify", "--models", folder.path, picture).text
        #expect(text.contains("7\\u{202E}gnp\\u{200B}\\u{2066}\\u{A}\\u{85}\n"), "\(text)")
        let answer = try ocelli("classify", "--json", "--models", folder.path, picture)
        let first = (answer.json["classifications"] as? [[String: Any]])?.first?["label"] as? String
        #expect(first == "7\(hidden)" && answer.json["file"] as? String == picture, "\(answer.text)")
    }

    /// Otherwise log lines would be written to the first file or socket that is opened.
    @Test("a daemon started with closed standard descriptors opens /dev/null in their place")
    func closedStandardDescriptorsAreTaken() throws {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = [
            "-c", "exec \"$0\" serve --listen 127.0.0.1:0 --models \"$1\" 0<&- 1>&- 2>&-", Daemon.binary.path,
            SharedData.packageRoot.appendingPathComponent("models").path,
        ]
        try shell.run()
        defer {
            kill(shell.processIdentifier, SIGKILL)
            shell.waitUntilExit()
        }
        func target(_ descriptor: Int) -> String? {
            try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/\(shell.processIdentifier)/fd/\(descriptor)")
        }
        // Sockets are opened after all other files at start.
        func listens() -> Bool { (0..<64).contains { target($0)?.hasPrefix("socket:") ?? false } }
        for _ in 0..<600 where !listens() { usleep(50_000) }
        #expect(listens())
        #expect((0...2).map(target) == ["/dev/null", "/dev/null", "/dev/null"])
    }

    /// Lost output is a failure; a reader that has closed its end is not.
    @Test("output to a full device ends with status 1; a reader that closes its end is no failure")
    func outputThatCannotBeWrittenIsAFailure() throws {
        func shell(_ script: String) throws -> Shell.Result {
            try Shell.run("bash", ["-c", script, "bash", Daemon.binary.path])
        }
        let full = try shell("\"$1\" help config > /dev/full")
        #expect(full.status == 1 && full.errors.contains("cannot write to standard output: No space left"), "\(full)")
        let head = try shell("\"$1\" help config | head -n 1")
        #expect(head.status == 0 && head.errors == "", "\(head)")
    }

    @Test("`ocelli classify` reads pictures from pipes, and no more of an endless file than max_body")
    func aPictureMayComeThroughAPipe() throws {
        let picture = SharedData.packageRoot.path + "/examples/three.png"
        let result = try Shell.run(
            "bash",
            [
                "-c", #"cat "$2" | "$1" classify --top 1 - /dev/fd/3 3< <(cat "$2")"#, "bash", Daemon.binary.path,
                picture,
            ])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.matches(of: /%  3\n/).count == 2, "\(result.text)")
        // However long the file is, no more than max_body is read.
        let endless = try ocelli("classify", "--max-body", "1MiB", "/dev/zero", "/tmp")
        #expect(endless.status == 1)
        #expect(endless.errors.contains("more than max_body allows (1MiB)"), "\(endless.errors)")
        #expect(endless.errors.contains("/tmp: cannot be read: it is a folder"), "\(endless.errors)")
    }

    @Test("help lists commands and flags, and --version prints the version")
    func help_namesCommandsAndFlags() throws {
        #expect(try ocelli("help").text.contains("ocelli serve"))
        #expect(try ocelli("help", "serve").text.contains("--max-body SIZE"))
        #expect(try ocelli("serve", "--help").text == ocelli("help", "serve").text)
        #expect(try ocelli("--version").text.hasPrefix("ocelli "))
    }

    @Test("a bundle without its model file gets 503 with the file's name, and the other models are served")
    func aBundleWithoutItsModelFileIsNamedAndTheOthersAreServed() throws {
        let models = try folder { try FileManager.default.removeItem(at: $0.appendingPathComponent("digits.onnx")) }
        defer { try? FileManager.default.removeItem(at: models) }
        let daemon = try Daemon(["--models", models.path])
        #expect(daemon.log.contains("damaged"))
        #expect(daemon.log.contains("digits.onnx"))
        let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/damaged/classify")
        #expect(answer.status == 503)
        #expect(answer.code == "model_not_ready")
        #expect(answer.error.contains("digits.onnx"))
        #expect(answer.headers["retry-after"] != nil)
        #expect(try Curl.run(daemon.url + "/readyz").status == 503)
        #expect(try Curl.run(daemon.url + "/healthz").status == 200)
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/digits/classify").topLabel == "7")
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").topLabel == "7")
        #expect(daemon.log.contains("damaged has failed), /v1/models gives the reasons; the others are served"))
        let alone = try Daemon(["--model", models.path + "/damaged"])
        #expect(alone.log.contains("damaged has failed), /v1/models gives the reasons; no model is served"))
        alone.stop()
        let described = try Curl.run(daemon.url + "/v1/models/damaged")
        #expect(described.json["state"] as? String == "failed")
        #expect((described.json["reason"] as? String)?.contains("digits.onnx") == true)
        #expect(daemon.stop() == 0)
    }

    @Test("the log at start has the address, the models, the limits and the processors")
    func theSummarySaysWhatIsServedWhereAndWithWhatLimits() throws {
        let daemon = try Daemon()
        for word in [
            "listening on 127.0.0.1:", "model digits version 1 is ready", "limits: ", "body 20MiB", "processors",
            "ready after", "the page to try pictures is at \(daemon.url)/\n",
        ] {
            #expect(daemon.log.contains(word), "\(word): \(daemon.log)")
        }
        daemon.stop()
    }

    /// The first address that serves it, and that a browser can use.
    @Test("the log at start has the address of the page, unless no address serves it")
    func theLogHasThePagesAddress() throws {
        let socket = FileManager.default.temporaryDirectory.appendingPathComponent("o-\(UUID().uuidString.prefix(8))")
            .path
        for (first, others, isServed) in [
            ("unix:\(socket)", ["127.0.0.1:0"], true),
            ("127.0.0.1:0?routes=infer", ["127.0.0.1:0?routes=infer,read"], true),
            ("127.0.0.1:0?proxy=v1", ["127.0.0.1:0"], true), ("unix:\(socket)", [], false),
            ("127.0.0.1:0?routes=read", [], false),
        ] {
            let daemon = try Daemon(others.flatMap { ["--listen", $0] }, listen: first)
            let line = daemon.log.firstMatch(of: /the page to try pictures is at (\S+)/)
            #expect((line != nil) == isServed, "\(first) \(others): \(daemon.log)")
            if let line {
                let answer = try Curl.run(String(line.output.1))
                #expect(answer.status == 200 && answer.headers["content-type"] == "text/html; charset=utf-8")
            }
            daemon.stop()
        }
        let open = try Daemon(listen: ":0")
        let page = try #require(open.log.firstMatch(of: /the page to try pictures is at (\S+)/)).output.1
        #expect(page.hasPrefix("http://localhost:"), "\(page)")
        open.stop()
    }

    @Test("the first answer of a lazy model has the time of its load as a stage, in the answer, the field and the log")
    func theFirstAnswerOfALazyModelHasItsLoad() throws {
        let daemon = try Daemon(["--load", "lazy"])
        for (isFirst, path) in [(true, "/v1/classify"), (false, "/v1/classify")] {
            let answer = try Curl.post(BadInputTests.seven, to: daemon.url + path)
            let times = try #require(answer.json["timing_ms"] as? [String: Double])
            let field = answer.headers["server-timing"] ?? ""
            #expect((times["load"] != nil) == isFirst && field.contains(", load;dur=") == isFirst, "\(times) \(field)")
            // The rest of the total is receiving the picture and reading the head.
            let sum = times.reduce(0) { $0 + ($1.key == "total" ? 0 : $1.value) }, total = times["total"] ?? 0
            #expect(sum <= total && (!isFirst || sum > 0.9 * total), "\(times)")
        }
        let lines = daemon.log.split(separator: "\n").filter { $0.contains("POST /v1/classify") }
        #expect(lines.map { $0.contains(" load=") } == [true, false], "\(lines)")
        #expect(try Curl.run(daemon.url + "/metrics").text.contains("stage=\"load\"} 1\n"))
        daemon.stop()
        let other = try Daemon(["--load", "lazy", "--dialects", "sagemaker"])
        let answer = try Curl.post(BadInputTests.seven, to: other.url + "/invocations")
        #expect(answer.headers["server-timing"]?.contains(", load;dur=") == true, "\(answer.headers)")
        other.stop()
    }

    @Test("`ocelli limits`, `devices` and `check` print JSON with the values of their text")
    func limitsDevicesAndChecksAreJSON() throws {
        let limits = try ocelli("limits", "--max-body", "30MiB", "--threads", "1", "--json")
        let rows = try #require(limits.json["limits"] as? [[String: Any]])
        func row(_ name: String) -> [String: Any]? { rows.first { $0["name"] as? String == name } }
        #expect(row("max_body")?["value"] as? Int == 30 << 20 && row("max_body")?["text"] as? String == "30MiB")
        #expect(row("threads")?["value"] as? Int == 1 && row("threads")?["reason"] as? String == "as configured")
        let text = try ocelli("limits", "--max-body", "30MiB", "--threads", "1").text
        #expect(text.split(separator: "\n").count == rows.count)
        #expect(
            rows.allSatisfy { $0["value"] is Double && $0["lowered"] is Bool && !($0["name"] as? String ?? "").isEmpty }
        )
        let devices = try ocelli("devices", "--json")
        let names = (devices.json["devices"] as? [[String: Any]])?.compactMap { $0["name"] as? String } ?? []
        #expect(
            try names.contains("CPU") && names.allSatisfy { try ocelli("devices").text.contains("\($0)  ") }, "\(names)"
        )
        let digits = SharedData.packageRoot.appendingPathComponent("models/digits").path
        let good = try ocelli("check", digits, "--json")
        #expect(good.status == 0 && good.json["good"] as? Bool == true && good.json["name"] as? String == "digits")
        #expect((good.json["inputs"] as? [[String: Any]])?.first?["shape"] as? [Int] == [1, 1, 64, 64], "\(good.text)")
        #expect(good.json["answers"] as? [String] == ["classify", "predict"], "\(good.text)")
        let missing = try ocelli("check", digits, AbsentPath.path, "--json")
        let lines = try missing.text.split(separator: "\n").map {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
        #expect(missing.status == 1 && lines.count == 2 && missing.errors.isEmpty, "\(missing.errors)")
        #expect(lines.last??["good"] as? Bool == false && (lines.last??["problems"] as? [String])?.count == 1)
        let wrong = try ocelli("check", digits, "--against", "x", "--json")
        #expect(wrong.status == 2 && wrong.errors.contains("--json does not go with --against"))
    }

    private static func mountTmpfs(_ size: String, on folder: URL) throws -> Bool {
        try Shell.run("mount", ["-t", "tmpfs", "-o", "size=\(size)", "tmpfs", folder.path]).status == 0
    }

    private static let canMount: Bool = {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-mount-\(UUID().uuidString)")
        guard (try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)) != nil else {
            return false
        }
        defer { try? FileManager.default.removeItem(at: folder) }
        guard (try? mountTmpfs("64k", on: folder)) == true else { return false }
        return (try? Shell.run("umount", ["-l", folder.path]).status) == 0
    }()

    /// With a full disk every start compiles again: the log reports it once, however many models there are.
    @Test(
        "a full cache disk is logged once, however many models there are, and all models are served",
        .enabled(if: canMount, "needs mount(2), to mount a file system that is full"))
    func aFullCacheIsSaidOnce() throws {
        let cache = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-full-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: cache, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: cache) }
        try #require(try Self.mountTmpfs("150k", on: cache))
        defer { _ = try? Shell.run("umount", ["-l", cache.path]) }
        let models = try folder { _ in }
        defer { try? FileManager.default.removeItem(at: models) }
        let daemon = try Daemon(["--models", models.path, "--cache-dir", cache.path])
        let words = "cannot cache the compiled model in \(cache.path) (cache_dir): No space left on device"
        #expect(daemon.waitForLog(words), "\(daemon.log)")
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/models/damaged/classify").topLabel == "7")
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("reload: done"))
        #expect(daemon.stop() == 0)
        #expect(daemon.log.components(separatedBy: words).count == 2, "\(daemon.log)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: cache.path).filter { $0.hasPrefix(".") } == [])
    }

    /// The packaged unit lets only this machine connect: a wider `listen` is reported at start, under the unit only.
    @Test(
        "listening beyond loopback is warned of under the systemd unit, and only there",
        arguments: [
            (["0.0.0.0:0"], true, true), (["[::]:0"], true, true), (["127.0.0.1:0"], true, false),
            (["0.0.0.0:0"], false, false),
        ])
    func aWiderAddressUnderTheUnitIsReported(_ listen: [String], underSystemd: Bool, isReported: Bool) throws {
        let daemon = try Daemon(
            environment: underSystemd ? ["INVOCATION_ID": "0123456789abcdef0123456789abcdef"] : [:],
            waitUntilReady: true, listen: listen[0])
        let words = "the packaged unit allows connections from this machine only"
        #expect(daemon.log.contains(words) == isReported, "\(daemon.log)")
        #expect(daemon.log.contains("extend IPAddressAllow (`systemctl edit ocelli`)") == isReported, "\(daemon.log)")
        daemon.stop()
    }

    @Test("an IPv4 client of a dual-stack socket is logged with its IPv4 address")
    func clientsByIPv4AreLoggedWithTheirIPv4Address() throws {
        let daemon = try Daemon(listen: ":0")
        let port = try #require(daemon.url.split(separator: ":").last)
        #expect(try Curl.run("http://127.0.0.1:\(port)/v1/models").status == 200)
        #expect(daemon.waitForLog(" /v1/models 200"))
        let line = daemon.log.split(separator: "\n").first { $0.contains(" /v1/models 200") } ?? ""
        #expect(line.contains(" 127.0.0.1:"), "\(line)")
        #expect(!daemon.log.contains("ffff:"), "\(line)")
        daemon.stop()
    }

    /// Programs that read the log get the problems as a list.
    @Test("each problem of a model.json is an element of a list in the JSON log")
    func everyProblemIsAnElementOfItsOwnInTheJSONLog() throws {
        let models = try folder { bundle in
            let file = bundle.appendingPathComponent("model.json")
            let text = try String(contentsOf: file, encoding: .utf8)
            let wrong = text.replacingOccurrences(of: "\"format\"", with: "\"fromat\"")
                .replacingOccurrences(of: "\"shape\"", with: "\"shap\"")
            try wrong.write(to: file, atomically: true, encoding: .utf8)
        }
        defer { try? FileManager.default.removeItem(at: models) }
        let daemon = try Daemon(["--models", models.path, "--log-format", "json"])
        daemon.stop()
        let lines = daemon.log.split(separator: "\n").compactMap { line in
            (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any]
        }
        let problems = lines.compactMap { $0["problems"] as? [String] }
        #expect(problems.count == 1, "\(daemon.log)")
        #expect((problems.first?.count ?? 0) >= 2, "\(problems)")
        for problem in problems.joined() {
            #expect(problem.contains(": ") && !problem.contains("; inputs"), "\(problem)")
        }
    }

    @Test("a port that is taken ends the start with a message that names the address")
    func aTakenPortIsSaidAtOnce() throws {
        let daemon = try Daemon()
        let address = String(daemon.url.dropFirst("http://".count))
        let result = try ocelli("serve", "--listen", address)
        #expect(result.status != 0)
        #expect(result.errors.contains(address), "\(result.errors)")
        daemon.stop()
    }
}

import Foundation
import TestSupport
import Testing

/// Typed clients (`ocelli client`): they compile with warnings as errors, pass `mypy --strict`, and answer as curl
/// does.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TypedClientTests {
    private let work = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-c-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: work, withIntermediateDirectories: true) }

    private func client(_ model: String, _ language: String, _ file: String, _ more: [String] = []) throws
        -> Shell.Result
    {
        try Shell.run(
            Daemon.binary.path, ["client", model, "--language", language, "-o", work.path + "/" + file] + more)
    }

    // MARK: Programs

    /// Compiles all Swift files of the work folder, as one module, and runs the program.
    private func runSwift(_ main: String, _ arguments: [String]) throws -> Shell.Result {
        try Data(main.utf8).write(to: work.appendingPathComponent("main.swift"))
        let files = try FileManager.default.contentsOfDirectory(atPath: work.path).filter { $0.hasSuffix(".swift") }
        let compiled = try Shell.run(
            "swiftc", ["-swift-version", "6", "-warnings-as-errors", "-o", "program"] + files.sorted(), directory: work)
        #expect(compiled.status == 0, "\(compiled.text)\(compiled.errors.suffix(6000))")
        return try Shell.run(work.path + "/program", arguments)
    }

    private func runPython(_ script: String, _ arguments: [String]) throws -> Shell.Result {
        try Data(script.utf8).write(to: work.appendingPathComponent("main.py"))
        return try Shell.run("python3", ["-B", work.path + "/main.py"] + arguments)
    }

    private static let swiftStart = """
        import Foundation

        func picture(_ path: String) -> Data { try! Data(contentsOf: URL(fileURLWithPath: path)) }
        let url = CommandLine.arguments[1]

        """
    private static let pythonStart = """
        import sys
        from base64 import b64encode

        def picture(path: str) -> bytes: return open(path, "rb").read()
        def base64(data: bytes) -> str: return b64encode(data).decode()
        url = sys.argv[1]

        """

    // MARK: Answers

    /// The value at a path, as text.
    private func value(_ path: String, in json: Any) -> String {
        var found: Any? = json
        for part in path.split(separator: ".") {
            switch (found, part) {
            case (let list as [Any], "#"): found = list.count
            case (let list as [Any], _): found = Int(part).flatMap { list.indices.contains($0) ? list[$0] : nil }
            // The greatest of numbers by key.
            case (let object as [String: Double], "*"): found = object.values.max()
            case (let object as [String: Any], _): found = object[String(part)]
            default: found = nil
            }
        }
        return found.map { "\($0)" } ?? "nothing at \(path)"
    }

    private func isSame(_ one: String, _ other: String) -> Bool {
        if one == other { return true }
        guard let one = Double(one), let other = Double(other) else { return false }
        return abs(one - other) <= 1e-5 * max(1, abs(other))
    }

    private func compare(_ cases: [TypedClientCase], _ daemon: Daemon) throws {
        var swift = Self.swiftStart, python = Self.pythonStart, expected: [(String, String)] = []
        for (index, one) in cases.enumerated() {
            for (language, ending) in [("swift", "swift"), ("python", "py")] {
                let made = try client(one.path, language, one.type + "." + ending)
                #expect(made.status == 0 && made.text.contains("wrote "), "\(one.model): \(made.errors)")
            }
            swift += "let client\(index) = \(one.type)(url: \(index % 2 == 0 ? "url" : "URL(string: url)!"))\n"
            swift +=
                "do {\n    let output = try await client\(index).prediction(input: \(one.type)Input(\(one.swift)))\n"
            swift += one.members.map { "    print(\($0.swift))\n" }.joined() + "}\n"
            python += "from \(one.type) import \(one.type), \(one.type)Input\n"
            python += "output = \(one.type)(url).prediction(\(one.type)Input(\(one.python)))\n"
            python += one.members.map { "print(\($0.python))\n" }.joined()
            let arguments = one.body.hasPrefix("@") ? [] : ["-H", "Content-Type: application/json"]
            let answer = try Curl.run(
                daemon.url + "/v1/models/\(one.model)/\(one.route)", arguments + ["--data-binary", one.body])
            #expect(answer.status == 200, "\(one.model): \(answer.text.prefix(500))")
            for member in one.members {
                let wanted =
                    switch member.expected {
                    case .answered(let path): value(path, in: answer.json)
                    case .text(let text): text
                    }
                expected.append(("\(one.model): \(member.swift)", wanted))
            }
        }
        for (language, result) in [
            ("Swift", try runSwift(swift, [daemon.url])), ("Python", try runPython(python, [daemon.url])),
        ] {
            #expect(result.status == 0, "\(language): \(result.errors.suffix(3000))")
            let lines = result.text.split(separator: "\n").map(String.init)
            #expect(lines.count == expected.count, "\(language)")
            for ((what, wanted), found) in zip(expected, lines) {
                #expect(
                    isSame(found, wanted), "\(language), \(what): \(found.prefix(200)), expected \(wanted.prefix(200))")
            }
        }
    }

    @Test(
        "typed clients in Swift and Python answer as curl does, for models of every kind",
        .enabled(if: Shell.has("swiftc"), "swiftc is not on PATH"))
    func clients_answerAsCurl() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        // A pipeline needs the models of its stages.
        let folders = [TypedClientCase.fixtures + "/pipelines"]
        let daemon = try Daemon(
            TypedClientCase.flags(TypedClientCase.all, folders: folders) + ["--access-log=false"])
        try compare(TypedClientCase.all, daemon)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test(
        "typed clients of shared Core ML files answer as curl does: labels, a table, a picture to a picture",
        .enabled(if: Shell.has("swiftc"), "swiftc is not on PATH"),
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func clientsOfSharedFiles_answerAsCurl() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let daemon = try Daemon(
            TypedClientCase.flags(TypedClientCase.shared, folders: []) + ["--access-log=false"])
        try compare(TypedClientCase.shared, daemon)
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test(
        "typed clients in Python pass mypy --strict",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func pythonClients_passMypy() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let hostile = try hostileBundle()
        for one in TypedClientCase.all { #expect(try client(one.path, "python", one.type + ".py").status == 0) }
        #expect(try client(hostile.path, "python", "hostile.py").status == 0)
        let files = try FileManager.default.contentsOfDirectory(atPath: work.path).filter { $0.hasSuffix(".py") }
        #expect(files.count == TypedClientCase.all.count + 1)
        let checked = try PythonClients.tool("mypy", ["--strict"] + files.map { work.path + "/" + $0 })
        #expect(checked.status == 0, "\(checked.text)\(checked.errors)")
    }

    // MARK: Hostile texts

    private static let hostileText = "x\"y'\\(exit(3)) */ /* \"\"\" # \n\r\u{85}\u{2028}\u{2029}\u{202E}${exit 3} end"

    /// The digits classifier with labels and a description that try to end strings and comments.
    private func hostileBundle() throws -> URL {
        let bundle = work.appendingPathComponent("class.1")
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("models/digits"), to: bundle)
        let file = bundle.appendingPathComponent("model.json")
        let text = try Data(contentsOf: file)
        let tree = try #require(
            try JSONSerialization.jsonObject(with: text) as? [String: Any])
        var manifest = tree
        for key in ["details", "author", "license"] { manifest[key] = Self.hostileText }
        var outputs = try #require(tree["outputs"] as? [[String: Any]])
        outputs[0]["labels"] = "hostile.json"
        manifest["outputs"] = outputs
        let labels = (0..<10).map { $0 == 7 ? Self.hostileText : "\(Self.hostileText) \($0)" }
        try JSONSerialization.data(withJSONObject: labels).write(to: bundle.appendingPathComponent("hostile.json"))
        try JSONSerialization.data(withJSONObject: manifest).write(to: file)
        return bundle
    }

    @Test(
        "labels and descriptions never end a string or a comment of a typed client, and keep their text",
        .enabled(if: Shell.has("swiftc"), "swiftc is not on PATH"))
    func hostileTexts_stayTexts() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let bundle = try hostileBundle()
        let daemon = try Daemon(["--model", "class.1=\(bundle.path)"])
        #expect(try client(bundle.path, "swift", "hostile.swift").status == 0)
        #expect(try client(bundle.path, "python", "hostile.py").status == 0)
        let swift = try runSwift(
            Self.swiftStart + """
                let output = try await class_1(url: url).prediction(image: picture("\(TypedClientCase.seven)"))
                print(Data(output.classLabel.utf8).base64EncodedString(), output.classLabelCase != nil)
                """, [daemon.url])
        let python = try runPython(
            Self.pythonStart + """
                from hostile import class_1, class_1Input
                output = class_1(url).prediction(class_1Input(picture("\(TypedClientCase.seven)")))
                print(base64(output.classLabel.encode()), output.classLabelCase is not None)
                """, [daemon.url])
        let wanted = Data(Self.hostileText.utf8).base64EncodedString()
        #expect(swift.status == 0 && swift.text == "\(wanted) true\n", "\(swift.text)\(swift.errors)")
        #expect(python.status == 0 && python.text == "\(wanted) True\n", "\(python.text)\(python.errors)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    // MARK: Taught models, errors

    @Test(
        "a typed client of a taught model has its classes, while the daemon uses its folder",
        .enabled(if: Shell.has("swiftc"), "swiftc is not on PATH"))
    func taughtModels_haveClients() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let taught = try TaughtDaemon()
        try taught.create("parts")
        let flags = ["--taught-dir", taught.store.path]
        #expect(try client("parts", "swift", "empty.swift", flags).status == 0)
        let empty = try String(contentsOf: work.appendingPathComponent("empty.swift"), encoding: .utf8)
        #expect(!empty.contains("enum partsLabel"))
        try FileManager.default.removeItem(at: work.appendingPathComponent("empty.swift"))
        let pictures = TypedClientCase.fixtures + "/observations/picture"
        for (label, number) in [("bolt M4", 0), ("bolt M4", 1), ("nut", 2), ("nut", 3)] {
            let added = try Curl.run(
                taught.url + "/v1/taught/parts/examples?label=" + label.replacingOccurrences(of: " ", with: "+"),
                ["--data-binary", "@\(pictures)\(number).png"])
            #expect(added.status == 201, "\(added.text)")
        }
        #expect(try client("parts", "swift", "parts.swift", flags).status == 0)
        #expect(try client("parts", "python", "parts.py", flags).status == 0)
        let answer = try Curl.run(taught.url + "/v1/models/parts/classify", ["--data-binary", "@\(pictures)0.png"])
        let wanted = "\(answer.topLabel) \(answer.topConfidence)"
        let swift = try runSwift(
            Self.swiftStart + """
                let output = try await parts(url: url).prediction(image: picture("\(pictures)0.png"))
                print(output.classLabel, output.classLabelProbs[output.classLabel] ?? -1)
                if output.classLabelCase != (output.classLabel == "nut" ? .nut : .bolt_M4) { exit(4) }
                """, [taught.url])
        let python = try runPython(
            Self.pythonStart + """
                from parts import parts, partsInput, partsLabel
                output = parts(url).prediction(partsInput(image=picture("\(pictures)0.png")))
                print(output.classLabel, output.classLabelProbs[output.classLabel])
                assert partsLabel.bolt_M4.value == "bolt M4" and output.distance is not None
                """, [taught.url])
        #expect(swift.status == 0 && swift.text == wanted + "\n", "\(swift.text)\(swift.errors), expected \(wanted)")
        #expect(python.status == 0 && python.text == wanted + "\n", "\(python.text)\(python.errors)")
    }

    /// A bad picture, a missing token, a model that is not there, an overloaded server, a server that is not there;
    /// then a path of a proxy with a token, parameters, a redirect, and an answer that is no model's.
    @Test(
        "typed clients have the server's errors as values, and send the token to their own address only",
        .enabled(if: Shell.has("swiftc"), "swiftc is not on PATH"))
    func errors_areTyped() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let tokens = work.appendingPathComponent("tokens")
        let token = String(repeating: "t", count: 40)
        try Data("infer \(token)\n".utf8).write(to: tokens)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: tokens.path)
        let digits = SharedData.packageRoot.appendingPathComponent("models/digits").path
        let daemon = try Daemon(["--model", "digits=\(digits)", "--tokens-file", tokens.path])
        #expect(try client(digits, "swift", "digits.swift").status == 0)
        #expect(try client(digits, "python", "digits.py").status == 0)
        let proxy = try FakeProxy(work)
        defer { proxy.stop() }
        let swift = try runSwift(
            Self.swiftStart + """
                let proxy = CommandLine.arguments[2], token = CommandLine.arguments[3]
                func ask(_ client: digits, _ image: Data, _ query: [String: String] = [:]) async {
                    do {
                        let output = try await client.prediction(input: digitsInput(image: image), query: query)
                        print(output.classLabel)
                    } catch let error as digitsError {
                        print(error.status, error.code, error.requestID != nil, error.retryAfter ?? -1)
                    } catch { print(type(of: error)) }
                }
                let seven = picture("\(TypedClientCase.seven)")
                await ask(digits(url: url), seven)
                await ask(digits(url: url, token: token), seven)
                await ask(digits(url: url, token: token), Data("XX".utf8))
                await ask(digits(url: url, token: token, model: "nothing"), seven)
                await ask(digits(url: url, token: token), seven, ["colour": "red & blue"])
                for path in ["base/ok", "base/overloaded/", "base/redirect", "base/nonsense", "base/html"] {
                    await ask(digits(url: proxy + path, token: token), seven, ["timeout_ms": "5000"])
                }
                await ask(digits(url: "http://127.0.0.1:1", timeout: 5), seven)
                await ask(digits(url: proxy + "base/slow", timeout: 1), seven)
                await ask(digits(url: "nothing"), seven)
                """, [daemon.url, proxy.url, token])
        let python = try runPython(
            Self.pythonStart + """
                from digits import digits, digitsError, digitsInput
                proxy, token = sys.argv[2:]
                def ask(client, image, query=None):
                    try:
                        print(client.prediction(digitsInput(image), query).classLabel)
                    except digitsError as error:
                        print(error.status, error.code, "true" if error.request_id else "false", error.retry_after or -1)
                    except OSError: print("URLError")
                seven = picture("\(TypedClientCase.seven)")
                ask(digits(url), seven)
                ask(digits(url, token=token), seven)
                ask(digits(url, token=token), b"XX")
                ask(digits(url, token=token, model="nothing"), seven)
                ask(digits(url, token=token), seven, {"colour": "red & blue"})
                for path in ["base/ok", "base/overloaded/", "base/redirect", "base/nonsense", "base/html"]:
                    ask(digits(proxy + path, token=token), seven, {"timeout_ms": "5000"})
                ask(digits("http://127.0.0.1:1", timeout=5), seven)
                ask(digits(proxy + "base/slow", timeout=1), seven)
                try: digits("nothing")
                except ValueError: print("URLError")
                """, [daemon.url, proxy.url, token])
        let wanted = [
            "401 unauthorized true -1", "7", "415 unsupported_media_type true -1", "404 model_not_found true -1",
            "400 bad_request true -1", "3", "503 overloaded true 2.5", "307 http_307 false -1",
            "200 invalid_answer false -1", "502 http_502 false -1", "URLError", "URLError", "URLError",
        ]
        for (language, result) in [("Swift", swift), ("Python", python)] {
            let lines = result.text.split(separator: "\n").map { $0.replacingOccurrences(of: "-1.0", with: "-1") }
            #expect(result.status == 0 && lines == wanted, "\(language): \(result.text)\(result.errors)")
        }
        // Of each language: the path behind the base, the token, the parameters; nothing at the redirect's target.
        let requests = try proxy.requests()
        let path = "/v1/models/digits/predict?timeout_ms=5000"
        let paths = ["ok", "overloaded", "redirect", "nonsense", "html"].map { "/base/\($0)\(path) Bearer \(token)" }
        #expect(requests.filter { !$0.contains("/slow/") } == paths + paths, "\(requests)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test("`ocelli client` names mistakes, and replaces only what it wrote")
    func mistakes_areNamed() throws {
        defer { try? FileManager.default.removeItem(at: work) }
        let digits = SharedData.packageRoot.appendingPathComponent("models/digits").path
        for (arguments, words) in [
            (["client"], "expected MODEL and --language"), (["client", digits], "expected MODEL and --language"),
            (["client", digits, "--language", "rust"], "expected swift or python, found \"rust\""),
            (["client", digits, digits, "--language", "swift"], "one MODEL at a time"),
        ] {
            let result = try Shell.run(Daemon.binary.path, arguments)
            #expect(result.status == 2 && result.errors.contains(words), "\(arguments): \(result.errors)")
        }
        let absent = try Shell.run(Daemon.binary.path, ["client", "./nothing", "--language", "swift"])
        #expect(absent.status == 1 && absent.errors.contains("./nothing does not exist"), "\(absent.errors)")
        let mine = work.appendingPathComponent("mine.py")
        try Data("print(1)\n".utf8).write(to: mine)
        let kept = try client(digits, "python", "mine.py")
        #expect(kept.status == 1 && kept.errors.contains("is not a client made by"), "\(kept.errors)")
        #expect(try Data(contentsOf: mine) == Data("print(1)\n".utf8))
        for _ in 0..<2 { #expect(try client(digits, "python", "again.py").status == 0) }
        let printed = try Shell.run(Daemon.binary.path, ["client", digits, "--language", "python"])
        #expect(printed.output == (try Data(contentsOf: work.appendingPathComponent("again.py"))))
    }
}

/// A server with a path in front of the routes, as a proxy has it, which keeps the requests that it gets.
private final class FakeProxy {
    let url: String
    private let process = Process()
    private let input = Pipe()
    private let log: URL

    private static let script = """
        import http.server, json, os, sys, threading, time

        # It ends with the test, which holds its standard input.
        threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *arguments): pass
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                with open(sys.argv[1], "a") as log: log.write(f"{self.path} {self.headers['Authorization']}\\n")
                kind = self.path.split("/")[2]
                if kind == "slow": time.sleep(3)
                status = {"overloaded": 503, "redirect": 307, "html": 502}.get(kind, 200)
                body = {
                    "overloaded": b'{"error": "full", "code": "overloaded", "request_id": "r"}', "nonsense": b'{"outputs": 3}',
                    "html": b"<html>bad gateway</html>",
                }.get(kind, b'{"outputs": {"probabilities": {"3": 0.75, "4": null, "5": 0.25}}}')
                self.send_response(status)
                if kind == "overloaded":
                    self.send_header("Retry-After", "2.5")
                    self.send_header("X-Request-ID", "r")
                if kind == "redirect": self.send_header("Location", "/elsewhere/ok")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        print(server.server_address[1], flush=True)
        server.serve_forever()
        """

    init(_ work: URL) throws {
        log = work.appendingPathComponent("requests")
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", Self.script, log.path]
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = input
        try process.run()
        let port = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        url = "http://127.0.0.1:\(port.trimmingCharacters(in: .whitespacesAndNewlines))/"
    }

    /// The paths and tokens of the requests.
    func requests() throws -> [String] {
        try String(contentsOf: log, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}

import Foundation
import TestSupport
import Testing

/// The examples of docs/http-api.md run with the real binary.
@Suite(.serialized)
struct HTTPDocumentTests {
    private let document: HTTPDocument

    init() throws { document = try HTTPDocument() }

    @Test(
        "each example command of docs/http-api.md gets the status, error code and JSON members shown",
        .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
    func theExamplesAnswerAsTheySay() throws {
        let root = SharedData.packageRoot
        let tokens = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        try "all a-token-of-this-test".write(to: tokens, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: tokens) }
        // The document's own command, with a shorter timeout for the example of a slow client.
        let models = ["--models", root.path + "/models", "--models", root.path + "/Tests/Fixtures/detectors"]
        #expect(document.text.contains("ocelli serve --models models --models Tests/Fixtures/detectors"))
        let taught = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: taught) }
        let kept = taught.path + "-kept"
        defer { try? FileManager.default.removeItem(atPath: kept) }
        let embedder = "embedder=" + root.path + "/Tests/Fixtures/observations/embedder"
        let reader = "ocr=" + root.path + "/Tests/Fixtures/readers/models/bars"
        let fasteners = "fasteners=" + root.path + "/Tests/Fixtures/updatable/dense-classifier.mlmodel"
        let daemon = try Daemon(
            models + [
                "--model", embedder, "--model", reader, "--model", fasteners, "--taught-dir", taught.path,
                "--keep-dir", kept, "--drift",
                "--body-grace", "1s",
            ])
        let guarded = try Daemon(["--tokens-file", tokens.path])
        for example in try document.examples() {
            let url = example.needsTokens ? guarded.url : daemon.url
            try run(example, port: try #require(url.split(separator: ":").last), in: root)
        }
        #expect(daemon.stop() == 0)
        #expect(guarded.stop() == 0)
    }

    /// The programs of the document are run as if copied; the first line of output is the digit.
    @Test(
        "the Python and JavaScript programs of docs/http-api.md run and print the digit 7",
        .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)),
        .enabled(if: PythonClients.isAvailable && Shell.has("node"), "needs node, and what pip installs for the tests"))
    func theProgramsRun() throws {
        let daemon = try Daemon()
        let port = try #require(daemon.url.split(separator: ":").last)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "ocelli-programs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let blocks = document.text.matches(of: /```(python|js)\n([\s\S]*?)```/)
        #expect(blocks.count == 3)
        for (number, block) in blocks.enumerated() {
            let isPython = block.output.1 == "python"
            let program = folder.appendingPathComponent("program\(number)." + (isPython ? "py" : "mjs"))
            try block.output.2.replacing("localhost:8080", with: "127.0.0.1:\(port)").write(
                to: program, atomically: true, encoding: .utf8)
            let root = SharedData.packageRoot
            let result =
                try isPython
                ? PythonClients.run(program, in: root) : Shell.run("node", [program.path], directory: root)
            #expect(result.status == 0, "\(block.output.2)\(result.errors)")
            let first = result.text.split(separator: "\n").first ?? ""
            #expect(first == "7" || first.hasPrefix("7 0.98"), "\(block.output.2)\(result.text)")
        }
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    private func run(_ example: HTTPDocument.Example, port: Substring, in root: URL) throws {
        // `-i` shows the head of an answer; telnet shows it anyway.
        let isRaw = example.command.contains("telnet:")
        let command = example.command.replacing("localhost:8080", with: "localhost:\(port)")
            .replacing("curl ", with: isRaw ? "curl -sS --max-time 60 " : "curl -sSi --max-time 60 ")
        let result = try Shell.run("bash", ["-c", command], directory: root)
        var rest = result.text[...]
        // 100 (Continue) comes before the answer.
        while rest.hasPrefix("HTTP/1.1 1"), let end = rest.range(of: "\r\n\r\n") { rest = rest[end.upperBound...] }
        let status = Int(rest.split(separator: " ", maxSplits: 2).dropFirst().first ?? "") ?? 0
        #expect(status == example.status, "\(example.command)\n\(result.text.prefix(600))\(result.errors)")
        let body = rest.range(of: "\r\n\r\n").map { Data(rest[$0.upperBound...].utf8) } ?? Data()
        let json = try? JSONSerialization.jsonObject(with: body)
        if status >= 400 {
            let code = (json as? [String: Any])?["code"] as? String ?? ""
            #expect(!code.isEmpty, "\(example.command)")
            if !example.code.isEmpty { #expect(code == example.code, "\(example.command)") }
        }
        if let shape = example.shape {
            let problem = Self.difference(shape, json as Any, at: "")
            #expect(problem == nil, "\(example.command): \(problem ?? "")")
        }
    }

    /// The place of the first member or type that the document shows and the answer lacks; values are not compared.
    private static func difference(_ shown: Any, _ found: Any, at place: String) -> String? {
        switch (shown, found) {
        case (let shown as [String: Any], let found as [String: Any]):
            for (key, value) in shown {
                guard let member = found[key] else { return "\(place)/\(key) is missing" }
                if let problem = difference(value, member, at: "\(place)/\(key)") { return problem }
            }
            return nil
        case (let shown as [Any], let found as [Any]):
            guard let one = shown.first else { return nil }
            guard let other = found.first else { return "\(place) is empty" }
            return difference(one, other, at: place + "/0")
        case (is String, is String), (is NSNumber, is NSNumber), (is NSNull, _): return nil
        default: return "\(place) is of another type: \(found)"
        }
    }
}

import Foundation
import HTTPWire
import Inference
import InferenceService
internal import ServiceCore
import TestSupport
import Testing
internal import WireFormats

/// docs/http-api.md has every route and every error code, and its examples run with the real binary.
@Suite(.serialized)
struct HTTPDocumentTests {
    private let document: String

    init() throws {
        document = try String(
            contentsOf: SharedData.packageRoot.appendingPathComponent("docs/http-api.md"), encoding: .utf8)
    }

    // MARK: Tables

    /// The methods of each path of the table of routes.
    private static let methods = Dictionary(
        uniqueKeysWithValues: Service.routes.resources.filter { $0.dialect == nil }.flatMap { resource in
            resource.templates.map { ($0.text, resource.methods.map(\.method.rawValue)) }
        })

    /// The cells of the tables' rows, without the headings.
    private var rows: [[String]] {
        document.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { line in
            line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    private static func code(in cell: String) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
            .map { String($0.element) }
    }

    @Test("the tables of docs/http-api.md have each route with its methods")
    func everyRouteHasItsMethodsInATable() {
        var found: [String: [String]] = [:]
        for row in rows where row.count >= 2 {
            let methods = row[1].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            // The row that refers to a table further down names no methods.
            guard !methods.isEmpty else { continue }
            for path in Self.code(in: row[0]) where path.hasPrefix("/") { found[path] = methods }
        }
        #expect(found == Self.methods)
    }

    @Test("docs/http-api.md has each error code with its status, and Retry-After where the answer has it")
    func everyErrorCodeHasItsStatusInTheTable() {
        var found: [String: Int] = [:], retried: Set<String> = []
        for row in rows {
            guard let status = row.first.flatMap({ Int($0) }), row.count >= 3 else { continue }
            for code in Self.code(in: row[1]) {
                found[code] = status
                if row[2].contains("`Retry-After`") { retried.insert(code) }
            }
        }
        let expected = ErrorCode.allCases.map { ($0.rawValue, $0.status.code) }
        #expect(found == Dictionary(expected) { first, _ in first })
        // Each 429 has a time of its own.
        let timed = ErrorCode.allCases.filter { $0.retryAfter != nil || $0 == .tooManyRequests }
        #expect(retried == Set(timed.map(\.rawValue)))
    }

    // MARK: Examples

    /// `$ COMMAND    # STATUS CODE`
    private struct Example {
        let command: String
        let status: Int
        /// The error's code, if the answer is an error.
        let code: String
        /// True if the daemon has tokens.
        var needsTokens: Bool { status == 401 }
        /// The JSON after the last example, which shows its answer.
        var shape: Any?
    }

    private var examples: [Example] {
        var examples: [Example] = []
        var block: [Substring]?
        // JSON shows the answer of the example before it, in the same section.
        var section = 0
        for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
            if line == "```json" {
                block = []
            } else if line == "```", let json = block {
                let shape = try? JSONSerialization.jsonObject(with: Data(json.joined(separator: "\n").utf8))
                if shape == nil { Issue.record("not JSON: \(json.joined(separator: "\n"))") }
                if examples.count > section, let last = examples.indices.last, examples[last].shape == nil,
                    examples[last].status == 200
                {
                    examples[last].shape = shape
                }
                block = nil
            } else if block != nil {
                block?.append(line)
            } else if line.hasPrefix("## ") {
                section = examples.count
            } else if line.hasPrefix("$ "), let hash = line.range(of: "# ", options: .backwards) {
                let words = line[hash.upperBound...].split(separator: " ")
                examples.append(
                    Example(
                        command: String(line[..<hash.lowerBound].dropFirst(2)), status: Int(words.first ?? "") ?? 0,
                        code: words.count > 1 ? String(words[1]) : ""))
            }
        }
        return examples
    }

    /// Answers that no command can cause reliably; the document shows their JSON.
    private static let shown: Set<ErrorCode> = [
        .tooManyRequests, .overloaded, .deadlineExceeded, .shuttingDown, .internal, .storageFull,
    ]

    @Test("docs/http-api.md has an example of each route and of each error")
    func everyRouteAndEveryErrorHasAnExample() {
        var labels: Set<String> = [], codes: Set<String> = []
        for example in examples {
            codes.insert(example.code)
            guard let start = example.command.range(of: "localhost:8080") else { continue }
            let path = example.command[start.upperBound...].prefix { !"? '\"".contains($0) }
            if example.code.isEmpty, let match = Service.routes.match(String(path)) {
                labels.insert(match.resource.label)
            }
        }
        #expect(labels == Set(Service.routes.resources.filter { $0.dialect == nil }.map(\.label)))
        for code in ErrorCode.allCases {
            let isShown = document.contains("\"code\": \"\(code.rawValue)\"")
            #expect(Self.shown.contains(code) ? isShown : codes.contains(code.rawValue), "\(code)")
        }
    }

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
        #expect(document.contains("ocelli serve --models models --models Tests/Fixtures/detectors"))
        let taught = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: taught) }
        let embedder = "embedder=" + root.path + "/Tests/Fixtures/observations/embedder"
        let fasteners = "fasteners=" + root.path + "/Tests/Fixtures/updatable/dense-classifier.mlmodel"
        let daemon = try Daemon(
            models + ["--model", embedder, "--model", fasteners, "--taught-dir", taught.path, "--body-grace", "1s"])
        let guarded = try Daemon(["--tokens-file", tokens.path])
        for example in examples {
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
        let blocks = document.matches(of: /```(python|js)\n([\s\S]*?)```/)
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

    private func run(_ example: Example, port: Substring, in root: URL) throws {
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

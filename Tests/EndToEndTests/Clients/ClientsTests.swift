import Foundation
import TestSupport
import Testing

/// Each line of the table of docs/clients.md gets the documented answer.
@Suite(.serialized) struct ClientsDocumentTests {
    private let document: ClientsDocument

    init() throws { document = try ClientsDocument() }

    @Test(
        "each curl command of docs/clients.md gets the status and the words of its line",
        .enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
    func everyLineAnswersAsItSays() throws {
        let root = SharedData.packageRoot
        let dialects = "tfserving,sagemaker,vertex,deepstack,openai,labelstudio"
        #expect(
            document.text.contains(
                "ocelli serve --models models --models Tests/Fixtures/detectors --dialects \(dialects)"))
        let daemon = try Daemon(
            [
                "--models", root.path + "/models", "--models", root.path + "/Tests/Fixtures/detectors", "--model",
                "face=\(root.path)/Tests/Fixtures/observations/ssd_few", "--model",
                "embedder=\(root.path)/Tests/Fixtures/observations/embedder", "--dialects", dialects, "--cors-origins",
                "https://app.example",
            ], environment: ["AIP_HEALTH_ROUTE": "/aip/health", "AIP_PREDICT_ROUTE": "/aip/predict"])
        let address = daemon.url.dropFirst("http://".count)
        for line in document.lines {
            let command = line.command.replacing("localhost:8080", with: address)
                .replacing("curl ", with: "curl -sSi --max-time 60 ")
            let result = try Shell.run("bash", ["-c", command], directory: root)
            var rest = result.text[...]
            while rest.hasPrefix("HTTP/1.1 1"), let end = rest.range(of: "\r\n\r\n") { rest = rest[end.upperBound...] }
            let status = Int(rest.split(separator: " ", maxSplits: 2).dropFirst().first ?? "") ?? 0
            #expect(
                status == line.status && rest.contains(line.words),
                "\(line.command)\n\(result.text.prefix(600))\(result.errors)")
        }
        #expect(daemon.waitForLog("trace_id=4bf92f3577b34da6a3ce929d0e0e4736"))
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }
}

/// Clients of other servers with the daemon, and pages of other origins in a browser.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized) struct ClientsTests {
    private static let root = SharedData.packageRoot

    @Test(
        "a Python client classifies with bodies of TensorFlow Serving and SageMaker",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)))
    func tensorFlowServingsAndSageMakersBodies() throws {
        let daemon = try Daemon(["--dialects", "tfserving,sagemaker"])
        let result = try PythonClients.run(
            "tfserving_client.py", [daemon.url, "digits", BadInputTests.seven.path])
        #expect(result.status == 0 && result.text == "ok 7\n", "\(result.text)\(result.errors)\(daemon.log)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test(
        "OpenAI's package gets the vectors of texts and pictures, and Ocelli's errors",
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)),
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func openAIsPackage() throws {
        let words = try #require(SharedData.folder).appendingPathComponent("words")
        let daemon = try Daemon(
            ["clip-split", "sentence-mean"].flatMap { ["--model", "\($0)=\(words.path)/models/\($0)"] } + [
                "--dialects", "openai", "--max-batch", "4",
            ])
        let result = try PythonClients.run("openai_client.py", [daemon.url, words.path])
        #expect(
            result.status == 0 && result.text.hasPrefix("ok "), "\(result.text)\(result.errors)\(daemon.log)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test(
        "the client packages of KServe, SageMaker, DeepStack and CodeProject.AI get a picture's answers",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(if: PythonClients.areServersAvailable, Comment(rawValue: PythonClients.serversAbsence)))
    func ownClientsOfOtherServers() throws {
        let root = Self.root.path
        let daemon = try Daemon(
            [
                "--models", root + "/models", "--models", root + "/Tests/Fixtures/detectors", "--model",
                "face=\(root)/Tests/Fixtures/observations/ssd_few", "--dialects",
                "tfserving,sagemaker,vertex,deepstack",
            ], environment: ["AIP_PREDICT_ROUTE": "/predict"])
        let result = try PythonClients.run(
            "servers_client.py", [daemon.url, "digits", BadInputTests.seven.path], withServers: true)
        // SageMaker's package prints lines about its settings before it.
        #expect(
            result.status == 0 && result.text.hasSuffix("ok 7\n"), "\(result.text)\(result.errors)\(daemon.log)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    /// A cat in a photograph from a camera, found by the detector that Frigate's users have.
    @Test(
        "a DeepStack client, as in Frigate, finds the cat in a photograph",
        .enabled(if: LongTests.areEnabled, Comment(rawValue: LongTests.absence)),
        .enabled(if: PythonClients.isAvailable, Comment(rawValue: PythonClients.absence)),
        .enabled(if: SharedData.isAvailable, Comment(rawValue: SharedData.absence)))
    func frigatesDetector() throws {
        let cases = try ObservationCases(only: ["ssd_mobilenet_v1"])
        defer { cases.remove() }
        let daemon = try Daemon(["--models", cases.models.path, "--dialects", "deepstack"])
        let picture = try #require(SharedData.folder).appendingPathComponent("images/cat_720p.jpg")
        // The timeout is for a test machine, not for a camera.
        let result = try PythonClients.run(
            "deepstack_client.py", [daemon.url + "/v1/vision/detection", picture.path, "cat", "320", "30"])
        #expect(result.status == 0 && result.text.hasPrefix("cat "), "\(result.text)\(result.errors)\(daemon.log)")
        #expect(daemon.stop() == 0, "\(daemon.log)")
    }

    @Test(
        "a page of an origin in --cors-origins may fetch answers in Chromium, with a bearer token",
        .enabled(if: PageTests.chromium != nil, "Chromium is not installed (apt install chromium)"))
    func aPageOfAnotherOriginMayFetch() throws {
        let token = "a-token-of-the-page-0123456789abcdef"
        let tokens = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-tokens-\(UUID().uuidString)")
        try "all \(token)\n".write(to: tokens, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: tokens) }
        let reserved = try ReservedPort(), port = reserved.number
        let daemon = try Daemon(["--tokens-file", tokens.path, "--cors-origins", "http://127.0.0.1:\(port)"])
        let result = try Shell.run(
            Self.root.appendingPathComponent("Tests/Tools/browse-origin").path,
            [try #require(PageTests.chromium), daemon.url, "\(port)", token, BadInputTests.seven.path, "7"])
        #expect(result.status == 0, "\(result.text)\(result.errors)\(daemon.log)")
        daemon.stop()
    }

    // MARK: Vertex AI's port

    @Test("AIP_HTTP_PORT sets the port with the vertex dialect, unless --listen is given; a bad port is refused")
    func vertexSetsThePort() throws {
        let reserved = try ReservedPort(), port = reserved.number
        // Without the helper's --listen, which takes precedence over the variable.
        let ignored = try Daemon(["--dialects", "vertex"], environment: ["AIP_HTTP_PORT": "\(port)"])
        #expect(ignored.log.contains("AIP_HTTP_PORT is \(port), but listen is set"), "\(ignored.log)")
        #expect(!ignored.url.hasSuffix(":\(port)"))
        ignored.stop()
        let daemon = try Daemon(
            [Daemon.binary.path, "serve", "--dialects", "vertex"], environment: ["AIP_HTTP_PORT": "\(port)"],
            launcher: ["sh", "-c", "shift 4; exec \"$@\"", "sh"])
        #expect(daemon.log.contains("the port of AIP_HTTP_PORT is used, on all addresses"), "\(daemon.log)")
        #expect(try Curl.run("http://127.0.0.1:\(port)/healthz").status == 200)
        daemon.stop()
        #expect(throws: Daemon.Failure.self) {
            try Daemon(["--dialects", "vertex"], environment: ["AIP_HTTP_PORT": "eighty"])
        }
    }
}

import Foundation
import TestSupport
import Testing

/// Shared answers (docs/http-api.md, "Answers that are known already"), for clients of the real binary.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct SharedAnswersTests {
    private static let on = ["--answer-cache", "8MiB"]
    private static let miss = "ocelli; fwd=miss", hit = "ocelli; hit", collapsed = "ocelli; fwd=miss; collapsed"
    private static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures")
    private static let seven = ["--data-binary", "@" + BadInputTests.seven.path]

    private func status(_ answer: Answer) -> String { answer.headers["cache-status"] ?? "\(answer.status) without it" }

    private func shared(_ daemon: Daemon, _ result: String) throws -> Int {
        let text = try Curl.run(daemon.url + "/metrics").text
        let name = "ocelli_shared_answers_total{result=\"\(result)\"} "
        return text.split(separator: "\n").first { $0.hasPrefix(name) }.flatMap { Int($0.dropFirst(name.count)) } ?? -1
    }

    @Test("with answer_cache on, every route gives a cached answer again, with the second request's own id and total")
    func everyKindOfAnswerIsGivenAgain() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for bundle in [
            "../../models/digits", "observations/embedder", "pipelines/many", "pipelines/colors", "pipelines/all",
            "pipelines/spots", "pipelines/means", "pipelines/looks",
        ] {
            let source = Self.fixtures.appendingPathComponent(bundle).standardized
            try FileManager.default.copyItem(at: source, to: folder.appendingPathComponent(source.lastPathComponent))
        }
        let daemon = try Daemon(["--models", folder.path, "--dialects", "tfserving"] + Self.on)
        let base64 = try Data(contentsOf: BadInputTests.seven).base64EncodedString()
        let input = try #require(
            (try Curl.run(daemon.url + "/v2/models/digits").json["inputs"] as? [[String: Any]])?.first?["name"]
                as? String)
        let infer =
            #"{"id": "1", "inputs": [{"name": "\#(input)", "datatype": "BYTES", "shape": [1, 1], "#
            + #""data": ["\#(base64)"]}]}"#
        let json = #"{"inputs": {"\#(input)": "\#(base64)"}}"#
        for (path, arguments) in [
            ("/v1/models/digits/classify", Self.seven), ("/v1/models/digits/classify?top=2", Self.seven),
            ("/v1/models/digits/predict", Self.seven),
            ("/v1/models/digits/predict", ["-H", "Content-Type: application/json", "--data", json]),
            ("/v1/models/many/detect", Self.seven), ("/v1/models/embedder/embed", Self.seven),
            ("/v1/models/all/detect", Self.seven), ("/v2/models/digits/infer", ["--data", infer]),
        ] {
            let first = try Curl.run(daemon.url + path, arguments), second = try Curl.run(daemon.url + path, arguments)
            #expect(first.status == 200 && status(first) == Self.miss, "\(path): \(first.text.prefix(300))")
            #expect(second.status == 200 && status(second) == Self.hit, "\(path): \(second.text.prefix(300))")
            var bodies = [first.json, second.json]
            for index in bodies.indices {
                bodies[index]["request_id"] = nil
                var times = bodies[index]["timing_ms"] as? [String: Any]
                times?["total"] = nil
                bodies[index]["timing_ms"] = times
            }
            #expect(bodies[0] as NSDictionary == bodies[1] as NSDictionary, "\(path)")
            let other = try Curl.run(daemon.url + path, arguments + ["-H", "Cache-Control: no-store"])
            #expect(other.status == 200 && status(other) == Self.miss, "\(path)")
        }
        #expect(try shared(daemon, "hit") == 8)
        #expect(daemon.stop() == 0)
    }

    @Test("after a new version serves, or an old one again, a cached answer of the other version is not used")
    func aReloadWithOtherSettingsMissesAndSoDoesAnotherVersion() throws {
        let models = try RolloutTests.Models(["1"])
        let daemon = try Daemon(["--models", models.folder.path] + Self.on)
        func ask() throws -> String {
            status(try Curl.run(daemon.url + "/v1/models/ten/classify", Self.seven))
        }
        #expect(try [ask(), ask()] == [Self.miss, Self.hit])
        try models.add("2")
        try models.spoil("2")
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("model ten version 2 is ready"))
        #expect(eventually { (try? RolloutTests.version(daemon)) == "2" })
        let answer = try Curl.run(daemon.url + "/v1/models/ten/classify", Self.seven)
        #expect(answer.topLabel == "5", "the exchanged label of the new version")
        #expect(try RolloutTests.put(#"{"serve": "1"}"#, to: daemon).status == 200)
        let back = try Curl.run(daemon.url + "/v1/models/ten/classify", Self.seven)
        #expect(back.topLabel == "7" && back.json["version"] as? String == "1", "\(back.text)")
        #expect(daemon.stop() == 0)
    }

    @Test("an example that a taught model learns, or a new model of its name, ends its cached answers")
    func whatATaughtModelHasLearnedSinceIsAnswered() throws {
        let taught = try TaughtDaemon(Self.on)
        try taught.create(method: "nearest_mean")
        let pictures = [CancellationPicture.png(width: 40, height: 30), CancellationPicture.png(width: 31, height: 77)]
        #expect(try taught.teach("one", pictures[0]).status < 300)
        func ask() throws -> Answer { try taught.classify(pictures[0]) }
        #expect(try ask().topLabel == "one")
        _ = try taught.evaluated()
        _ = try ask()
        #expect(status(try ask()) == Self.hit)
        #expect(try taught.teach("two", pictures[0]).status < 300)
        let moved = try ask()
        #expect(moved.topLabel == "two" && status(moved) == Self.miss, "\(moved.text)")
        #expect(try taught.delete("parts").status < 300)
        try taught.create(method: "nearest_mean")
        #expect(try taught.teach("three", pictures[0]).status < 300)
        #expect(try ask().topLabel == "three", "another model of the same name")
    }

    @Test("holders of different tokens never get each other's cached answers")
    func holdersOfDifferentTokensNeverShare() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-tokens-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let tokens = ["first-token-0123456789", "second-token-0123456789", "third-token-0123456789"]
        try "infer \(tokens[0])\ninfer \(tokens[1])\nall \(tokens[2])\n".write(
            to: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        let daemon = try Daemon(["--tokens-file", file.path] + Self.on)
        for expected in [Self.miss, Self.hit] {
            for token in tokens {
                let answer = try Curl.run(
                    daemon.url + "/v1/classify", Self.seven + ["-H", "Authorization: Bearer \(token)"])
                #expect(status(answer) == expected, "\(token)")
            }
        }
        #expect(daemon.stop() == 0)
    }

    /// A picture that takes a tenth of a second to decode, requested by many clients at once.
    private static let slow = CancellationPicture.png(width: 60_000, height: 1_000)

    @Test("clients that abort shared requests do not cancel the remaining one")
    func tenThousandAbortsCancelNothingForAnother() throws {
        var random = SplitMix(seed: SplitMix.seed(for: "SharedAnswersTests.aborts"))
        let daemon = try Daemon([
            "--access-log=false", "--overload-target", "0", "--max-connections", "500", "--max-total-body", "256MiB",
        ])
        let files = daemon.openFiles
        let request =
            Data("POST /v1/classify HTTP/1.1\r\nHost: x\r\nContent-Length: \(Self.slow.count)\r\n\r\n".utf8)
            + Self.slow
        var stayed = 0, aborted = 0
        let maximum = LongTests.times(2_000, long: 10_000)
        while aborted < maximum {
            let clients = try (0..<50).map { _ in try RawClient(daemon.url) }
            for client in clients { try client.send(request) }
            // Most of them are read, and wait for the first one, when the others disconnect.
            if random.next().isMultiple(of: 2) { usleep(20_000) }
            let staying = Int(random.next() % UInt64(clients.count))
            for (index, client) in clients.enumerated() where index != staying {
                random.next().isMultiple(of: 2) ? client.close() : client.reset()
                aborted += 1
            }
            let answer = clients[staying].receive(seconds: 60)
            #expect(answer.contains(" 200 "), "after \(aborted) aborts: \(answer.prefix(200))")
            stayed += 1
        }
        // Requests that left got no answer, and a request after the first one had left computed its own.
        let collapsed = try shared(daemon, "collapsed")
        #expect((1...stayed).contains(collapsed), "\(collapsed) of \(stayed) that stay share a prediction")
        #expect(
            eventually {
                let model = try? Curl.run(daemon.url + "/v1/models/digits").json
                let load = model?["in_flight"] as? [String: Any]
                return load?["now"] as? Int == 0 && load?["waiting"] as? Int == 0
            }, "nothing is left in flight")
        #expect(eventually { daemon.openFiles <= files + 1 }, "\(daemon.openFiles) open files, \(files) before")
        #expect(daemon.stop() == 0)
    }

    @Test("GET / and /openapi.json have an ETag, and If-None-Match with it gives 304")
    func thePageHasATagAndIsNotSentAgain() throws {
        let daemon = try Daemon([])
        for path in ["/", "/openapi.json"] {
            let first = try Curl.run(daemon.url + path)
            let tag = try #require(first.headers["etag"], "\(path)")
            let second = try Curl.run(daemon.url + path, ["-H", "If-None-Match: \(tag)"])
            #expect(second.status == 304 && second.body.isEmpty && second.headers["etag"] == tag, "\(path)")
            #expect(try Curl.run(daemon.url + path, ["-H", "If-None-Match: \"x\""]).status == 200)
        }
        #expect(daemon.stop() == 0)
    }
}

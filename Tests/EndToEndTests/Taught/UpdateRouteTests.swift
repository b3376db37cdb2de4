import Foundation
import TestSupport
import Testing

/// `POST /v1/models/{name}/update` on the files of Tests/Fixtures/updatable, compared with TensorFlow's losses.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct UpdateRouteTests {
    private static let fixtures = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/updatable")
    private let work = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-ur-\(UUID().uuidString)")
    private var models: URL { work.appendingPathComponent("models") }
    private var updates: URL { work.appendingPathComponent("taught/.updates") }

    init() throws { try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true) }

    private func clean() { try? FileManager.default.removeItem(at: work) }

    private func daemon(_ names: [String], _ flags: [String] = []) throws -> Daemon {
        for name in names where !FileManager.default.fileExists(atPath: models.path + "/\(name).mlmodel") {
            try FileManager.default.copyItem(
                at: Self.fixtures.appendingPathComponent(name + ".mlmodel"),
                to: models.appendingPathComponent(name + ".mlmodel"))
        }
        return try Daemon(
            ["--models", models.path, "--taught-dir", work.appendingPathComponent("taught").path] + flags)
    }

    private func fixture(_ name: String) throws -> [String: Any] {
        let data = try Data(contentsOf: Self.fixtures.appendingPathComponent(name + ".json"))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    /// The fixture's examples as a body: pictures as base64 text.
    private func body(_ name: String, _ more: [String: Any] = [:]) throws -> Data {
        let fixture = try fixture(name)
        let examples = try #require(fixture["examples"] as? [[String: Any]]).map { example -> [String: Any] in
            var example = example
            example["inputs"] = try (example["inputs"] as? [String: Any])?.mapValues { value -> Any in
                guard let file = value as? String else { return value }
                return try Data(contentsOf: Self.fixtures.appendingPathComponent(file)).base64EncodedString()
            }
            return example
        }
        let choices = (fixture["choices"] as? [String: Any] ?? [:]).map { key, value in
            (["miniBatch": "mini_batch", "learningRate": "learning_rate"][key] ?? key, value)
        }
        let members = Dictionary(choices + [("examples", examples)]) { first, _ in first }
        return try JSONSerialization.data(withJSONObject: members.merging(more) { $1 })
    }

    private func update(_ daemon: Daemon, _ name: String, _ body: Data, _ query: String = "") throws -> Answer {
        try Curl.run(daemon.url + "/v1/models/\(name)/update" + query, ["--json", "@-"], input: body)
    }

    private func losses(_ answer: Answer) -> [Double] {
        (answer.json["epochs"] as? [[String: Any]])?.compactMap { $0["loss"] as? Double } ?? []
    }

    private func outputs(_ answer: Answer) throws -> Data {
        let outputs = try #require(answer.json["outputs"] as? [String: Any], "\(answer.text)")
        return try JSONSerialization.data(withJSONObject: outputs, options: .sortedKeys)
    }

    private func predict(_ daemon: Daemon, _ name: String, version: String? = nil) throws -> Answer {
        let path = "/v1/models/\(name)" + (version.map { "/versions/" + $0 } ?? "") + "/predict"
        return try Curl.run(daemon.url + path, ["--json", #"{"inputs": {"x": [0.5, -0.5, 1, 2, 0, 1]}}"#])
    }

    @Test(
        "an update over HTTP has TensorFlow's losses, makes version 1.1 and keeps the original file",
        arguments: ["dense-classifier", "dense-regressor", "convolution-classifier", "pooling-regressor"])
    func lossesAreTensorFlows(_ name: String) throws {
        defer { clean() }
        let daemon = try daemon([name])
        let answer = try update(daemon, name, body(name))
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.json["model"] as? String == name && answer.json["version"] as? String == "1.1")
        let found = losses(answer), wanted = try #require(try fixture(name)["losses"] as? [Double])
        #expect(found.count == wanted.count)
        for (loss, other) in zip(found, wanted) { #expect(abs(loss - other) < 1e-4) }
        #expect(
            try Data(contentsOf: models.appendingPathComponent(name + ".mlmodel"))
                == Data(contentsOf: Self.fixtures.appendingPathComponent(name + ".mlmodel")))
        daemon.stop()
    }

    /// The route keeps the file that the command writes for the same examples; the second update continues from the
    /// first, and after a start the last one serves.
    @Test("updates build on each other, write the file that `ocelli update` writes, and survive a restart")
    func updatesFollowEachOtherAndSurviveARestart() throws {
        defer { clean() }
        let name = "dense-classifier"
        var daemon = try daemon([name])
        let before = try predict(daemon, name)
        #expect(before.status == 200 && before.json["version"] as? String == "1", "\(before.text)")
        let first = try update(daemon, name, body(name)), second = try update(daemon, name, body(name))
        #expect(
            first.json["version"] as? String == "1.1" && second.json["version"] as? String == "1.2", "\(second.text)")
        #expect((losses(second).first ?? .nan) < (losses(first).last ?? 0) * 1.5, "it goes on from the first")
        #expect(losses(first) != losses(second))
        let after = try predict(daemon, name)
        #expect(after.json["version"] as? String == "1.2" && after.text != before.text)

        let lines = try #require(try fixture(name)["examples"] as? [[String: Any]]).map {
            String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self)
        }
        let examples = work.appendingPathComponent("examples.jsonl"), own = work.appendingPathComponent("own.mlmodel")
        try Data(lines.joined(separator: "\n").utf8).write(to: examples)
        let command = try Shell.run(
            Daemon.binary.path,
            ["update", models.path + "/\(name).mlmodel", examples.path, "-o", own.path])
        #expect(command.status == 0, "\(command.errors)")
        let kept = updates.appendingPathComponent("\(name)/1.1/\(name).mlmodel")
        #expect(try Data(contentsOf: own) == Data(contentsOf: kept))

        let list = try Curl.run(daemon.url + "/v1/models/\(name)").json["versions"] as? [[String: Any]]
        #expect(list?.compactMap { $0["version"] as? String } == ["1", "1.1", "1.2"], "\(list ?? [])")
        #expect(try outputs(predict(daemon, name, version: "1")) == outputs(before))
        daemon.stop()
        daemon = try self.daemon([name])
        let again = try predict(daemon, name)
        #expect(again.json["version"] as? String == "1.2")
        #expect(try outputs(again) == outputs(after) && outputs(after) != outputs(before))
        #expect(try update(daemon, name, body(name)).json["version"] as? String == "1.3")
        daemon.stop()
    }

    @Test(
        "an update of a nearest-neighbours model succeeds without epochs",
        arguments: ["neighbors-empty", "neighbors-numbers"])
    func neighborsHaveNoEpochs(_ name: String) throws {
        defer { clean() }
        let daemon = try daemon([name])
        let answer = try update(daemon, name, body(name))
        #expect(answer.status == 201 && (answer.json["epochs"] as? [Any])?.isEmpty == true, "\(answer.text)")
        daemon.stop()
    }

    @Test("a wrong update request gets 400 that names the mistake, and keeps no version")
    func mistakesAreNamed() throws {
        defer { clean() }
        let name = "dense-classifier"
        let daemon = try daemon([name, "convolution-classifier"])
        let x = #"{"inputs": {"x": [1, 2, 3, 4, 5, 6]}, "label": "bolt"}"#
        for (text, code, words) in [
            ("{", "bad_request", "not valid JSON"), ("[]", "invalid_input", "expected {\"examples\""),
            ("{}", "invalid_input", "\"examples\" is missing"),
            (#"{"examples": []}"#, "invalid_input", "\"examples\" is empty"),
            (#"{"examples": 1}"#, "invalid_input", "\"examples\": expected an array"),
            (#"{"examples": [\#(x)], "epoch": 1}"#, "invalid_input", "member \"epoch\" is unknown"),
            (#"{"examples": [\#(x)], "epochs": 1.5}"#, "invalid_input", "\"epochs\": expected an integer"),
            (#"{"examples": [\#(x)], "epochs": 0}"#, "invalid_input", "epochs is 0: expected 1 to 1000"),
            (
                #"{"examples": [\#(x)], "epochs": 2}"#, "invalid_input",
                "epochs 2 is not among the values that the file allows: 1, 5, 10"
            ),
            (
                #"{"examples": [\#(x)], "learning_rate": "fast"}"#, "invalid_input",
                "\"learning_rate\": expected a number"
            ),
            (#"{"examples": [\#(x)], "learning_rate": 2}"#, "invalid_input", "learning_rate 2.0 is not in the range"),
            (
                #"{"examples": [\#(x), {"inputs": {"x": [1]}, "label": "bolt"}]}"#, "invalid_input",
                "example 2: input \"x\": expected 6 numbers"
            ),
            (
                #"{"examples": [{"inputs": {"x": [1, 2, 3, 4, 5, 6]}, "label": 7}]}"#, "invalid_input",
                "example 1: \"label\": expected a string"
            ),
            (
                #"{"examples": [{"inputs": {"x": [1, 2, 3, 4, 5, 6]}, "label": "cog"}]}"#, "invalid_input",
                "the model has no class \"cog\""
            ),
        ] {
            let answer = try update(daemon, name, Data(text.utf8))
            #expect(answer.status == 400 && answer.code == code, "\(text): \(answer.text)")
            #expect(answer.error.contains(words), "\(text): \(answer.error)")
        }
        let picture = #"{"examples": [{"inputs": {"image": "bm8gcGljdHVyZQ=="}, "label": 10}]}"#
        let bad = try update(daemon, "convolution-classifier", Data(picture.utf8))
        #expect((400..<500).contains(bad.status) && bad.error.hasPrefix("example 1: input \"image\": "), "\(bad.text)")
        #expect(try update(daemon, "nothing", body(name)).code == "model_not_found")
        #expect(try update(daemon, name, body(name), "?timeout=1").code == "bad_request")
        #expect(!FileManager.default.fileExists(atPath: updates.path))
        #expect(try predict(daemon, name).json["version"] as? String == "1")
        daemon.stop()
    }

    @Test("an update of a model that is not updatable gets 400, and without taught_dir 404")
    func whatIsNoUpdatableModelIsRefused() throws {
        defer { clean() }
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("models/digits"),
            to: models.appendingPathComponent("digits"))
        let daemon = try daemon(["dense-classifier"])
        let answer = try update(daemon, "digits", Data(#"{"examples": [{}]}"#.utf8))
        #expect(
            answer.status == 400 && answer.code == "invalid_input" && answer.error.contains("not updatable"),
            "\(answer.text)")
        daemon.stop()
        let without = try Daemon(["--models", models.path])
        let refused = try update(without, "dense-classifier", body("dense-classifier"))
        #expect(
            refused.status == 404 && refused.code == "not_found" && refused.error.contains("taught_dir"),
            "\(refused.text)")
        without.stop()
    }

    /// Time and room are limits: beyond them nothing is kept or changed.
    @Test("an update beyond taught_max_bytes gets 507, an update past its deadline 504, and no file is kept")
    func nothingIsKeptUnlessItFinishes() throws {
        defer { clean() }
        let name = "pooling-regressor"
        var daemon = try daemon([name], ["--taught-max-bytes", "1KiB"])
        let full = try update(daemon, name, body(name))
        #expect(
            full.status == 507 && full.code == "storage_full" && full.error.contains("taught_max_bytes"), "\(full.text)"
        )
        daemon.stop()
        daemon = try self.daemon([name])
        let late = try update(daemon, name, body(name), "?timeout_ms=1")
        #expect(late.status == 504 && late.code == "deadline_exceeded", "\(late.text)")
        #expect(((try? FileManager.default.contentsOfDirectory(atPath: updates.path)) ?? []) == [])
        #expect(try update(daemon, name, body(name)).status == 201)
        daemon.stop()
    }

    @Test("an update needs a token of class teach")
    func changesNeedTheClassTeach() throws {
        defer { clean() }
        let name = "dense-classifier", tokens = work.appendingPathComponent("tokens")
        try "infer,read a-token-that-may-not-teach-0123\nteach a-token-that-may-teach-01234567\n".write(
            to: tokens, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: tokens.path)
        let daemon = try daemon([name], ["--tokens-file", tokens.path])
        func ask(_ token: String?) throws -> Answer {
            try Curl.run(
                daemon.url + "/v1/models/\(name)/update",
                ["--json", "@-"] + (token.map { ["-H", "Authorization: Bearer \($0)"] } ?? []), input: body(name))
        }
        #expect(try ask(nil).status == 401)
        #expect(try ask("a-token-that-may-not-teach-0123").status == 403)
        #expect(try ask("a-token-that-may-teach-01234567").status == 201)
        daemon.stop()
    }

    /// An update of many examples keeps others out; when its client disconnects, nothing of it is left.
    @Test("a second update gets 503 while one runs, and an update of a disconnected client keeps no version")
    func oneUpdateAtATimeAndItsClientMayLeave() throws {
        defer { clean() }
        let name = "dense-regressor"
        let daemon = try daemon([name])
        let one = try #require(try fixture(name)["examples"] as? [[String: Any]])
        let examples = (0..<30_000).map { one[$0 % one.count] }
        let body = try JSONSerialization.data(withJSONObject: ["examples": examples, "epochs": 20])
        let file = work.appendingPathComponent("body.json")
        try body.write(to: file)
        let long = Process()
        long.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        long.arguments = ["curl", "-s", "--json", "@" + file.path, daemon.url + "/v1/models/\(name)/update"]
        long.standardOutput = FileHandle.nullDevice
        try long.run()
        // Once its body is read and the update computes, the other one is refused.
        #expect(
            try eventually {
                (MetricsTests.value("ocelli_body_bytes", in: try Curl.run(daemon.url + "/metrics").text) ?? 0)
                    > 1_000_000
            })
        #expect(
            try eventually {
                let answer = try update(daemon, name, Data(#"{"examples": [1]}"#.utf8))
                return answer.status == 503 && answer.code == "overloaded" && answer.headers["retry-after"] != nil
            })
        #expect(try Curl.run(daemon.url + "/healthz").status == 200)
        kill(long.processIdentifier, SIGKILL)
        long.waitUntilExit()
        #expect(try eventually { try update(daemon, name, self.body(name)).status == 201 })
        let kept = try FileManager.default.contentsOfDirectory(atPath: updates.path + "/" + name)
        #expect(kept == ["1.1"])
        daemon.stop()
    }

    @Test("kill -9 during an update leaves the version before or the new version, whole")
    func aKillLeavesOneVersionOrTheOther() throws {
        defer { clean() }
        let name = "dense-classifier", times = LongTests.times(4, long: 40)
        var random = SplitMix(seed: 32)
        var last = 0
        let file = work.appendingPathComponent("body.json")
        try body(name).write(to: file)
        for turn in 0..<times {
            let daemon = try daemon([name])
            let now = try #require(try predict(daemon, name).json["version"] as? String)
            let number = now == "1" ? 0 : Int(now.dropFirst(2)) ?? -1
            #expect(number == last || number == last + 1, "turn \(turn): \(now) after \(last)")
            last = number
            let client = Process()
            client.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            client.arguments = ["curl", "-s", "--json", "@" + file.path, daemon.url + "/v1/models/\(name)/update"]
            client.standardOutput = FileHandle.nullDevice
            try client.run()
            Thread.sleep(forTimeInterval: Double.random(in: 0...0.6, using: &random))
            daemon.signal(SIGKILL)
            daemon.waitForExit()
            client.waitUntilExit()
        }
        let daemon = try daemon([name])
        let answer = try update(daemon, name, body(name))
        #expect(answer.status == 201, "\(answer.text)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: updates.path).filter { $0.hasPrefix(".") } == [],
            "what was not finished is removed")
        daemon.stop()
    }
}

import Foundation
import Synchronization
import TestSupport
import Testing

/// The serving version, for clients and operators of the real binary.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct RolloutTests {
    /// A folder of models with "ten" as numbered versions of the digits model, which have the same answers.
    final class Models: Sendable {
        let folder: URL
        var place: URL { folder.appendingPathComponent("ten") }
        var file: URL { place.appendingPathComponent("rollout.json") }
        static let bundle = SharedData.packageRoot.appendingPathComponent("models/digits")

        init(_ versions: [String]) throws {
            folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            for version in versions { try add(version) }
        }

        func add(_ version: String) throws {
            let target = place.appendingPathComponent(version)
            try FileManager.default.copyItem(at: Self.bundle, to: target)
            // Another digest for each.
            try Data(version.utf8).write(to: target.appendingPathComponent("NOTE"))
        }

        /// Exchanges labels: sevens are called fives.
        func spoil(_ version: String) throws {
            let labels = place.appendingPathComponent("\(version)/labels.txt")
            try Data("0\n1\n2\n3\n4\n7\n6\n5\n8\n9\n".utf8).write(to: labels)
        }

        deinit { try? FileManager.default.removeItem(at: folder) }
    }

    static let picture = ["--data-binary", "@" + BadInputTests.seven.path]

    static func put(_ plan: String, to daemon: Daemon) throws -> Answer {
        try Curl.run(daemon.url + "/v1/models/ten/rollout", ["-X", "PUT", "--data", plan])
    }

    static func version(_ daemon: Daemon, _ path: String = "") throws -> String {
        let answer = try Curl.run(daemon.url + "/v1/models/ten\(path)/classify", picture)
        return answer.json["version"] as? String ?? "\(answer.status) \(answer.code)"
    }

    static func state(_ daemon: Daemon) throws -> [String: Any] {
        try Curl.run(daemon.url + "/v1/models/ten/rollout").json
    }

    @Test("a rollout plan sets the serving version and labels, and survives kill -9")
    func aPlanIsObeyedAndSurvivesKill() throws {
        let models = try Models(["1", "2", "3"])
        let daemon = try Daemon(["--models", models.folder.path])
        #expect(try Self.version(daemon) == "3")
        #expect(try Self.state(daemon)["state"] as? String == "none")
        let set = try Self.put(
            #"{"serve": "2", "labels": {"next": "3"}, "state": "promoted", "differences": [], "serving": "9"}"#,
            to: daemon)
        #expect(set.status == 200 && set.json["serve"] as? String == "2" && set.json["serving"] as? String == "2")
        #expect(set.json["state"] as? String == "none", "members of answers are ignored")
        func check(_ daemon: Daemon) throws {
            for (path, expected) in [
                ("", "2"), ("/versions/1", "1"), ("/versions/stable", "2"), ("/versions/next", "3"),
                ("/versions/candidate", "404 version_not_found"), ("/versions/9", "404 version_not_found"),
            ] {
                #expect(try Self.version(daemon, path) == expected, "\(path)")
            }
            #expect(try Curl.run(daemon.url + "/v1/models/ten").json["version"] as? String == "2")
            #expect(try Curl.run(daemon.url + "/v2/models/ten/versions/next/ready").status == 200)
            try checkLabels(daemon)
        }
        try check(daemon)
        kill(daemon.pid, SIGKILL)
        let again = try Daemon(["--models", models.folder.path])
        try check(again)
        #expect(try Curl.run(again.url + "/v1/models/ten/rollout", ["-X", "DELETE"]).status == 200)
        #expect(try Self.version(again) == "3")
        #expect(again.stop() == 0)
    }

    /// Every URL with a version takes the label "next", which is version 3, and no label that is not in the plan.
    private func checkLabels(_ daemon: Daemon) throws {
        let coded = try Data(contentsOf: BadInputTests.seven).base64EncodedString()
        func json(_ text: String) -> [String] { ["-H", "Content-Type: application/json", "--data", text] }
        let instances = json("{\"instances\": [{\"b64\": \"\(coded)\"}]}")
        let tensors = json(
            "{\"inputs\": [{\"name\": \"image\", \"datatype\": \"BYTES\", \"shape\": [1], \"data\": [\"\(coded)\"]}]}")
        // Each with the member of the answer that has the version, if any.
        let urls: [(path: String, arguments: [String], member: [String])] = [
            ("/v1/models/ten/versions/@", [], ["version"]), ("/v1/models/ten/labels/@", [], ["version"]),
            ("/v1/models/ten/versions/@/predict", Self.picture, ["version"]),
            ("/v1/models/ten/versions/@/classify?explain=preprocess", Self.picture, ["version"]),
            ("/v1/models/ten/versions/@/metadata", [], ["model_spec", "version"]),
            ("/v1/models/ten/labels/@/metadata", [], ["model_spec", "version"]),
            ("/v1/models/ten/versions/@:predict", instances, []), ("/v1/models/ten/labels/@:predict", instances, []),
            ("/v2/models/ten/versions/@", [], []), ("/v2/models/ten/versions/@/ready", [], []),
            ("/v2/models/ten/versions/@/config", [], []),
            ("/v2/models/ten/versions/@/stats", [], ["model_stats", "version"]),
            ("/v2/models/ten/versions/@/infer", tensors, ["model_version"]),
        ]
        for (path, arguments, member) in urls {
            func ask(_ label: String) throws -> Answer {
                try Curl.run(daemon.url + path.replacing("@", with: label), arguments)
            }
            let answer = try ask("next")
            #expect(answer.status == 200, "\(path): \(answer.text)")
            #expect(try ask("nosuch").status == 404, "\(path)")
            guard !member.isEmpty else { continue }
            let version: Any? = member.reduce(answer.json as Any?) { value, name in
                ((value as? [[String: Any]])?.first ?? value as? [String: Any])?[name]
            }
            #expect(version as? String == "3", "\(path): \(answer.text)")
        }
    }

    @Test("a rollout plan that is wrong or names an unusable version is refused, and no file is written")
    func whatCannotBeSetIsRefused() throws {
        let models = try Models(["1", "2"])
        try Data("junk".utf8).write(to: models.place.appendingPathComponent("2/digits.onnx"))
        let daemon = try Daemon(["--models", models.folder.path])
        for (plan, status, code) in [
            (#"{"serve": "7"}"#, 404, "version_not_found"), (#"{"labels": {"x": "7"}}"#, 404, "version_not_found"),
            (#"{"serve": "2"}"#, 409, "conflict"), (#"{"candidate": {"version": "2"}}"#, 409, "conflict"),
            (#"{"serves": "1"}"#, 400, "bad_request"), (#"{"serve": 1}"#, 400, "bad_request"),
            ("{", 400, "bad_request"),
            (#"{"candidate": {"version": "1", "share": 2}}"#, 400, "bad_request"),
            (#"{"serve": "1", "candidate": {"version": "1"}}"#, 400, "bad_request"),
            (#"{"labels": {"1": "1"}}"#, 400, "bad_request"), ("[]", 400, "bad_request"),
        ] {
            let answer = try Self.put(plan, to: daemon)
            #expect(answer.status == status && answer.code == code, "\(plan): \(answer.text)")
        }
        #expect(try Curl.run(daemon.url + "/v1/models/other/rollout").code == "model_not_found")
        #expect(!FileManager.default.fileExists(atPath: models.file.path))
        let guarded = try Daemon(["--models", models.folder.path, "--repository-control", "none"])
        #expect(try Self.put(#"{"serve": "1"}"#, to: guarded).status == 403)
        #expect(try Curl.run(guarded.url + "/v1/models/ten/rollout").status == 200)
        #expect(daemon.stop() == 0 && guarded.stop() == 0)
    }

    /// A new folder is loaded while another version serves; a plan written by hand is read.
    @Test(
        "while no version may serve, no route says that the model is ready",
        arguments: ["{\"serve\": 7}", "not JSON", "{serve: '9'}"])
    func aBrokenFileIsSaidByAllRoutes(_ text: String) throws {
        let models = try Models(["1", "2"])
        try Data(text.utf8).write(to: models.file)
        let daemon = try Daemon(["--models", models.folder.path], waitUntilReady: false)
        func get(_ path: String) throws -> Answer { try Curl.run(daemon.url + path) }
        #expect(try eventually { try get("/v1/models/ten/versions/2").json["state"] as? String == "ready" })
        #expect(try Self.version(daemon) == "503 model_not_ready" && Self.version(daemon, "/versions/2") == "2")
        let ready = try get("/readyz")
        #expect(ready.status == 503 && ready.error.contains("ten has failed"), "\(ready.text)")
        #expect(try get("/v2/models/ten/ready").status != 200)
        let listed = (try get("/v1/models").json["models"] as? [[String: Any]])?.first ?? [:]
        for answer in [try get("/v1/models/ten").json, listed] {
            let reason = answer["reason"] as? String ?? ""
            #expect(answer["state"] as? String == "failed" && reason.contains("rollout.json"), "\(answer)")
            #expect(!reason.contains(models.folder.path), "\(reason)")
            let versions = answer["versions"] as? [[String: Any]] ?? []
            #expect(versions.last?["state"] as? String == "ready", "asked for by its number, it answers")
        }
        #expect(try get("/v1/models/ten").json["ready"] as? Bool == false)
        try FileManager.default.removeItem(at: models.file)
        daemon.signal(SIGHUP)
        #expect(try eventually { try Self.version(daemon) == "2" })
        #expect(try get("/readyz").status == 200)
        #expect(try get("/v1/models/ten").json["state"] as? String == "ready")
        #expect(daemon.stop() == 0)
    }

    @Test("a new version folder is loaded while another version serves; a changed rollout.json switches")
    func aNewVersionLoadsBeside() throws {
        let models = try Models(["1"])
        try Data("{serve: '1'} // by hand\n".utf8).write(to: models.file)
        let daemon = try Daemon(["--models", models.folder.path, "--repository-poll", "200ms"])
        try models.add("2")
        #expect(daemon.waitForLog("model ten version 2 is ready"))
        #expect(try Self.version(daemon) == "1" && Self.version(daemon, "/versions/2") == "2")
        try Data("{serve: '2'}\n".utf8).write(to: models.file)
        #expect(try eventually { try Self.version(daemon) == "2" })
        #expect(daemon.stop() == 0)
    }

    /// No request fails, and each is answered by one of the two versions.
    @Test("switches of the serving version under load lose no request")
    func switchesLoseNoRequest() throws {
        let models = try Models(["1", "2"])
        let daemon = try Daemon(["--models", models.folder.path])
        let port = try #require(daemon.url.split(separator: ":").last.flatMap { UInt16($0) })
        let picture = try Data(contentsOf: BadInputTests.seven)
        let isOver = Atomic<Bool>(false), answered = Atomic<Int>(0), failures = Mutex<[String]>([])
        let clients = (0..<4).map { _ in
            Thread {
                do {
                    let client = try RawClient(port: port)
                    while !isOver.load(ordering: .relaxed) {
                        try client.post(picture, to: "/v1/models/ten/classify")
                        let answer = try client.response()
                        answered.add(1, ordering: .relaxed)
                        if answer.status != 200 { failures.withLock { $0.append("\(answer.status)") } }
                    }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        for client in clients { client.start() }
        for number in 0..<LongTests.times(20, long: 100) {
            let answer = try Self.put("{\"serve\": \"\(number % 2 + 1)\"}", to: daemon)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(try Self.version(daemon) == "\(number % 2 + 1)")
        }
        isOver.store(true, ordering: .relaxed)
        for client in clients { while !client.isFinished { usleep(10_000) } }
        #expect(failures.withLock { $0 } == [] && answered.load(ordering: .relaxed) > 0)
        #expect(daemon.stop() == 0)
    }

    @Test("a daemon that is killed during PUTs of plans restarts with one of the plans")
    func aKillWhilePlansArePutLeavesOneOfThem() throws {
        let models = try Models(["1", "2"])
        var random = SplitMix(seed: SplitMix.seed(for: "RolloutTests.aKillWhilePlansArePutLeavesOneOfThem"))
        var daemon = try Daemon(["--models", models.folder.path])
        for _ in 0..<LongTests.times(4, long: 10) {
            #expect(try Self.put(#"{"serve": "1"}"#, to: daemon).status == 200)
            let client = Thread { [daemon] in
                var number = 0
                while (try? Self.put("{\"serve\": \"\(number % 2 + 1)\"}", to: daemon))?.status == 200 { number += 1 }
            }
            client.start()
            usleep(UInt32.random(in: 0..<300_000, using: &random))
            kill(daemon.pid, SIGKILL)
            daemon.waitForExit()
            try #require(eventually { client.isFinished })
            let plan = try JSONSerialization.jsonObject(with: Data(contentsOf: models.file)) as? [String: Any]
            let serve = try #require(plan?["serve"] as? String)
            #expect(["1", "2"].contains(serve))
            daemon = try Daemon(["--models", models.folder.path])
            #expect(try Self.version(daemon) == serve)
        }
        #expect(daemon.stop() == 0)
    }

    // MARK: Goldens

    /// Makes goldens with the command in the document, from the trusted version.
    private func makeGoldens(_ models: Models, from version: String, in target: String) throws {
        let golden = models.place.appendingPathComponent("\(target)/golden")
        try FileManager.default.createDirectory(at: golden, withIntermediateDirectories: true)
        let examples = SharedData.packageRoot.appendingPathComponent("examples")
        for name in ["seven.png", "three.png"] {
            try FileManager.default.copyItem(
                at: examples.appendingPathComponent(name), to: golden.appendingPathComponent(name))
        }
        let made = try Shell.run(
            Daemon.binary.path,
            ["classify", "--models", models.place.appendingPathComponent(version).path, "--jsonl", golden.path])
        #expect(made.status == 0)
        try made.output.write(to: golden.appendingPathComponent("expected.jsonl"))
    }

    @Test("a version with other answers to its golden pictures fails, and never serves")
    func aVersionThatAnswersItsGoldensOtherwiseNeverServes() throws {
        let models = try Models(["1", "2"])
        try models.spoil("2")
        try makeGoldens(models, from: "1", in: "1")
        try makeGoldens(models, from: "1", in: "2")
        let daemon = try Daemon(["--models", models.folder.path])
        #expect(try Self.version(daemon) == "1")
        let versions = try Curl.run(daemon.url + "/v1/models/ten").json["versions"] as? [[String: Any]] ?? []
        let reason = versions.last?["reason"] as? String ?? ""
        #expect(reason.contains("1 of 2 goldens differ: seven.png: expected 7 0.98, got 5 0.98"), "\(versions)")
        #expect(try Self.version(daemon, "/versions/2") == "503 model_not_ready")
        let goldens = try Curl.run(daemon.url + "/v1/models/ten/versions/1").json["goldens"] as? [String: Int]
        #expect(goldens == ["compared": 2, "agreed": 2])
        #expect(try Curl.run(daemon.url + "/metrics").text.contains("ocelli_goldens_failed_total{model=\"ten\"} 1\n"))
        #expect(try Self.put(#"{"serve": "2"}"#, to: daemon).code == "conflict")
        let check = try Shell.run(Daemon.binary.path, ["check", models.place.appendingPathComponent("2").path])
        #expect(check.status != 0 && (check.text + check.errors).contains("goldens differ"))
        #expect(daemon.stop() == 0)
    }

    // MARK: Candidates

    /// Sends pictures until the rollout's state meets a condition, for at most a minute.
    /// - Parameter other: the picture; nil for the seven.
    static func send(
        _ daemon: Daemon, _ other: Data? = nil, until isAwaited: (String) -> Bool
    ) throws -> [String: Any] {
        let port = try #require(daemon.url.split(separator: ":").last.flatMap { UInt16($0) })
        let picture = try other ?? Data(contentsOf: BadInputTests.seven)
        let client = try RawClient(port: port)
        let end = Date() + 60
        while Date() < end {
            for _ in 0..<10 {
                try client.post(picture, to: "/v1/models/ten/classify")
                #expect(try client.response().status == 200)
                usleep(5_000)
            }
            let found = try state(daemon)
            if isAwaited(found["state"] as? String ?? "") { return found }
        }
        return try Self.state(daemon)
    }

    /// Checks that the log has one line for each change of state, and that the metrics have the figures of the rollout.
    private func checkReports(_ daemon: Daemon, _ found: [String: Any], agreed: Int, log: [String]) throws {
        let lines = daemon.log.split(separator: "\n").filter { $0.contains("rollout of model ten: ") }
        #expect(lines.count == log.count && zip(lines, log).allSatisfy { $0.contains($1) }, "\(lines)")
        let page = try Curl.run(daemon.url + "/metrics").text
        let figures = [
            ("compared", try #require(found["compared"] as? Int)), ("agreed", agreed),
            ("skipped", try #require(found["skipped"] as? Int)),
        ]
        for (name, value) in figures {
            #expect(page.contains("ocelli_rollout_\(name){model=\"ten\"} \(value)\n"), "\(name): \(value)")
        }
    }

    @Test("a candidate that disagrees is rolled back, and stays so after a restart until a plan names it")
    func aBadCandidateIsRolledBackByItself() throws {
        let models = try Models(["1", "2"])
        try models.spoil("2")
        let daemon = try Daemon(["--models", models.folder.path])
        let plan =
            #"{"serve": "1", "candidate": {"version": "2", "shadow": 1}, "promote": {"after": 20, "agreement": 0.98}}"#
        #expect(try Self.put(plan, to: daemon).json["state"] as? String == "comparing")
        let found = try Self.send(daemon) { $0 == "rolled_back" }
        #expect(found["state"] as? String == "rolled_back" && found["serve"] as? String == "1", "\(found)")
        #expect((found["reason"] as? String)?.contains("expected 0.98") == true, "\(found)")
        #expect(found["decision"] as? String == "disagrees" && found["agreement"] as? Double == 0)
        let difference = try #require((found["differences"] as? [[String: Any]])?.first)
        let digest = try Shell.run("sha256sum", [BadInputTests.seven.path]).output.prefix(64)
        #expect(difference["id"] as? String == String(decoding: digest, as: UTF8.self))
        let serving = (difference["serving"] as? [String: Any])?["classifications"] as? [[String: Any]]
        #expect(serving?.first?["label"] as? String == "7")
        #expect(try Self.version(daemon) == "1")
        #expect(daemon.waitForLog("rollout of model ten: version 2 is rolled back: it agrees on 0.000 of"))
        try checkReports(daemon, found, agreed: 0, log: ["version 2 is compared", "version 2 is rolled back"])
        #expect(
            try Curl.run(daemon.url + "/metrics").text.contains(
                "ocelli_rollout_state{model=\"ten\",state=\"rolled_back\"} 1\n"))
        // Neither a deletion nor a restart clears the mark; a put that names the version does.
        let gone = try Curl.run(daemon.url + "/v1/models/ten/rollout", ["-X", "DELETE"]).json
        #expect(gone["serving"] as? String == "1" && gone["state"] as? String == "none")
        #expect(gone["compared"] as? Int == 0, "no candidate is compared any more: \(gone)")
        #expect((gone["differences"] as? [Any])?.isEmpty == true)
        kill(daemon.pid, SIGKILL)
        let again = try Daemon(["--models", models.folder.path])
        #expect(try Self.version(again) == "1")
        #expect(try Self.put(#"{"serve": "2"}"#, to: again).status == 200)
        #expect(try Self.version(again) == "2")
        #expect(again.stop() == 0)
    }

    @Test("a candidate that agrees is promoted, and serves after kill -9 too")
    func aGoodCandidateIsPromotedByItself() throws {
        let models = try Models(["1", "2"])
        let daemon = try Daemon(["--models", models.folder.path])
        let plan =
            #"{"serve": "1", "candidate": {"version": "2", "shadow": 1}, "promote": {"after": 20, "agreement": 0.5}}"#
        _ = try Self.put(plan, to: daemon)
        let found = try Self.send(daemon) { $0 == "promoted" }
        #expect(found["state"] as? String == "promoted" && found["serve"] as? String == "2", "\(found)")
        #expect(found["compared"] as? Int ?? 0 >= 20 && found["agreement"] as? Double == 1, "\(found)")
        #expect(found["latency_ratio"] is Double)
        #expect(daemon.waitForLog("rollout of model ten: version 2 serves instead of version 1"))
        try checkReports(
            daemon, found, agreed: found["compared"] as? Int ?? 0, log: ["version 2 is compared", "version 2 serves"])
        #expect(try Self.version(daemon) == "2" && Self.version(daemon, "/versions/stable") == "2")
        kill(daemon.pid, SIGKILL)
        let again = try Daemon(["--models", models.folder.path])
        #expect(try Self.version(again) == "2" && Self.state(again)["state"] as? String == "promoted")
        // Back by one call.
        _ = try Self.put(#"{"serve": "1"}"#, to: again)
        #expect(try Self.version(again) == "1")
        #expect(again.stop() == 0)
    }

    /// A picture of one colour, so that both versions have the same input.
    private static let red =
        "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg=="

    /// The candidate has twelve times the arithmetic.
    @Test("a candidate that agrees and takes longer than `latency` allows is rolled back")
    func aSlowCandidateIsRolledBack() throws {
        let models = try Models([])
        for (version, layers) in [("1", 1), ("2", 12)] {
            try SlowModel.write(into: models.place, layers: layers, side: 64)
            try FileManager.default.moveItem(
                at: models.place.appendingPathComponent("slow"), to: models.place.appendingPathComponent(version))
        }
        // Without variants for single-stream requests, because their times are compared only with each other.
        let daemon = try Daemon(["--models", models.folder.path, "--lone-threads", "0", "--cache-dir", ""])
        let plan =
            #"{"serve": "1", "candidate": {"version": "2", "shadow": 1}, "#
            + #""promote": {"after": 100000, "agreement": 0.5, "latency": 1.5}}"#
        #expect(try Self.put(plan, to: daemon).json["state"] as? String == "comparing")
        let red = try #require(Data(base64Encoded: Self.red))
        let found = try Self.send(daemon, red) { $0 == "rolled_back" }
        #expect(found["state"] as? String == "rolled_back" && found["agreement"] as? Double == 1, "\(found)")
        #expect((found["reason"] as? String)?.contains("times as long, expected at most 1.5") == true, "\(found)")
        #expect(try Self.version(daemon) == "1")
        #expect(daemon.stop() == 0)
    }

    /// The share sticks to the header that the operator names, and the answer names its version.
    @Test("a candidate's share sticks to the header that `sticky` names; a version in the path is not replaced")
    func aShareSticksToItsSender() throws {
        let models = try Models(["1", "2"])
        let daemon = try Daemon(["--models", models.folder.path])
        let plan = #"{"serve": "1", "candidate": {"version": "2", "share": 0.5, "sticky": "X-User"}}"#
        #expect(try Self.put(plan, to: daemon).status == 200)
        var versions: [String: Set<String>] = [:]
        for _ in 0..<2 {
            for user in 0..<12 {
                let answer = try Curl.run(
                    daemon.url + "/v1/models/ten/classify", Self.picture + ["-H", "X-User: user\(user)"])
                versions["\(user)", default: []].insert(answer.json["version"] as? String ?? "none")
            }
        }
        #expect(versions.values.allSatisfy { $0.count == 1 }, "\(versions)")
        #expect(Set(versions.values.joined()) == ["1", "2"], "\(versions)")
        // A version in the path is not replaced.
        #expect(try Self.version(daemon, "/versions/1") == "1" && Self.version(daemon, "/versions/candidate") == "2")
        #expect(daemon.stop() == 0)
    }
}

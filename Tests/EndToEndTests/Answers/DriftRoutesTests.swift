import Foundation
import TestSupport
import Testing

/// Whether pictures are still like those of the reference, asked of the real binary.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct DriftRoutesTests {
    private static let on = ["--drift", "true", "--drift-every", "0", "--drift-reference", "400"]
    private static let seven = ["--data-binary", "@" + BadInputTests.seven.path]
    private static let learn = ["--data", #"{"reference": "recent"}"#]

    private static func folder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-drift-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    /// One form of several pictures.
    private static func send(
        _ pictures: [Data], to daemon: Daemon, _ path: String = "/v1/classify", expecting status: Int = 200
    ) throws {
        var body = Data()
        for picture in pictures {
            body += Data("--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"p\"\r\n\r\n".utf8)
            body += picture + Data("\r\n".utf8)
        }
        body += Data("--b--\r\n".utf8)
        let answer = try Curl.run(
            daemon.url + path, ["-H", "Content-Type: multipart/form-data; boundary=b", "--data-binary", "@-"],
            input: body)
        #expect(answer.status == status, "\(answer.text)")
    }

    private static func state(_ daemon: Daemon, _ model: String = "digits") throws -> [String: Any] {
        let answer = try Curl.run(daemon.url + "/v1/models/\(model)/drift")
        #expect(answer.status == 200, "\(answer.text)")
        return answer.json
    }

    private static func pictures(_ state: [String: Any], _ span: String = "reference") -> Int {
        (state[span] as? [String: Any])?["pictures"] as? Int ?? -1
    }

    private static func signals(_ state: [String: Any]) -> [[String: Any]] {
        state["signals"] as? [[String: Any]] ?? []
    }

    private static func drifted(_ state: [String: Any]) -> [String] {
        signals(state).filter { $0["drifted"] as? Bool == true }.compactMap { $0["name"] as? String }
    }

    /// Sends pictures until a state is reached: they count after their answers are sent.
    private static func send(
        _ count: Int, _ change: DriftPicture.Change, _ maker: inout DriftPicture, to daemon: Daemon
    ) throws {
        for _ in 0..<count / 50 { try send((0..<50).map { _ in maker.next(change) }, to: daemon) }
    }

    private static func wait(
        _ daemon: Daemon, _ model: String = "digits", until holds: ([String: Any]) -> Bool
    ) throws -> [String: Any] {
        var state: [String: Any] = [:]
        try eventually {
            state = try self.state(daemon, model)
            return holds(state)
        }
        return state
    }

    @Test("without the setting drift the route is 404 and names it; a model that does not exist is 404 too")
    func offByDefault() throws {
        let daemon = try Daemon()
        let answer = try Curl.run(daemon.url + "/v1/models/digits/drift")
        #expect(
            answer.status == 404 && answer.code == "not_found" && answer.error.contains("`drift`"), "\(answer.text)")
        let unknown = try Curl.run(daemon.url + "/v1/models/nothing/drift")
        #expect(unknown.status == 404 && unknown.code == "model_not_found", "\(unknown.text)")
        #expect(try Curl.run(daemon.url + "/v1/models/digits/drift", Self.learn).status == 404)
        #expect(!(try Curl.run(daemon.url + "/metrics").text.contains("\nocelli_drifted{")))
        daemon.stop()
    }

    @Test("POST takes {\"reference\": \"recent\"} alone, and PUT is 405")
    func otherBodiesAreRefused() throws {
        let daemon = try Daemon(Self.on)
        let path = daemon.url + "/v1/models/digits/drift"
        for body in [
            "", "{}", "[]", "\"recent\"", #"{"reference": "all"}"#, #"{"reference": null}"#,
            #"{"reference": "recent", "more": 1}"#, #"{"reference": "recent""#, String(repeating: " ", count: 2_000),
        ] {
            let answer = try Curl.run(path, ["--data-binary", body])
            #expect(answer.status == 400 && answer.code == "bad_request", "\(body.prefix(60)): \(answer.text)")
        }
        #expect(try Curl.run(path, Self.learn).status == 200)
        #expect(try Curl.run(path, ["-X", "PUT", "--data", "{}"]).status == 405)
        daemon.stop()
    }

    /// The signal that names each change; others may drift too.
    private static let named: KeyValuePairs<DriftPicture.Change, String> = [
        .blur: "sharpness", .noise: "sharpness", .brighter: "brightness", .cast: "brightness", .covered: "contrast",
        .mix: "labels",
    ]

    @Test("a change of the camera is found within 500 pictures and named, and none before; learning anew ends it")
    func changesAreFound() throws {
        let seed = SplitMix.seed(for: "changesAreFound")
        var maker = DriftPicture(seed: seed)
        let daemon = try Daemon(Self.on)
        var random = SplitMix(seed: seed)
        // A change takes 1,200 pictures: two of them, others with each seed; all in .ci/nightly.
        for (change, signal) in Self.named.shuffled(using: &random).prefix(LongTests.times(2, long: 6)) {
            try Self.send(200, .none, &maker, to: daemon)
            let learning = try Self.wait(daemon) { Self.pictures($0) == 200 }
            #expect(learning["state"] as? String == "learning", "\(change): \(learning), seed \(seed)")
            try Self.send(500, .none, &maker, to: daemon)
            let steady = try Self.wait(daemon) { Self.pictures($0, "recent") == 200 && Self.pictures($0) == 400 }
            #expect(steady["state"] as? String == "steady", "\(change): \(steady), seed \(seed)")
            #expect(
                Self.signals(steady).compactMap { $0["name"] as? String } == [
                    "confidence", "entropy", "labels", "brightness", "contrast", "sharpness", "size",
                ])
            try Self.send(500, change, &maker, to: daemon)
            let changed = try Self.wait(daemon) { Self.drifted($0).contains(signal) }
            #expect(Self.drifted(changed).contains(signal), "\(change): \(changed), seed \(seed)")
            #expect(changed["state"] as? String == "drifted")
            #expect(!Self.drifted(changed).contains("size"))
            let metrics = try Curl.run(daemon.url + "/metrics").text
            #expect(MetricsTests.value("ocelli_drifted{model=\"digits\"}", in: metrics) == 1)
            let evidence = "ocelli_drift_evidence{model=\"digits\",signal=\"\(signal)\"}"
            #expect((MetricsTests.value(evidence, in: metrics) ?? 0) > 0)
            // The last pictures may count a moment after their answers; none may be in the next reference.
            usleep(300_000)
            let anew = try Curl.run(daemon.url + "/v1/models/digits/drift", Self.learn)
            #expect(anew.json["state"] as? String == "learning" && Self.pictures(anew.json) == 0, "\(anew.text)")
        }
        #expect(daemon.log.contains("model digits has drifted: signal "), "\(daemon.log.suffix(2000))")
        daemon.stop()
    }

    @Test("the reference survives a reload, a restart, and a kill after the state has changed")
    func theReferenceIsKept() throws {
        try Self.folder { folder in
            var maker = DriftPicture(seed: SplitMix.seed(for: "theReferenceIsKept"))
            let flags = Self.on + ["--state-dir", folder.path]
            let daemon = try Daemon(flags)
            try Self.send(450, .none, &maker, to: daemon)
            let before = try Self.wait(daemon) { $0["state"] as? String == "steady" }
            daemon.signal(SIGHUP)
            #expect(daemon.waitForLog("reload: done"))
            let reloaded = try Self.state(daemon)
            #expect(reloaded["since"] as? String == before["since"] as? String && Self.pictures(reloaded) == 400)
            try Self.send(50, .none, &maker, to: daemon)
            let evidence = { (state: [String: Any]) in Self.signals(state).map { $0["evidence"] as? Double ?? -1 } }
            // The last answers count after they are sent.
            var last = try Self.state(daemon)
            try eventually {
                let next = try Self.state(daemon)
                defer { last = next }
                return evidence(next) == evidence(last) && evidence(next).contains { $0 > 0 }
            }
            #expect(daemon.stop() == 0)
            let again = try Daemon(flags)
            let kept = try Self.state(again)
            #expect(kept["since"] as? String == last["since"] as? String && Self.pictures(kept) == 400)
            #expect(evidence(kept) == evidence(last))
            try Self.send(500, .covered, &maker, to: again)
            _ = try Self.wait(again) { $0["state"] as? String == "drifted" }
            let file = folder.appendingPathComponent("drift/digits.1.json")
            eventually {
                (try? String(contentsOf: file, encoding: .utf8))?.contains("\"state\":\"drifted\"") ?? false
            }
            again.signal(SIGKILL)
            again.waitForExit()
            try Data("{".utf8).write(to: folder.appendingPathComponent("drift/other.1.json"))
            let third = try Daemon(flags)
            #expect(try Self.state(third)["state"] as? String == "drifted")
            #expect(third.waitForLog("other.1.json cannot be used"))
            third.stop()
        }
    }

    @Test("each picture of a form counts; errors, pictures that are none, and shared answers do not")
    func whatCounts() throws {
        var maker = DriftPicture(seed: SplitMix.seed(for: "whatCounts"))
        let daemon = try Daemon(Self.on + ["--answer-cache", "1MiB"])
        try Self.send([maker.next(.none), Data("no picture".utf8), maker.next(.none)], to: daemon)
        _ = try Self.wait(daemon) { Self.pictures($0) == 2 }
        #expect(try Curl.run(daemon.url + "/v1/classify", ["--data-binary", "no picture"]).status == 415)
        var statuses: [String] = []
        for _ in 0..<5 {
            statuses.append(try Curl.run(daemon.url + "/v1/classify", Self.seven).headers["cache-status"] ?? "")
        }
        let computed = statuses.count { $0 != "ocelli; hit" }
        #expect(computed < 5, "\(statuses)")
        try Self.send([maker.next(.none)], to: daemon)
        let state = try Self.wait(daemon) { Self.pictures($0) >= 3 + computed }
        #expect(Self.pictures(state) == 3 + computed, "\(state)")
        daemon.stop()
    }

    @Test("of one client one picture counts in the time of drift_every")
    func driftEvery() throws {
        let daemon = try Daemon(["--drift", "true", "--drift-every", "1h"])
        var maker = DriftPicture(seed: SplitMix.seed(for: "driftEvery"))
        for _ in 0..<3 { try Self.send((0..<10).map { _ in maker.next(.none) }, to: daemon) }
        let state = try Self.wait(daemon) { Self.pictures($0) == 1 }
        #expect(Self.pictures(state) == 1)
        daemon.stop()
    }

    @Test("runtime.drift of a model.json takes precedence over the setting")
    func aModelDecides() throws {
        try Self.folder { folder in
            let source = SharedData.packageRoot.appendingPathComponent("models/digits")
            for (name, drift) in [("watched", true), ("unwatched", false)] {
                let bundle = folder.appendingPathComponent(name), file = bundle.appendingPathComponent("model.json")
                try FileManager.default.copyItem(at: source, to: bundle)
                let text = try String(contentsOf: file, encoding: .utf8)
                let brace = text.firstIndex(of: "{") ?? text.startIndex
                let changed =
                    "{ \"runtime\": { \"drift\": \(drift) }," + text[text.index(after: brace)...]
                try changed.write(to: file, atomically: true, encoding: .utf8)
            }
            for setting in ["true", "false"] {
                let daemon = try Daemon(["--models", folder.path, "--drift", setting])
                #expect(try Curl.run(daemon.url + "/v1/models/watched/drift").status == 200, "\(daemon.log)")
                #expect(try Curl.run(daemon.url + "/v1/models/unwatched/drift").status == 404)
                #expect(try Curl.run(daemon.url + "/v1/models/watched/classify", Self.seven).status == 200)
                _ = try Self.wait(daemon, "watched") { Self.pictures($0) == 1 }
                daemon.stop()
            }
        }
    }

    @Test("embeddings have the signal vector, and taught models the signal known; a new version learns anew")
    func vectorsAndTaughtModels() throws {
        let server = try TaughtDaemon(["--drift", "true", "--drift-every", "0", "--drift-reference", "100"])
        func names(_ model: String) throws -> [String] {
            Self.signals(try Self.state(server.daemon, model)).compactMap { $0["name"] as? String }
        }
        try Self.send(
            (0..<30).map { TaughtPicture.png(kind: $0 % 2, number: $0) }, to: server.daemon, "/v1/models/embedder/embed"
        )
        // Twenty vectors make the direction.
        try eventually { try names("embedder") == ["brightness", "contrast", "sharpness", "size", "vector"] }
        #expect(Self.pictures(try Self.state(server.daemon, "embedder")) == 30)
        try server.create()
        try server.teach("a", form: (0..<4).map { TaughtPicture.png(kind: 0, number: $0) })
        try server.teach("b", form: (0..<4).map { TaughtPicture.png(kind: 1, number: $0) })
        try Self.send([TaughtPicture.png(kind: 0, number: 9)], to: server.daemon, "/v1/models/parts/classify")
        try eventually {
            try names("parts") == [
                "confidence", "entropy", "labels", "brightness", "contrast", "sharpness", "size", "known",
            ]
        }
        #expect(Self.pictures(try Self.state(server.daemon, "parts")) == 1)
        try server.teach("b", form: [TaughtPicture.png(kind: 1, number: 9)])
        #expect(Self.pictures(try Self.state(server.daemon, "parts")) == 0)
        // A model of the same name is another one.
        #expect(try server.delete("parts").status == 204)
        #expect(try server.get("/v1/models/parts/drift").status == 404)
    }
}

import Foundation
import TestSupport
import Testing

/// The routes of taught models with the real binary: their statuses, answers and errors.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TaughtRoutesTests {
    private func sha256(_ data: Data) throws -> String {
        String(try Shell.run("sha256sum", [], input: data).text.prefix(64))
    }

    private func pictures(_ kind: Int, _ numbers: Range<Int>) -> [Data] {
        numbers.map { TaughtPicture.png(kind: kind, number: $0) }
    }

    // MARK: Creating

    @Test("creating a taught model twice is harmless; a name in use, a wrong embedder or body is refused")
    func creating_isIdempotent_andNamesAreUnique() throws {
        let server = try TaughtDaemon()
        #expect(try server.get("/v1/taught").json["taught"] as? [Any] != nil)
        let made = try server.create()
        #expect(made.status == 201, "\(made.text)")
        let embedder = try #require(made.json["embedder"] as? [String: Any])
        #expect(embedder["model"] as? String == "embedder" && embedder["version"] as? String == "1")
        let digest = try #require(embedder["digest"] as? String)
        #expect(digest.wholeMatch(of: /sha256:[0-9a-f]{64}/) != nil)
        #expect(made.json["state"] as? String == "empty" && made.json["version"] is NSNull)
        #expect(made.json["method"] as? String == "auto" && made.json["evaluation"] is NSNull)
        #expect(made.json["evaluating"] as? Bool == false)
        let dimension =
            try Curl.run(
                server.url + "/v1/models/embedder/embed", ["--data-binary", "@-"],
                input: TaughtPicture.png(kind: 0, number: 0)
            ).json["dimension"] as? Int
        #expect(made.json["dimension"] as? Int == dimension)
        #expect(try server.create().status == 200)
        #expect(try server.put("parts", "{\"embedder\": \"embedder\"}").status == 200)
        for (name, body, status, code) in [
            ("parts", "{\"embedder\": \"digits\"}", 409, "conflict"),
            ("parts", "{\"embedder\": \"embedder\", \"method\": \"logistic\"}", 409, "conflict"),
            ("digits", "{\"embedder\": \"embedder\"}", 409, "conflict"),
            ("embedder", "{\"embedder\": \"embedder\"}", 409, "conflict"),
            ("other", "{\"embedder\": \"nothing\"}", 404, "model_not_found"),
            ("other", "{\"embedder\": \"digits\"}", 400, "invalid_input"),
            ("other", "{\"embedder\": \"parts\"}", 400, "invalid_input"),
            ("other", "{\"embedder\": 7}", 400, "invalid_input"), ("other", "{}", 400, "invalid_input"),
            ("other", "{\"embedder\": \"embedder\", \"method\": \"magic\"}", 400, "invalid_input"),
            ("other", "{\"embedder\": \"embedder\", \"metod\": \"auto\"}", 400, "invalid_input"),
            ("other", "{", 400, "bad_request"), ("other", "", 400, "bad_request"),
            (".hidden", "{\"embedder\": \"embedder\"}", 400, "bad_request"),
            (String(repeating: "n", count: 65), "{\"embedder\": \"embedder\"}", 400, "bad_request"),
            ("a%20b", "{\"embedder\": \"embedder\"}", 400, "bad_request"),
            ("%2E%2E%2Fx", "{\"embedder\": \"embedder\"}", 400, "bad_request"),
        ] {
            let answer = try server.put(name, body)
            #expect(answer.status == status && answer.code == code, "PUT \(name) \(body): \(answer.text)")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: server.store.path).filter { !$0.hasPrefix(".") }
        #expect(names == ["parts"])
        #expect(server.daemon.stop() == 0)
    }

    @Test(
        "a taught model with a fixed method is evaluated by that method, and classifies",
        arguments: ["nearest_mean", "logistic", "nearest_neighbors"])
    func aFixedMethod_staysTheMethod(_ method: String) throws {
        let server = try TaughtDaemon()
        #expect(try server.create(method: method).json["method"] as? String == method)
        try server.teachKinds(2, 6)
        let evaluation = try #require(try server.evaluated()["evaluation"] as? [String: Any])
        #expect(evaluation["method"] as? String == method)
        #expect(evaluation["by"] as? String == (method == "logistic" ? "10_fold" : "leave_one_out"))
        let answer = try server.classify(TaughtPicture.png(kind: 1, number: 99))
        #expect(answer.topLabel == "kind1", "\(answer.text)")
        let confidences = answer.classifications.compactMap { $0["confidence"] as? Double }
        #expect(confidences.count == 2 && abs(confidences.reduce(0, +) - 1) < 1e-5)
        #expect(server.daemon.stop() == 0)
    }

    // MARK: Examples

    @Test("a picture taught twice counts once, and moves when taught with another label")
    func anExample_isTaughtOnce_andMoves() throws {
        let server = try TaughtDaemon()
        try server.create()
        let picture = TaughtPicture.png(kind: 0, number: 0)
        let first = try server.teach("bolt", picture)
        #expect(first.status == 201, "\(first.text)")
        let id = try sha256(picture)
        func added(_ answer: Answer) -> [String: Any] { (answer.json["added"] as? [[String: Any]])?.first ?? [:] }
        #expect(added(first)["id"] as? String == id && added(first)["label"] as? String == "bolt")
        #expect(added(first)["new"] as? Bool == true && added(first)["moved"] == nil)
        #expect(first.json["version"] as? String == "1" && first.json["state"] as? String == "ready")
        let again = try server.teach("bolt", picture)
        #expect(again.status == 200 && added(again)["new"] as? Bool == false && again.json["version"] as? String == "1")
        let moved = try server.teach("nut", picture)
        #expect(moved.status == 201 && added(moved)["new"] as? Bool == false && added(moved)["moved"] as? Bool == true)
        #expect((moved.json["classes"] as? [[String: Any]])?.compactMap { $0["label"] as? String } == ["nut"])
        #expect(moved.json["version"] as? String == "2")
        let list = try server.get("/v1/taught/parts/examples").json["examples"] as? [[String: Any]]
        #expect(list?.count == 1 && list?.first?["id"] as? String == id && list?.first?["label"] as? String == "nut")
        let time = list?.first?["added"] as? String ?? ""
        #expect(try #require(ISO8601DateFormatter().date(from: time)).timeIntervalSinceNow > -3600)
        #expect((try server.get("/v1/taught/parts/examples?label=bolt").json["examples"] as? [Any])?.isEmpty == true)
        #expect((try server.get("/v1/taught/parts/examples?label=nut").json["examples"] as? [Any])?.count == 1)
        #expect(server.daemon.stop() == 0)
    }

    @Test("the list of examples has pages, and a wrong page is refused with the expected form")
    func examplesComeInPages() throws {
        let server = try TaughtDaemon()
        try server.create()
        let pictures = (0..<5).map { TaughtPicture.png(kind: $0 % 2, number: $0) }
        let teaching = try server.teach("bolt", form: pictures)
        #expect(teaching.status == 201, "\(teaching.text)")
        let oracle = try pictures.map { try Shell.run("sha256sum", [], input: $0).text.prefix(64) }.map(String.init)
            .sorted()
        var listed: [String] = [], after: String? = "", pages = 0
        while let place = after {
            let path = "/v1/taught/parts/examples?label=bolt&limit=2" + (place.isEmpty ? "" : "&after=\(place)")
            let answer = try server.get(path)
            let found = try #require(answer.json["examples"] as? [[String: Any]], "\(answer.text)")
            listed += found.compactMap { $0["id"] as? String }
            after = answer.json["next"] as? String
            pages += 1
        }
        #expect(listed == oracle && pages == 3)
        let whole = try server.get("/v1/taught/parts/examples")
        #expect((whole.json["examples"] as? [Any])?.count == 5 && whole.json["next"] is NSNull, "\(whole.text)")
        for (query, expected) in [
            ("limit=0", "from 1 to 10000, found \"0\""), ("limit=10001", "from 1 to 10000, found \"10001\""),
            ("limit=ten", "from 1 to 10000, found \"ten\""), ("after=31b2", "64 hexadecimal digits, found \"31b2\""),
            ("after=", "64 hexadecimal digits, found \"\""), ("page=2", "known: label, limit, after"),
        ] {
            let answer = try server.get("/v1/taught/parts/examples?" + query)
            #expect(
                answer.status == 400 && answer.text.replacing("\\\"", with: "\"").contains(expected), "\(answer.text)")
        }
        #expect(server.daemon.stop() == 0)
    }

    @Test("a form of examples teaches the usable pictures, and lists the others with their errors")
    func aForm_takesThePicturesThatCanBeUsed_andListsTheOthers() throws {
        let server = try TaughtDaemon()
        try server.create()
        let good = pictures(0, 0..<3)
        let answer = try server.teach("bolt", form: [good[0], nil, good[1], good[1], Data(good[2].prefix(60))])
        #expect(answer.status == 201, "\(answer.text)")
        let added = try #require(answer.json["added"] as? [[String: Any]])
        #expect(added.compactMap { $0["new"] as? Bool } == [true, true, false])
        let errors = try #require(answer.json["errors"] as? [[String: Any]])
        #expect(errors.compactMap { $0["part"] as? Int } == [2, 5])
        #expect(errors.compactMap { $0["code"] as? String } == ["unsupported_media_type", "invalid_image"])
        #expect((answer.json["classes"] as? [[String: Any]])?.first?["examples"] as? Int == 2)
        let none = try server.teach("bolt", form: [nil, nil])
        #expect(none.status == 400 && none.error.contains("part 1") && none.error.contains("part 2"), "\(none.text)")
        let all = try server.teach("bolt", form: [good[0], good[1]])
        #expect(all.status == 200, "\(all.text)")
        // The label may be a part of the form.
        let file = server.folder.appendingPathComponent("p.png")
        try good[2].write(to: file)
        let field = try Curl.run(
            server.url + "/v1/taught/parts/examples", ["-F", "image=@\(file.path)", "-F", "label=ein Bolzen"])
        #expect(field.status == 201 && field.text.contains("\"ein Bolzen\""), "\(field.text)")
        #expect(server.daemon.stop() == 0)
    }

    @Test("wrong requests to the routes of taught models are refused, and change nothing")
    func wrongRequests_areRefused_andChangeNothing() throws {
        let server = try TaughtDaemon(["--max-batch", "3"])
        try server.create()
        try server.teach("bolt", TaughtPicture.png(kind: 0, number: 0))
        let before = try server.evaluated()
        let picture = TaughtPicture.png(kind: 0, number: 1)
        let long = String(repeating: "x", count: 257)
        for (path, status, code) in [
            ("parts/examples", 400, "bad_request"), ("parts/examples?label=", 400, "bad_request"),
            ("parts/examples?label=\(long)", 400, "bad_request"), ("parts/examples?label=a%0Ab", 400, "bad_request"),
            ("parts/examples?label=a&lable=b", 400, "bad_request"),
            ("parts/examples?label=a&label=b", 400, "bad_request"),
            ("parts/examples?label=a&explain=png", 400, "bad_request"),
            ("nothing/examples?label=a", 404, "not_found"),
        ] {
            let answer = try Curl.run(server.url + "/v1/taught/" + path, ["--data-binary", "@-"], input: picture)
            #expect(answer.status == status && answer.code == code, "\(path): \(answer.text)")
        }
        let text = try server.teach("a", Data("no picture".utf8))
        #expect(text.status == 415 && text.code == "unsupported_media_type", "\(text.text)")
        let cut = try server.teach("a", Data(picture.prefix(100)))
        #expect(cut.status == 400 && cut.code == "invalid_image", "\(cut.text)")
        let many = try server.teach("a", form: pictures(1, 0..<4))
        #expect(many.status == 400 && many.error.contains("max_batch"), "\(many.text)")
        for path in [
            "nothing", "parts/examples/" + String(repeating: "0", count: 64), "parts/examples/seven",
            "parts/classes?label=nut",
        ] {
            let answer = try server.delete(path)
            #expect(answer.status == 404 && answer.code == "not_found", "\(path): \(answer.text)")
        }
        #expect(try server.delete("parts/classes").status == 400)
        #expect(try server.get("/v1/taught/nothing").code == "not_found")
        for version in ["9", "0", "-1", "x", "01"] {
            let answer = try server.post("parts/versions/\(version)/serve")
            #expect(answer.status == 404 && answer.code == "version_not_found", "\(version): \(answer.text)")
        }
        for (method, path, allow) in [
            ("POST", "/v1/taught", "GET, HEAD"), ("PATCH", "/v1/taught/parts", "GET, HEAD, PUT, DELETE"),
            ("DELETE", "/v1/taught/parts/examples", "GET, HEAD, POST"), ("GET", "/v1/taught/parts/classes", "DELETE"),
        ] {
            let answer = try server.get(path, ["-X", method])
            #expect(answer.status == 405 && answer.headers["allow"] == allow, "\(method) \(path): \(answer.text)")
        }
        #expect(NSDictionary(dictionary: try server.evaluated()) == NSDictionary(dictionary: before))
        #expect(server.daemon.stop() == 0)
    }

    // MARK: Forgetting and versions

    @Test("a forgotten example is gone from answers, versions and files")
    func forgetting_reachesAnswersVersionsAndFiles() throws {
        let server = try TaughtDaemon()
        try server.create()
        try server.teachKinds(3, 4)
        let gone = TaughtPicture.png(kind: 1, number: 2)
        let id = try sha256(gone)
        #expect(try files(server, contain: id))
        let answer = try server.delete("parts/examples/\(id)")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(try !files(server, contain: id))
        #expect((answer.json["versions"] as? [[String: Any]])?.compactMap { $0["version"] as? String } == ["1", "4"])
        #expect(try server.post("parts/versions/3/serve").code == "version_not_found")
        #expect(try server.delete("parts/examples/\(id)").status == 404)
        let classes = try server.delete("parts/classes?label=kind1")
        #expect(
            (classes.json["classes"] as? [[String: Any]])?.compactMap { $0["label"] as? String } == ["kind0", "kind2"])
        for number in 0..<4 { #expect(try !files(server, contain: sha256(TaughtPicture.png(kind: 1, number: number)))) }
        // The remaining classes answer as if only they had been taught.
        try server.create("alone")
        for kind in [0, 2] {
            try server.teach("kind\(kind)", form: pictures(kind, 0..<4), to: "alone")
        }
        _ = try (server.evaluated(), server.evaluated("alone"))
        for number in 20..<24 {
            let picture = TaughtPicture.png(kind: number % 3, number: number)
            let left = try server.classify(picture).json,
                alone = try server.classify(picture, "/v1/models/alone/classify").json
            for member in ["classifications", "distance", "known"] {
                #expect(left[member] as? NSObject == alone[member] as? NSObject, "\(member)")
            }
        }
        #expect(try server.delete("parts").status == 204)
        #expect(try server.get("/v1/taught/parts").status == 404)
        #expect(try server.classify(gone).code == "model_not_found")
        #expect(!FileManager.default.fileExists(atPath: server.store.appendingPathComponent("parts").path))
        #expect(server.daemon.stop() == 0)
    }

    /// True if a file of the store has an id, as bytes or as text, or is named by it.
    private func files(_ server: TaughtDaemon, contain id: String) throws -> Bool {
        let bytes = Data(
            stride(from: 0, to: 64, by: 2).map { place in
                let start = id.index(id.startIndex, offsetBy: place)
                return UInt8(id[start..<id.index(start, offsetBy: 2)], radix: 16) ?? 0
            })
        let paths = FileManager.default.enumerator(atPath: server.store.path)?.allObjects as? [String] ?? []
        return try paths.contains { path in
            if path.contains(id) { return true }
            var isFolder: ObjCBool = false
            let file = server.store.appendingPathComponent(path)
            _ = FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder)
            guard !isFolder.boolValue else { return false }
            let content = try Data(contentsOf: file)
            return content.range(of: bytes) != nil || content.range(of: Data(id.utf8)) != nil
        }
    }

    @Test("an older version of a taught model answers by its number, and can serve again")
    func versions_serveAgain_andAnswerByNumber() throws {
        let server = try TaughtDaemon(["--taught-keep-versions", "3"])
        try server.create()
        try server.teach("kind0", TaughtPicture.png(kind: 0, number: 0))
        try server.teach("kind1", TaughtPicture.png(kind: 1, number: 0))
        _ = try server.evaluated()
        let stranger = TaughtPicture.png(kind: 1, number: 7)
        #expect(try server.classify(stranger).topLabel == "kind1")
        let old = try server.classify(stranger, "/v1/models/parts/versions/1/classify")
        #expect(old.status == 200 && old.topLabel == "kind0" && old.json["version"] as? String == "1", "\(old.text)")
        #expect(try server.classify(stranger, "/v1/models/parts/versions/7/classify").code == "version_not_found")
        let served = try server.post("parts/versions/1/serve")
        #expect(served.status == 200 && served.json["version"] as? String == "1", "\(served.text)")
        #expect((served.json["classes"] as? [[String: Any]])?.compactMap { $0["label"] as? String } == ["kind0"])
        #expect(try server.classify(stranger).topLabel == "kind0")
        // The next change starts from all examples.
        let next = try server.teach("kind2", TaughtPicture.png(kind: 2, number: 0))
        #expect((next.json["classes"] as? [Any])?.count == 3 && next.json["version"] as? String == "3", "\(next.text)")
        try server.teach("kind2", TaughtPicture.png(kind: 2, number: 1))
        let kept = try server.get("/v1/taught/parts").json["versions"] as? [[String: Any]]
        #expect(kept?.compactMap { $0["version"] as? String } == ["2", "3", "4"])
        #expect(server.daemon.stop() == 0)
    }

    @Test("changes and evaluations of a taught model are logged, and counted in /metrics")
    func changes_areLogged_andCounted() throws {
        let server = try TaughtDaemon()
        try server.create()
        try server.teachKinds(2, 3)
        try server.teach("kind1", TaughtPicture.png(kind: 0, number: 0))
        #expect(try server.delete("parts/classes?label=kind0").status == 200)
        for line in [
            "taught parts: created with the embedder embedder version 1",
            "taught parts: version 1: 3 new examples; 3 examples of 1 class",
            "0 new examples, 1 moved; 6 examples of 2 classes", "a class forgotten; 4 examples of 1 class",
            "examples are right when left out",
        ] {
            #expect(server.daemon.waitForLog(line), "\(line)")
        }
        let page = try server.get("/metrics").text
        let expected: [(name: String, value: Double)] = [
            ("models", 1), ("examples", 4), ("stale", 0), ("changes_total", 5), ("new_examples_total", 6),
        ]
        for (name, value) in expected {
            #expect(MetricsTests.value("ocelli_taught_\(name)", in: page) == value, "\(name)")
        }
        for name in ["bytes", "evaluations_total"] {
            #expect((MetricsTests.value("ocelli_taught_\(name)", in: page) ?? 0) > 0, "\(name)")
        }
        #expect(server.daemon.stop() == 0)
    }

    // MARK: Evaluation

    @Test("the evaluation of a taught model has its accuracy, Wilson's interval, advice and threshold")
    func theEvaluation_saysHowGoodItIs() throws {
        let server = try TaughtDaemon()
        try server.create()
        try server.teach("kind0", TaughtPicture.png(kind: 0, number: 0))
        let alone = try server.evaluated()
        let one = try #require(alone["evaluation"] as? [String: Any])
        #expect(one["accuracy"] is NSNull && one["interval"] is NSNull && one["threshold"] is NSNull)
        let first = try server.classify(TaughtPicture.png(kind: 0, number: 1))
        #expect(first.json["known"] is NSNull && first.json["distance"] is Double, "\(first.text)")
        try server.teachKinds(3, 5)
        let taught = try server.evaluated()
        let evaluation = try #require(taught["evaluation"] as? [String: Any])
        #expect(evaluation["version"] as? String == taught["version"] as? String)
        let examples = try #require(evaluation["examples"] as? Int),
            correct = try #require(evaluation["correct"] as? Int)
        #expect(examples == 15)
        #expect(abs((evaluation["accuracy"] as? Double ?? 0) - Double(correct) / 15) < 1e-9)
        // Wilson's interval by its definition.
        let interval = try #require(evaluation["interval"] as? [Double])
        let z = 1.959963984540054, n = 15.0, p = Double(correct) / n
        let middle = (p + z * z / (2 * n)) / (1 + z * z / n)
        let half = z / (1 + z * z / n) * (p * (1 - p) / n + z * z / (4 * n * n)).squareRoot()
        #expect(abs(interval[0] - (middle - half)) < 1e-9 && abs(interval[1] - min(1, middle + half)) < 1e-9)
        let advice = evaluation["advice"] as? String ?? ""
        #expect(
            evaluation["confusions"] is [Any] && advice.contains(correct == 15 ? "every picture" : "kind"), "\(advice)")
        let threshold = try #require(evaluation["threshold"] as? Double)
        let known = try server.classify(TaughtPicture.png(kind: 2, number: 40))
        let distance = try #require(known.json["distance"] as? Double)
        #expect(known.json["known"] as? Bool == (distance <= threshold), "\(known.text) \(threshold)")
        let stranger = try server.classify(CancellationPicture.png(width: 24, height: 24, hasColor: true))
        #expect(stranger.classifications.count == 3 && stranger.json["known"] as? Bool != nil, "\(stranger.text)")
        #expect(server.daemon.waitForLog("examples are right when left out"))
        #expect(server.daemon.stop() == 0)
    }
}

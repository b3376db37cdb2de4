import Foundation
import TestSupport
import Testing

/// Taught models together with other models: names, defaults, access, limits, and restarts.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TaughtServingTests {
    private static let picture = TaughtPicture.png(kind: 0, number: 0)

    @Test("without taught_dir each route of taught models gets 404 with the setting's name")
    func withoutTheSetting_everyRouteNamesIt() throws {
        let daemon = try Daemon()
        for (method, path) in [
            ("GET", ""), ("GET", "/x"), ("PUT", "/x"), ("DELETE", "/x"), ("GET", "/x/examples"),
            ("POST", "/x/examples?label=a"), ("DELETE", "/x/examples/1"), ("DELETE", "/x/classes?label=a"),
            ("POST", "/x/versions/1/serve"), ("POST", "/x/search"),
        ] {
            let answer = try Curl.run(daemon.url + "/v1/taught" + path, ["-X", method])
            #expect(answer.status == 404 && answer.code == "not_found", "\(method) \(path): \(answer.text)")
            #expect(answer.error.contains("`taught_dir`"), "\(answer.error)")
        }
        #expect(daemon.stop() == 0)
    }

    @Test("a taught model is listed, answers each classify route, and refuses other tasks with 400")
    func aTaughtModel_isListed_andAnswersEveryClassifyRoute() throws {
        let server = try TaughtDaemon(["--default-model", "parts", "--dialects", "deepstack,sagemaker"])
        try server.create()
        let empty = try server.classify(Self.picture)
        #expect(
            empty.status == 503 && empty.code == "model_not_ready" && empty.headers["retry-after"] != nil,
            "\(empty.text)")
        #expect(try server.get("/v1/models/parts").json["state"] as? String == "unloaded")
        try server.teachKinds(2, 3)
        _ = try server.evaluated()
        for path in ["/v1/classify", "/v1/models/parts/classify", "/v1/models/parts/versions/2/classify"] {
            let answer = try server.classify(Self.picture, path + "?top=1")
            #expect(
                answer.status == 200 && answer.topLabel == "kind0" && answer.classifications.count == 1,
                "\(answer.text)")
            #expect(answer.json["model"] as? String == "parts" && answer.json["version"] as? String == "2")
            #expect(answer.json["distance"] is Double && answer.json["known"] is Bool)
        }
        let maximum = try server.classify(Self.picture, "/v1/classify?top=3")
        #expect(maximum.status == 400 && maximum.error.contains("1 to 2"), "\(maximum.text)")
        let models = try server.get("/v1/models").json
        #expect(models["default"] as? String == "parts")
        let listed = try #require((models["models"] as? [[String: Any]])?.first { $0["name"] as? String == "parts" })
        #expect(
            listed["state"] as? String == "ready" && listed["labels"] as? Int == 2
                && listed["version"] as? String == "2")
        #expect(((listed["inputs"] as? [[String: Any]])?.first?["type"] as? String) == "image")
        #expect(try server.get("/v1/models/parts/versions/1").status == 200)
        #expect(try server.get("/v1/models/parts/versions/9").code == "version_not_found")
        for path in [
            "/v1/models/parts/embed", "/v1/models/parts/predict", "/v1/models/parts/detect", "/v2/models/parts/infer",
        ] {
            let answer = try server.classify(Self.picture, path)
            #expect(answer.status == 400 && answer.code == "invalid_input", "\(path): \(answer.text)")
        }
        for path in ["/v2/models/parts", "/v2/models/parts/config", "/v2/models/parts/stats"] {
            #expect(try server.get(path).status == 400, "\(path)")
        }
        // Other servers' routes that classify.
        let scene = try server.classify(Self.picture, "/v1/vision/scene").json
        #expect(scene["label"] as? String == "kind0" && scene["success"] as? Bool == true, "\(scene)")
        #expect(try server.classify(Self.picture, "/invocations").topLabel == "kind0")
        for verb in ["load", "unload"] {
            let answer = try Curl.run(server.url + "/v2/repository/models/parts/\(verb)", ["--data", "{}"])
            #expect(answer.status == 400 && answer.error.contains("taught"), "\(answer.text)")
        }
        // Other tasks have their own defaults.
        #expect(try server.classify(Self.picture, "/v1/embed").json["model"] as? String == "embedder")
        #expect(try server.get("/readyz").status == 200)
        #expect(server.daemon.stop() == 0)
    }

    @Test("a model file with the name of a taught model is served only after the taught model is deleted")
    func aModelFile_thatAppearsUnderItsName_isNotServed() throws {
        let server = try TaughtDaemon()
        try server.create()
        try server.teachKinds(2, 2)
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("models/digits"),
            to: server.models.appendingPathComponent("parts"))
        server.daemon.signal(SIGHUP)
        #expect(server.daemon.waitForLog("reload: done"))
        func check() throws {
            #expect(try server.classify(Self.picture).topLabel == "kind0")
            let reason = try server.get("/v1/models/parts").json["reason"] as? String ?? ""
            #expect(reason.contains("is not served: a taught model has its name"), "\(reason)")
        }
        try check()
        try server.restart()
        try check()
        // After its deletion the name is free.
        #expect(try server.delete("parts").status == 204)
        #expect(try eventually { try server.get("/v1/models/parts").json["labels"] as? Int == 10 })
        #expect(try server.create().status == 409)
        #expect(server.daemon.stop() == 0)
    }

    // MARK: Access

    @Test("teaching needs a token of class teach, and listing taught models needs class read")
    func tokens_openTeachingByTheirClass() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-tokens-\(UUID().uuidString)")
        try
            "infer infer-token-0123456789\nread read-token-0123456789\nteach teach-token-0123456789\nadmin admin-token-0123456789\n"
            .write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try TaughtDaemon(["--tokens-file", file.path])
        func status(_ kind: String, _ method: String, _ path: String, _ body: Data = Data()) throws -> Int {
            try Curl.run(
                server.url + "/v1/taught" + path,
                ["-X", method, "-H", "Authorization: Bearer \(kind)-token-0123456789", "--data-binary", "@-"]
                    // With tokens, the origin of a request does not count.
                    + (kind == "teach" ? ["-H", "X-Forwarded-For: 192.0.2.1"] : []), input: body
            ).status
        }
        let body = Data("{\"embedder\": \"embedder\"}".utf8)
        for kind in ["infer", "read", "admin"] { #expect(try status(kind, "PUT", "/parts", body) == 403, "\(kind)") }
        #expect(try status("teach", "PUT", "/parts", body) == 201)
        #expect(try status("teach", "POST", "/parts/examples?label=a", Self.picture) == 201)
        for (method, path) in [
            ("GET", "/parts/examples"), ("POST", "/parts/examples?label=a"), ("DELETE", "/parts/examples/1"),
            ("DELETE", "/parts/classes?label=a"), ("POST", "/parts/versions/1/serve"), ("DELETE", "/parts"),
            ("POST", "/parts/search"),
        ] {
            for kind in ["infer", "read", "admin"] { #expect(try status(kind, method, path) == 403, "\(kind) \(path)") }
        }
        for (kind, expected) in [("read", 200), ("teach", 403), ("infer", 403)] {
            for path in ["", "/parts"] { #expect(try status(kind, "GET", path) == expected, "\(kind) \(path)") }
        }
        #expect(try Curl.run(server.url + "/v1/taught").status == 401)
        #expect(try status("teach", "GET", "/parts/examples") == 200)
        #expect(try status("teach", "POST", "/parts/search", Self.picture) == 200)
        #expect(try status("teach", "DELETE", "/parts") == 204)
        #expect(server.daemon.stop() == 0)
    }

    @Test("without tokens only local clients may teach, unless repository_control is all")
    func withoutTokens_onlyLocalClientsTeach() throws {
        let server = try TaughtDaemon()
        try server.create()
        try server.teach("a", Self.picture)
        let body = "{\"embedder\": \"embedder\"}"
        for field in ["X-Forwarded-For: 203.0.113.7", "Origin: http://evil.example", "Host: evil.example"] {
            for (method, path) in [
                ("PUT", "/other"), ("POST", "/parts/examples?label=a"), ("GET", "/parts/examples"),
                ("DELETE", "/parts/classes?label=a"), ("POST", "/parts/versions/1/serve"), ("DELETE", "/parts"),
                ("POST", "/parts/search"),
            ] {
                let answer = try Curl.run(
                    server.url + "/v1/taught" + path, ["-X", method, "-H", field, "--data-binary", body])
                #expect(
                    answer.status == 403 && answer.code == "forbidden", "\(field) \(method) \(path): \(answer.text)")
                #expect(answer.error.contains("teaching is not allowed"), "\(answer.error)")
            }
            #expect(try server.get("/v1/taught/parts", ["-H", field]).status == 200)
        }
        // Pages that may request predictions may not teach.
        let page = "http://page.example", shared = try TaughtDaemon(["--cors-origins", page])
        let refused = try shared.put("other", body, ["-H", "Origin: \(page)"])
        #expect(refused.status == 403 && refused.headers["access-control-allow-origin"] == nil, "\(refused.text)")
        #expect(try shared.get("/v1/taught", ["-H", "Origin: \(page)"]).status == 200)
        #expect(shared.daemon.stop() == 0)
        let open = try TaughtDaemon(["--repository-control", "all"])
        #expect(try open.put("parts", body, ["-H", "X-Forwarded-For: 203.0.113.7"]).status == 201)
        #expect(open.daemon.stop() == 0 && server.daemon.stop() == 0)
    }

    // MARK: Limits

    @Test("a change beyond a limit of taught models gets 507 with the setting's name, and changes nothing")
    func limits_are507_andNothingIsChanged() throws {
        let server = try TaughtDaemon([
            "--taught-max-models", "1", "--taught-max-classes", "2", "--taught-max-examples", "3", "--taught-max-bytes",
            "20KiB",
        ])
        try server.create()
        let models = try server.create("second")
        #expect(models.status == 507 && models.code == "storage_full" && models.error.contains("`taught_max_models`"))
        #expect(try server.get("/v1/taught/second").status == 404)
        try server.teach("a", TaughtPicture.png(kind: 0, number: 0))
        try server.teach("b", TaughtPicture.png(kind: 1, number: 0))
        let before = try server.evaluated()
        for (answer, setting) in [
            (try server.teach("c", TaughtPicture.png(kind: 2, number: 0)), "taught_max_classes"),
            (
                try server.teach("a", form: [1, 2, 3].map { TaughtPicture.png(kind: 0, number: $0) }),
                "taught_max_examples"
            ),
        ] {
            #expect(answer.status == 507 && answer.code == "storage_full", "\(answer.text)")
            #expect(answer.error.contains("`\(setting)`"), "\(answer.error)")
            #expect(NSDictionary(dictionary: try server.evaluated()) == NSDictionary(dictionary: before))
        }
        #expect(server.daemon.stop() == 0)
        let bytes = try TaughtDaemon(["--taught-max-bytes", "4KiB"])
        try bytes.create()
        var taught = 0, full: Answer?
        for number in 0..<200 where full == nil {
            let answer = try bytes.teach("a", TaughtPicture.png(kind: 0, number: number))
            if answer.status == 201 { taught += 1 } else { full = answer }
        }
        #expect(
            full?.status == 507 && full?.error.contains("`taught_max_bytes`") == true, "\(full?.text ?? "no limit")")
        let list = try bytes.get("/v1/taught/parts/examples").json["examples"] as? [Any]
        #expect(taught > 0 && list?.count == taught)
        #expect(try bytes.classify(Self.picture).status == 200)
        #expect(bytes.daemon.stop() == 0)
    }

    /// A file system in the test's own namespace: a full disk that harms no one else.
    @Test(
        "a full disk refuses an example with 507, and the taught model keeps its examples and answers",
        .enabled(if: TaughtServingTests.canMount, "needs mount(2) in a namespace: unshare -rm"))
    func aFullDisk_is507_andNothingIsChanged() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-full-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let mount = "mount -t tmpfs -o size=64k none \(folder.path) && exec \"$0\" \"$@\""
        let daemon = try Daemon(
            ["--models", TaughtDaemon.embedder.path, "--taught-dir", folder.path + "/taught"],
            launcher: ["unshare", "-rm", "sh", "-c", mount])
        let base = daemon.url + "/v1/taught/parts"
        #expect(try Curl.run(base, ["-X", "PUT", "--data", "{\"embedder\": \"embedder\"}"]).status == 201)
        var taught = 0, full: Answer?
        for number in 0..<2000 where full == nil {
            let answer = try Curl.run(
                base + "/examples?label=a", ["--data-binary", "@-"], input: TaughtPicture.png(kind: 0, number: number))
            if answer.status == 201 { taught += 1 } else { full = answer }
        }
        #expect(full?.status == 507 && full?.code == "storage_full", "\(full?.text ?? "never full")")
        #expect(full?.error.contains("taught_dir") == true, "\(full?.error ?? "")")
        let list = try Curl.run(base + "/examples").json["examples"] as? [Any]
        #expect(list?.count == taught)
        let answer = try Curl.run(
            daemon.url + "/v1/models/parts/classify", ["--data-binary", "@-"], input: Self.picture)
        #expect(answer.topLabel == "a", "\(answer.text)")
        for example in list ?? [] {
            let id = (example as? [String: Any])?["id"] as? String ?? ""
            let forgotten = try Curl.run(base + "/examples/\(id)", ["-X", "DELETE"])
            #expect(forgotten.status == 200, "\(forgotten.text)")
        }
        #expect(try Curl.run(base).json["state"] as? String == "empty")
        #expect(daemon.stop() == 0)
    }

    static let canMount =
        (try? Shell.run("unshare", ["-rm", "sh", "-c", "mount -t tmpfs none /mnt"]).status) == 0

    // MARK: Restarts

    @Test("a taught model is the same after a restart and after kill -9")
    func aRestart_keepsEverything() throws {
        let server = try TaughtDaemon()
        try server.create()
        try server.teachKinds(3, 4)
        let before = try server.evaluated()
        let answer = try server.classify(TaughtPicture.png(kind: 2, number: 30)).json
        for isKilled in [false, true] {
            try server.restart(killing: isKilled)
            #expect(NSDictionary(dictionary: try server.evaluated()) == NSDictionary(dictionary: before))
            let now = try server.classify(TaughtPicture.png(kind: 2, number: 30)).json
            for member in ["classifications", "distance", "known", "version"] {
                #expect(now[member] as? NSObject == answer[member] as? NSObject, "\(member)")
            }
        }
        #expect(server.daemon.stop() == 0)
    }

    @Test("a taught_dir in use by another daemon or inside a models folder ends the start")
    func wrongFolders_areSaidAtTheStart() throws {
        let server = try TaughtDaemon()
        // The folder belongs to one daemon.
        #expect(throws: Daemon.Failure.self) { try Daemon(server.flags) }
        let inside = server.models.appendingPathComponent("taught").path
        do {
            _ = try Daemon(["--models", server.models.path, "--taught-dir", inside])
            Issue.record("it started with taught_dir in a model folder")
        } catch let error as Daemon.Failure {
            #expect(error.description.contains("taught_dir"), "\(error)")
        }
        #expect(server.daemon.stop() == 0)
    }

    @Test("a damaged taught model is unreadable with 503, and can be deleted and created again")
    func aDamagedModel_isSaid_andCanBeDeleted() throws {
        let server = try TaughtDaemon()
        try server.create()
        try server.teachKinds(2, 2)
        server.daemon.stop()
        let journal = server.store.appendingPathComponent("parts/journal")
        var bytes = try Data(contentsOf: journal)
        bytes[40] ^= 0xFF
        try bytes.write(to: journal)
        try server.restart()
        #expect(server.daemon.log.contains("taught parts: "), "\(server.daemon.log)")
        let answer = try server.classify(Self.picture)
        #expect(answer.status == 503 && answer.error.contains("cannot be read"), "\(answer.text)")
        #expect(try server.get("/v1/models/parts").json["state"] as? String == "failed")
        #expect(try server.get("/v1/taught").text.contains("unreadable"))
        #expect(try server.create().status == 503)
        #expect(try server.delete("parts").status == 204)
        #expect(try server.create().status == 201)
        #expect(server.daemon.stop() == 0)
    }
}

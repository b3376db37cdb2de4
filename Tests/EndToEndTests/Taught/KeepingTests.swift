import Foundation
import TestSupport
import Testing

/// Kept pictures with the real binary: which are kept, their routes, and what deletes them.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct KeepingTests {
    @Test("uncertain pictures are kept once with the bytes as sent, and listed newest first")
    func uncertainPicturesAreKept() throws {
        let server = try KeepingDaemon()
        let pictures = (0..<5).map { KeepingDaemon.picture($0) }
        let ids = try pictures.map { try KeepingDaemon.sha256($0) }
        let seven = try Data(contentsOf: BadInputTests.seven)
        for (picture, id) in zip(pictures, ids) {
            #expect(try server.classify(picture).status == 200)
            try server.classify(seven)
            #expect(try eventually { try server.ids().contains(id) })
        }
        try server.classify(pictures[0])
        let list = try server.list()
        #expect(Set(try server.ids()) == Set(ids) && list.count == 5)
        let times = list.compactMap { $0["at"] as? String }
        #expect(times == times.sorted(by: >) && times.count == 5, "\(times)")
        for (picture, id) in zip(pictures, ids) {
            let one = try #require(list.first { $0["id"] as? String == id })
            #expect(one["model"] as? String == "digits" && one["version"] as? String == "1")
            #expect(one["why"] as? [String] == ["uncertain"])
            #expect(one["bytes"] as? Int == picture.count && one["type"] as? String == "image/png")
            let answer = try server.get("/\(id)")
            #expect(answer.status == 200 && answer.body == picture)
            #expect(answer.headers["content-type"] == "image/png")
            #expect(answer.headers["x-content-type-options"] == "nosniff")
            #expect(answer.headers["content-disposition"]?.hasPrefix("attachment") == true)
        }
        #expect(try server.get("/\(ids[0].uppercased())").body == pictures[0])
        #expect(try server.metric("ocelli_kept_pictures") == 5)
        #expect(try server.metric("ocelli_kept_total{model=\"digits\",why=\"uncertain\"}") == 5)
        let sizes = try server.names.map { try Data(contentsOf: server.store.appendingPathComponent($0)).count }
        #expect(try server.metric("ocelli_kept_bytes") == Double(sizes.reduce(0, +)))
        #expect(server.names == ids.flatMap { [$0, $0 + ".json"] }.sorted())
        for name in server.names {
            let attributes = try FileManager.default.attributesOfItem(
                atPath: server.store.appendingPathComponent(name).path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        #expect(server.daemon.stop() == 0)
    }

    @Test("pages of the list, by model and by reason")
    func theListHasPages() throws {
        let server = try KeepingDaemon()
        for number in 0..<5 { try server.classify(KeepingDaemon.picture(number)) }
        #expect(try eventually { try server.ids().count == 5 })
        let all = try server.ids()
        for byNext in [true, false] {
            var found: [String] = [], after: String?
            repeat {
                let page = try server.get("?limit=2" + (after.map { "&after=\($0)" } ?? ""))
                let ids = (page.json["kept"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
                #expect(ids.count <= 2)
                found += ids
                after = byNext ? page.json["next"] as? String : ids.last
            } while after != nil && found.count < 10
            #expect(found == all)
        }
        #expect(try server.ids("?model=digits&why=uncertain").count == 5)
        for query in ["?model=other", "?why=unknown", "?why=disagree"] { #expect(try server.ids(query).isEmpty) }
        for query in ["?limit=0", "?limit=1001", "?why=odd", "?after=7", "?modell=digits"] {
            let answer = try server.get(query)
            #expect(answer.status == 400 && answer.code == "bad_request", "\(query): \(answer.text)")
        }
        #expect(server.daemon.stop() == 0)
    }

    @Test("a request with Cache-Control: no-store is never kept, nor one that failed")
    func whatMayNotBeKeptIsNot() throws {
        let server = try KeepingDaemon()
        for value in ["no-store", "no-cache, No-Store", "max-age=0,no-store"] {
            try server.classify(KeepingDaemon.picture(0), ["-H", "Cache-Control: \(value)"])
        }
        try server.classify(Data("no picture".utf8))
        _ = try Curl.run(
            server.url + "/v1/models/embedder/embed", ["--data-binary", "@-"], input: KeepingDaemon.picture(1))
        // The earlier ones were decided on when this one is kept.
        try server.classify(KeepingDaemon.picture(2))
        #expect(try eventually { try !server.ids().isEmpty })
        #expect(try server.ids() == [KeepingDaemon.sha256(KeepingDaemon.picture(2))])
        #expect(server.daemon.stop() == 0)
    }

    @Test("a kept picture is deleted for good by its id, and all of a model by its name")
    func keptPicturesAreDeleted() throws {
        let server = try KeepingDaemon()
        for number in 0..<3 { try server.classify(KeepingDaemon.picture(number)) }
        #expect(try eventually { try server.ids().count == 3 })
        let id = try KeepingDaemon.sha256(KeepingDaemon.picture(0))
        #expect(try server.delete("/\(id)").status == 204)
        #expect(!server.names.contains { $0.hasPrefix(id) })
        for path in ["/\(id)", "/none", "/\(id)0", "/\(String(repeating: "g", count: 64))"] {
            for answer in [try server.get(path), try server.delete(path)] {
                #expect(answer.status == 404 && answer.code == "not_found", "\(path): \(answer.text)")
            }
        }
        for (query, status) in [("", 400), ("?modell=digits", 400), ("?model=other", 204)] {
            #expect(try server.delete(query).status == status, "\(query)")
        }
        #expect(try server.ids().count == 2)
        #expect(try server.delete("?model=digits").status == 204)
        #expect(server.names.isEmpty)
        #expect(try server.ids().isEmpty && server.metric("ocelli_kept_bytes") == 0)
        #expect(server.daemon.stop() == 0)
    }

    // MARK: Limits

    @Test("never more pictures than the rate are kept, the others are counted, and every request is answered")
    func theRateHolds() throws {
        let server = try KeepingDaemon(rate: 2)
        for number in 0..<6 { #expect(try server.classify(KeepingDaemon.picture(number)).status == 200) }
        #expect(try eventually { try server.metric("ocelli_kept_dropped_total{reason=\"rate\"}") == 4 })
        #expect(try server.ids().count == 2)
        #expect(server.daemon.stop() == 0)
    }

    @Test("kept pictures survive a restart and SIGKILL at any instant, whole or not at all")
    func aKillLeavesWholePictures() throws {
        let server = try KeepingDaemon(rate: 100_000)
        var random = SplitMix(seed: SplitMix.seed(for: "aKillLeavesWholePictures"))
        var number = 0
        for _ in 0..<LongTests.times(4, long: 40) {
            let form = (0..<20).flatMap { _ -> [String] in
                number += 1
                let file = server.server.folder.appendingPathComponent("picture\(number).png")
                try? KeepingDaemon.picture(number).write(to: file)
                return ["-F", "image=@\(file.path)"]
            }
            let before = server.names.filter { $0.utf8.count == 64 }
            #expect(try Curl.run(server.url + "/v1/models/digits/classify", form).status == 200)
            usleep(UInt32.random(in: 0..<40_000, using: &random))
            try server.server.restart(killing: true)
            #expect(server.names.allSatisfy { $0.utf8.count == 64 || $0.hasSuffix(".json") && $0.utf8.count == 69 })
            let ids = try server.ids("?limit=1000")
            #expect(Set(ids) == Set(server.names.filter { $0.utf8.count == 64 }))
            #expect(Set(before).isSubset(of: ids))
            for id in ids { #expect(try KeepingDaemon.sha256(server.get("/\(id)").body) == id) }
        }
        #expect(server.daemon.stop() == 0)
    }

    @Test(
        "on a full disk requests are answered, and pictures are dropped and counted",
        .enabled(if: TaughtServingTests.canMount, "needs mount(2) in a namespace: unshare -rm"))
    func aFullDiskDropsPictures() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-full-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let mount = "mount -t tmpfs -o size=64k none \(folder.path) && exec \"$0\" \"$@\""
        let daemon = try Daemon(
            [
                "--models", SharedData.packageRoot.appendingPathComponent("models").path, "--keep-dir",
                folder.path + "/kept", "--keep-margin", "0.9", "--keep-rate", "1000",
            ], launcher: ["unshare", "-rm", "sh", "-c", mount])
        for number in 0..<30 {
            let answer = try Curl.run(
                daemon.url + "/v1/classify", ["--data-binary", "@-"], input: KeepingDaemon.picture(number))
            #expect(answer.status == 200, "\(answer.text)")
        }
        func metric(_ sample: String) throws -> Double {
            MetricsTests.value(sample, in: try Curl.run(daemon.url + "/metrics").text) ?? 0
        }
        #expect(try eventually { try metric("ocelli_kept_dropped_total{reason=\"disk_full\"}") > 0 })
        #expect(
            try eventually {
                try metric("ocelli_kept_dropped_total{reason=\"disk_full\"}") + metric("ocelli_kept_pictures") == 30
            })
        #expect(daemon.log.components(separatedBy: "pictures are not kept").count == 2, "\(daemon.log)")
        // Deleting works on a full disk.
        #expect(try Curl.run(daemon.url + "/v1/kept?model=digits", ["-X", "DELETE"]).status == 204)
        #expect(try metric("ocelli_kept_pictures") == 0)
        #expect(daemon.stop() == 0)
    }

    // MARK: Access

    @Test("kept pictures need a token of class teach, and without tokens a local client")
    func keptPicturesAreNotForAll() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-tokens-\(UUID().uuidString)")
        try
            "infer infer-token-0123456789\nread read-token-0123456789\nteach teach-token-0123456789\nadmin admin-token-0123456789\n"
            .write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let guarded = try KeepingDaemon(["--tokens-file", file.path]), open = try KeepingDaemon()
        let id = String(repeating: "a", count: 64)
        for (method, path, status) in [
            ("GET", "", 200), ("GET", "/\(id)", 404), ("DELETE", "/\(id)", 404), ("DELETE", "?model=digits", 204),
        ] {
            for kind in ["infer", "read", "admin", "teach"] {
                let answer = try guarded.get(
                    path, ["-X", method, "-H", "Authorization: Bearer \(kind)-token-0123456789"])
                #expect(answer.status == (kind == "teach" ? status : 403), "\(kind) \(method) \(path): \(answer.text)")
            }
            #expect(try guarded.get(path, ["-X", method]).status == 401)
            #expect(try open.get(path, ["-X", method]).status == status)
            for field in ["X-Forwarded-For: 203.0.113.7", "Origin: http://evil.example", "Host: evil.example"] {
                let answer = try open.get(path, ["-X", method, "-H", field])
                #expect(answer.status == 403 && answer.code == "forbidden", "\(field) \(method): \(answer.text)")
            }
        }
        #expect(guarded.daemon.stop() == 0 && open.daemon.stop() == 0)
    }

    @Test("without keep_dir the routes are 404 and name it; a folder that cannot be it ends the start")
    func theFolderIsChecked() throws {
        let plain = try TaughtDaemon()
        for answer in [try plain.get("/v1/kept"), try plain.get("/v1/kept?model=digits", ["-X", "DELETE"])] {
            #expect(answer.status == 404 && answer.error.contains("keep_dir"), "\(answer.text)")
        }
        let server = try KeepingDaemon()
        let other = server.server.folder.appendingPathComponent("other")
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
        try Data("mine".utf8).write(to: other.appendingPathComponent("notes.txt"))
        for folder in [
            server.store.path, server.server.models.appendingPathComponent("kept").path, other.path, plain.store.path,
        ] {
            do {
                _ = try Daemon(
                    [
                        "--models", server.server.models.path, "--taught-dir", plain.store.path + "-none", "--keep-dir",
                        folder,
                    ])
                Issue.record("it started with keep_dir \(folder)")
            } catch let error as Daemon.Failure {
                #expect(error.description.contains("keep_dir"), "\(error)")
            }
        }
        try? FileManager.default.removeItem(atPath: plain.store.path + "-none")
        #expect(plain.daemon.stop() == 0 && server.daemon.stop() == 0)
    }

    // MARK: Taught models and rollouts

    @Test("a picture that a taught model does not know is kept, and forgetting it deletes it before the answer")
    func forgettingDeletesKeptPictures() throws {
        let server = try KeepingDaemon(margin: 0)
        try server.server.create()
        try server.server.teachKinds(2, 6)
        _ = try server.server.evaluated()
        // Pictures of other kinds, which differ from all examples.
        var unknown: [Data] = []
        for number in 0..<40 where unknown.count < 3 {
            let picture = TaughtPicture.png(kind: 2 + number % 6, number: number)
            let answer = try server.classify(picture, model: "parts")
            if answer.json["known"] as? Bool == false { unknown.append(picture) }
        }
        try #require(unknown.count == 3)
        let ids = try unknown.map { try KeepingDaemon.sha256($0) }
        #expect(try eventually { try Set(server.ids("?why=unknown&model=parts")) == Set(ids) })
        for (picture, label) in zip(unknown, ["x", "y", "z"]) {
            #expect(try server.server.teach(label, picture).status == 201)
        }
        // Teaching keeps them; forgetting an example, a class and the model does not.
        #expect(try server.ids().count == 3)
        #expect(try server.server.delete("parts/examples/\(ids[0])").status == 200)
        #expect(Set(try server.ids()) == Set(ids[1...]) && !server.names.contains { $0.hasPrefix(ids[0]) })
        #expect(try server.server.delete("parts/classes?label=y").status == 200)
        #expect(try server.ids() == [ids[2]] && !server.names.contains { $0.hasPrefix(ids[1]) })
        #expect(try server.server.delete("parts").status == 204)
        #expect(try server.ids().isEmpty && server.names.isEmpty)
        #expect(server.daemon.stop() == 0)
    }

    @Test("a picture on which two versions disagree is kept, and one on which they agree is not")
    func disputedPicturesAreKept() throws {
        let models = try RolloutTests.Models(["1", "2"])
        try models.spoil("2")
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-kept-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let daemon = try Daemon(
            ["--models", models.folder.path, "--keep-dir", folder.path, "--keep-margin", "0", "--keep-rate", "1000"])
        let plan = #"{"serve": "1", "candidate": {"version": "2", "shadow": 1}}"#
        #expect(try RolloutTests.put(plan, to: daemon).status == 200)
        let three = SharedData.packageRoot.appendingPathComponent("examples/three.png")
        func kept() throws -> [[String: Any]] {
            try Curl.run(daemon.url + "/v1/kept").json["kept"] as? [[String: Any]] ?? []
        }
        #expect(
            try eventually {
                for picture in [three, BadInputTests.seven] {
                    _ = try Curl.post(picture, to: daemon.url + "/v1/models/ten/classify")
                }
                return try !kept().isEmpty
            })
        let seven = try KeepingDaemon.sha256(Data(contentsOf: BadInputTests.seven))
        let list = try kept()
        #expect(list.count == 1 && list[0]["id"] as? String == seven)
        #expect(list[0]["why"] as? [String] == ["disagree"] && list[0]["version"] as? String == "1")
        #expect(daemon.stop() == 0)
    }
}

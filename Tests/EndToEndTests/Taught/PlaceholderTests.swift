import Foundation
import TestSupport
import Testing

/// Bundles that have no model yet, with the real binary.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct PlaceholderTests {
    private static func write(_ name: String, _ members: String, in models: URL) throws {
        let folder = models.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data("{\"name\": \"Parts\", \"id\": \"parts\", \"version\": \"1\", \"placeholder\": true\(members)}".utf8)
            .write(
                to: folder.appendingPathComponent("model.json"))
    }

    @Test("a placeholder lists its classes, answers classify with 503 that says so, and keeps the pictures")
    func aPlaceholderCollectsPictures() throws {
        let server = try KeepingDaemon { models in
            try Self.write("parts", ", \"labels\": [\"bolt\", \"nut\"]", in: models)
            try Self.write("a", ", \"labels\": \"labels.txt\"", in: models)
            try Data("one\ntwo\nthree\n".utf8).write(to: models.appendingPathComponent("a/labels.txt"))
        }
        let listed = try Curl.run(server.url + "/v1/models/parts").json
        #expect(listed["placeholder"] as? Bool == true && listed["classes"] as? [String] == ["bolt", "nut"])
        #expect(listed["labels"] as? Int == 2 && listed["state"] as? String == "unloaded")
        #expect(try Curl.run(server.url + "/v1/models/a").json["classes"] as? [String] == ["one", "two", "three"])
        #expect(try Curl.run(server.url + "/readyz").status == 200)
        // The first by name, and yet not the default model.
        #expect(try Curl.run(server.url + "/v1/models").json["default"] as? String == "digits")
        let picture = KeepingDaemon.picture(0)
        let answer = try server.classify(picture, model: "parts")
        #expect(answer.status == 503 && answer.code == "model_not_ready", "\(answer.text)")
        #expect(answer.error.contains("placeholder"), "\(answer.error)")
        try server.classify(KeepingDaemon.picture(1), ["-H", "Cache-Control: no-store"], model: "parts")
        try server.classify(Data("no picture".utf8), model: "parts")
        let id = try KeepingDaemon.sha256(picture)
        #expect(try eventually { try server.ids() == [id] })
        let kept = try server.list()[0]
        #expect(kept["model"] as? String == "parts" && kept["why"] as? [String] == ["unknown"])
        #expect(try server.get("/\(id)").body == picture)
        #expect(try eventually { try server.metric("ocelli_kept_dropped_total{reason=\"no_picture\"}") == 1 })
        #expect(try Curl.run(server.url + "/v1/models/parts").json["state"] as? String == "unloaded")
        #expect(server.daemon.stop() == 0)
    }

    @Test("a taught model may take a placeholder's name, and deleting it brings the placeholder back")
    func aPlaceholderIsTaught() throws {
        let server = try TaughtDaemon { models in try Self.write("parts", ", \"labels\": [\"bolt\"]", in: models) }
        #expect(try server.create().status == 201)
        #expect(try server.teach("bolt", TaughtPicture.png(kind: 0, number: 0)).status == 201)
        #expect(try server.classify(TaughtPicture.png(kind: 0, number: 1)).topLabel == "bolt")
        try server.restart()
        #expect(try server.classify(TaughtPicture.png(kind: 0, number: 1)).topLabel == "bolt")
        #expect(try server.delete("parts").status == 204)
        #expect(
            try eventually { try server.get("/v1/models/parts").json["placeholder"] as? Bool == true })
        #expect(try server.classify(TaughtPicture.png(kind: 0, number: 1)).status == 503)
        #expect(server.daemon.stop() == 0)
    }

    @Test("a version with a model replaces a placeholder, and check accepts both")
    func aModelReplacesAPlaceholder() throws {
        let server = try TaughtDaemon { models in try Self.write("ten/1", ", \"labels\": [\"0\"]", in: models) }
        let place = server.models.appendingPathComponent("ten")
        let checked = try Shell.run(Daemon.binary.path, ["check", place.appendingPathComponent("1").path])
        #expect(checked.status == 0 && checked.text.contains("placeholder"), "\(checked.text)\(checked.errors)")
        #expect(try server.get("/v1/models/ten").json["placeholder"] as? Bool == true)
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("models/digits"), to: place.appendingPathComponent("2"))
        try server.restart()
        let answer = try server.classify(Data(contentsOf: BadInputTests.seven), "/v1/models/ten/classify")
        #expect(answer.topLabel == "7" && answer.json["version"] as? String == "2", "\(answer.text)")
        #expect(
            try server.classify(Data(contentsOf: BadInputTests.seven), "/v1/models/ten/versions/1/classify").status
                == 503)
        #expect(server.daemon.stop() == 0)
    }

    @Test("a placeholder with wrong labels fails with the reason")
    func wrongLabelsAreSaid() throws {
        let server = try TaughtDaemon { models in
            try Self.write("parts", ", \"labels\": [7]", in: models)
        }
        let listed = try server.get("/v1/models/parts").json
        #expect(listed["state"] as? String == "failed", "\(listed)")
        #expect((listed["reason"] as? String)?.contains("labels[0]") == true, "\(listed)")
        #expect(server.daemon.stop() == 0)
    }
}

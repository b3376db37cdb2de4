import Foundation
import TestSupport
import Testing

/// The embedder of a taught model changes, or disappears.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TaughtEmbedderTests {
    private static let picture = TaughtPicture.png(kind: 1, number: 50)

    /// The embedder's model.json, or that of another embedder with darker pictures.
    private static func manifest(isOther: Bool) throws -> Data {
        let text = try String(contentsOf: TaughtDaemon.embedder.appendingPathComponent("model.json"), encoding: .utf8)
        #expect(text.contains("0.00392156862745098"))
        return Data((isOther ? text.replacingOccurrences(of: "0.00392156862745098", with: "0.002") : text).utf8)
    }

    private static func put(isOther: Bool, into bundle: URL, of server: TaughtDaemon) throws {
        try manifest(isOther: isOther).write(to: bundle.appendingPathComponent("model.json"), options: .atomic)
        server.daemon.signal(SIGHUP)
    }

    private func isIn(_ state: String, _ server: TaughtDaemon) throws -> Bool {
        try eventually { try server.get("/v1/taught/parts").json["state"] as? String == state }
    }

    @Test("a taught model is stale while its embedder differs, and answers as before once the old is back")
    func anotherEmbedder_makesItStale_untilTheOldOneIsBack() throws {
        let server = try TaughtDaemon()
        try server.create()
        try server.teachKinds(2, 3)
        let before = try server.evaluated(), answer = try server.classify(Self.picture).json
        let bundle = server.models.appendingPathComponent("embedder")
        try Self.put(isOther: true, into: bundle, of: server)
        #expect(try isIn("stale", server))
        let stale = try server.get("/v1/taught/parts").json
        let reason = stale["reason"] as? String ?? ""
        #expect(reason.contains("another \"embedder\"") && reason.contains("bring the old one back"), "\(reason)")
        let refused = try server.classify(Self.picture)
        #expect(refused.status == 503 && refused.code == "model_not_ready", "\(refused.text)")
        #expect(refused.headers["retry-after"] != nil)
        let taught = try server.teach("kind0", TaughtPicture.png(kind: 0, number: 9))
        #expect(taught.status == 409 && taught.code == "conflict", "\(taught.text)")
        let listed = try server.get("/v1/models/parts").json
        #expect(listed["state"] as? String == "failed" && listed["reason"] as? String == reason)
        #expect(try server.get("/metrics").text.contains("\nocelli_taught_stale 1\n"))
        #expect(try server.get("/readyz").status == 200)
        #expect(server.daemon.waitForLog("taught parts is stale: "))
        // The state is the same after a start with the other embedder.
        try server.restart()
        #expect(try isIn("stale", server))
        #expect(try server.classify(Self.picture).status == 503)
        try Self.put(isOther: false, into: bundle, of: server)
        #expect(try isIn("ready", server))
        #expect(NSDictionary(dictionary: try server.evaluated()) == NSDictionary(dictionary: before))
        let now = try server.classify(Self.picture).json
        for member in ["classifications", "distance", "known"] {
            #expect(now[member] as? NSObject == answer[member] as? NSObject, "\(member)")
        }
        #expect(try server.teach("kind0", TaughtPicture.png(kind: 0, number: 9)).status == 201)
        #expect(server.daemon.stop() == 0)
    }

    @Test("an embedder that is not loaded yet is compared before a state is reported", arguments: [true, false])
    func noStateIsSaidBeforeItIsKnown(_ isOther: Bool) throws {
        let server = try TaughtDaemon()
        try server.create()
        try server.teachKinds(2, 2)
        _ = try server.evaluated()
        server.daemon.stop()
        let bundle = server.models.appendingPathComponent("embedder")
        try Self.manifest(isOther: isOther).write(to: bundle.appendingPathComponent("model.json"), options: .atomic)
        try server.restart(adding: ["--load", "lazy"])
        let expected = isOther ? "stale" : "ready"
        #expect(try server.get("/v1/taught/parts").json["state"] as? String == expected)
        let list = try server.get("/v1/taught").json["taught"] as? [[String: Any]]
        #expect(list?.first?["state"] as? String == expected)
        let model = try server.get("/v1/models/parts").json
        #expect((model["taught"] as? [String: Any])?["state"] as? String == expected)
        #expect(model["state"] as? String == (isOther ? "failed" : "unloaded"), "\(model)")
        #expect(try server.classify(Self.picture).status == (isOther ? 503 : 200))
        #expect(server.daemon.stop() == 0)
    }

    @Test("a stale taught model answers while its old embedder version is loaded, and can forget classes")
    func aStaleModel_answersWhileTheOldEmbedderIsLoaded_andStillForgets() throws {
        let server = try TaughtDaemon()
        let files = FileManager.default
        let old = server.models.appendingPathComponent("pair/1"), new = server.models.appendingPathComponent("pair/2")
        for (version, isOther) in [(old, false), (new, true)] {
            try files.createDirectory(
                at: version.deletingLastPathComponent(), withIntermediateDirectories: true)
            if isOther {
                server.daemon.signal(SIGHUP)
                #expect(
                    try eventually { try server.get("/v1/models/pair").json["state"] as? String == "ready" }
                )
                #expect(try server.put("parts", "{\"embedder\": \"pair\"}").status == 201)
                try server.teachKinds(2, 3)
            }
            try files.copyItem(at: TaughtDaemon.embedder, to: version)
            try Self.put(isOther: isOther, into: version, of: server)
        }
        #expect(try isIn("stale", server))
        let answer = try server.classify(Self.picture)
        #expect(answer.status == 200 && answer.topLabel == "kind1", "\(answer.text)")
        #expect(try server.get("/v1/models/parts").json["state"] as? String == "ready")
        #expect(try server.teach("kind0", TaughtPicture.png(kind: 0, number: 9)).code == "conflict")
        // The new embedder's vectors cannot be compared with the examples.
        let search = try server.classify(Self.picture, "/v1/taught/parts/search")
        #expect(search.status == 503 && search.code == "model_not_ready", "\(search.text)")
        let forgotten = try server.delete("parts/classes?label=kind0")
        #expect(forgotten.status == 200, "\(forgotten.text)")
        #expect(try server.classify(Self.picture).classifications.count == 1)
        try files.removeItem(at: old)
        server.daemon.signal(SIGHUP)
        #expect(try eventually { try server.classify(Self.picture).status == 503 })
        #expect(server.daemon.stop() == 0)
    }

    @Test("a taught model without its embedder gets 503 with the reason, until the embedder returns")
    func anEmbedderThatGoes_isSaid() throws {
        let server = try TaughtDaemon()
        try server.create()
        try server.teachKinds(2, 2)
        let bundle = server.models.appendingPathComponent("embedder")
        try FileManager.default.moveItem(at: bundle, to: server.folder.appendingPathComponent("away"))
        server.daemon.signal(SIGHUP)
        #expect(try isIn("stale", server))
        let refused = try server.classify(Self.picture)
        #expect(refused.status == 503 && refused.error.contains("not served any more"), "\(refused.text)")
        #expect(try server.teach("kind0", Self.picture).status == 409)
        let search = try server.classify(Self.picture, "/v1/taught/parts/search")
        #expect(search.status == 503 && search.error.contains("not served any more"), "\(search.text)")
        #expect(try server.put("other", "{\"embedder\": \"embedder\"}").code == "model_not_found")
        try FileManager.default.moveItem(at: server.folder.appendingPathComponent("away"), to: bundle)
        server.daemon.signal(SIGHUP)
        #expect(try isIn("ready", server))
        #expect(try server.classify(Self.picture).topLabel == "kind1")
        #expect(server.daemon.stop() == 0)
    }

    @Test("a taught model with kept pictures is rebuilt for a new embedder, but not if a picture is missing")
    func withKeptPictures_itIsRebuiltInTheBackground() throws {
        let server = try TaughtDaemon(["--taught-keep-pictures=true"])
        try server.create()
        try server.teachKinds(2, 4)
        let before = try server.evaluated()
        let pictures = server.store.appendingPathComponent("parts/pictures")
        #expect(try FileManager.default.contentsOfDirectory(atPath: pictures.path).count == 8)
        let bundle = server.models.appendingPathComponent("embedder")
        try Self.put(isOther: true, into: bundle, of: server)
        #expect(server.daemon.waitForLog("rebuilt with embedder"), "\(server.daemon.log)")
        let after = try server.evaluated()
        #expect(after["state"] as? String == "ready")
        let digests = [before, after].map { ($0["embedder"] as? [String: Any])?["digest"] as? String }
        #expect(digests[0] != digests[1] && digests[1] != nil)
        // Older versions have embeddings of the other model, so none is left.
        #expect((after["versions"] as? [Any])?.count == 1)
        // It answers like a model that is taught the same pictures now.
        try server.create("fresh")
        try server.teachKinds(2, 4, to: "fresh")
        _ = try server.evaluated("fresh")
        let rebuilt = try server.classify(Self.picture).json
        let fresh = try server.classify(Self.picture, "/v1/models/fresh/classify").json
        for member in ["classifications", "distance", "known"] {
            #expect(rebuilt[member] as? NSObject == fresh[member] as? NSObject, "\(member)")
        }
        // A missing picture: nothing is lost, and the log has the reason.
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: pictures.path).first)
        try FileManager.default.removeItem(at: pictures.appendingPathComponent(name))
        try Self.put(isOther: false, into: bundle, of: server)
        #expect(server.daemon.waitForLog("not rebuilt: the picture \(name) was not kept"), "\(server.daemon.log)")
        #expect(try server.get("/v1/taught/parts").json["state"] as? String == "stale")
        #expect((try server.get("/v1/taught/parts/examples").json["examples"] as? [Any])?.count == 8)
        // Forgetting an example deletes its picture.
        let second = try #require(try FileManager.default.contentsOfDirectory(atPath: pictures.path).first)
        #expect(try server.delete("parts/examples/\(second)").status == 200)
        #expect(!FileManager.default.fileExists(atPath: pictures.appendingPathComponent(second).path))
        #expect(server.daemon.stop() == 0)
    }
}

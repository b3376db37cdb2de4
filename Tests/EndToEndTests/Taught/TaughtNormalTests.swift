import Foundation
import SystemSupport
import TestSupport
import Testing

/// Taught models with the method `normal`: their answers compared with loops over the vectors of `/embed`, with the
/// real binary.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TaughtNormalTests {
    /// An answer's `anomaly`.
    private struct Anomaly: Equatable {
        let score: Double
        let threshold: Double?
        let p: Double?
        let isAnomaly: Bool?

        init(_ answer: Answer) throws {
            let anomaly = try #require(answer.json["anomaly"] as? [String: Any], "\(answer.text)")
            #expect(Set(anomaly.keys) == ["score", "threshold", "p", "is_anomaly"], "\(answer.text)")
            score = try #require(anomaly["score"] as? Double, "\(answer.text)")
            threshold = anomaly["threshold"] as? Double
            p = anomaly["p"] as? Double
            isAnomaly = anomaly["is_anomaly"] as? Bool
        }
    }

    private static func distance(_ a: [Double], _ b: [Double]) -> Double {
        func product(_ a: [Double], _ b: [Double]) -> Double { zip(a, b).reduce(0) { $0 + $1.0 * $1.1 } }
        return 1 - product(a, b) / (product(a, a) * product(b, b)).squareRoot()
    }

    private static func pictures(_ count: Int, from first: Int = 0) -> [Data] {
        (first..<first + count).map { TaughtPicture.png(kind: 0, number: $0) }
    }

    private func sha256(_ data: Data) -> String { SHA256.text(SHA256.digest(Array(data))) }

    @discardableResult
    private func create(_ server: TaughtDaemon, _ name: String = "parts", _ falseAlarms: Double = 0.2) throws -> Answer
    {
        try server.put(
            name, "{\"embedder\": \"embedder\", \"method\": \"normal\", \"false_alarms\": \(falseAlarms)}")
    }

    @Test("score, p, threshold and verdict are those of a loop over the vectors of embed")
    func answersFollowTheEmbeddings() throws {
        let server = try TaughtDaemon()
        let created = try create(server)
        #expect(created.status == 201 && created.json["method"] as? String == "normal", "\(created.text)")
        #expect(created.json["false_alarms"] as? Double == 0.2, "\(created.text)")
        let empty = try server.classify(Self.pictures(1)[0])
        #expect(empty.status == 503 && empty.code == "model_not_ready", "\(empty.text)")
        let pictures = Self.pictures(14)
        #expect(try server.teach("normal", form: pictures).status == 201)
        let model = try server.evaluated()
        let vectors = try pictures.map { try server.embedding($0) }
        let leftOut = vectors.indices.map { one in
            vectors.indices.filter { $0 != one }.map { Self.distance(vectors[one], vectors[$0]) }.min() ?? 9
        }
        // ⌊0.2 (14 + 1)⌋ = 3
        let threshold = leftOut.sorted(by: >)[2]
        let evaluation = try #require(model["evaluation"] as? [String: Any])
        #expect(abs((evaluation["threshold"] as? Double ?? 9) - threshold) < 1e-6, "\(evaluation)")
        #expect(evaluation["examples"] as? Int == 14 && evaluation["method"] as? String == "normal", "\(evaluation)")
        for member in ["accuracy", "correct", "interval", "advice"] {
            #expect(evaluation[member] is NSNull, "\(member): \(evaluation)")
        }
        let asked = Self.pictures(6, from: 100) + [TaughtPicture.png(kind: 1, number: 0)]
        for picture in asked {
            let answer = try server.classify(picture), found = try Anomaly(answer)
            let vector = try server.embedding(picture)
            let score = vectors.map { Self.distance(vector, $0) }.min() ?? 9
            #expect(abs(found.score - score) < 1e-6, "\(answer.text)")
            let p = Double(1 + leftOut.count { $0 >= score }) / 15
            #expect(abs((found.p ?? 9) - p) < 1e-12, "\(answer.text)")
            #expect(found.isAnomaly == (score > threshold), "\(answer.text)")
            #expect(answer.json["known"] as? Bool == found.isAnomaly.map { !$0 }, "\(answer.text)")
            let classes = answer.json["classifications"] as? [[String: Any]] ?? []
            #expect(classes.count == 1 && classes[0]["label"] as? String == "normal", "\(answer.text)")
        }
        #expect(try Anomaly(server.classify(asked[6])).isAnomaly == true)
        let own = try Anomaly(server.classify(pictures[3]))
        #expect(own.score == 0 && own.p == 1 && own.isAnomaly == false)
        #expect(server.daemon.stop() == 0)
    }

    @Test("with too few examples nothing is called an anomaly, and the advice says how many are missing")
    func fewExamplesTellNothing() throws {
        let server = try TaughtDaemon()
        #expect(try server.put("parts", "{\"embedder\": \"embedder\", \"method\": \"normal\"}").status == 201)
        let pictures = Self.pictures(3)
        for (number, picture) in pictures.enumerated() {
            #expect(try server.teach("normal", picture).status == 201)
            let model = try server.evaluated()
            let evaluation = try #require(model["evaluation"] as? [String: Any])
            let advice = evaluation["advice"] as? String ?? ""
            #expect(advice.contains("\(98 - number) more normal pictures are needed"), "\(advice)")
            #expect(model["false_alarms"] as? Double == 0.01 && evaluation["threshold"] is NSNull)
            let found = try Anomaly(server.classify(TaughtPicture.png(kind: 1, number: 5)))
            #expect(found.isAnomaly == nil && found.threshold == nil && found.score > 0)
            #expect(found.p == 1 / Double(number == 0 ? 1 : number + 2))
        }
        #expect(server.daemon.stop() == 0)
    }

    @Test("other labels, shares, methods and an export are refused with the reason")
    func wrongRequestsAreRefused() throws {
        let server = try TaughtDaemon()
        for (body, expected) in [
            ("\"method\": \"normal\", \"false_alarms\": 0.6", "expected a number from 0.0001 to 0.5, found 0.6"),
            ("\"method\": \"normal\", \"false_alarms\": 0", "found 0"),
            ("\"method\": \"normal\", \"false_alarms\": 1e999", "\"false_alarms\""),
            ("\"method\": \"normal\", \"false_alarms\": \"0.1\"", "expected a number, found a string"),
            ("\"false_alarms\": 0.1", "is for the method \"normal\": the method is \"auto\""),
            ("\"method\": \"logistic\", \"false_alarms\": 0.1", "the method is \"logistic\""),
            ("\"method\": \"strange\"", "\"nearest_neighbors\", \"normal\", found \"strange\""),
        ] {
            let answer = try server.put("parts", "{\"embedder\": \"embedder\", \(body)}")
            #expect(answer.status == 400, "\(body): \(answer.text)")
            #expect(answer.error.contains(expected), "\(body): \(answer.text)")
        }
        #expect(try create(server, "parts", 0.05).status == 201)
        for (body, status) in [
            ("\"method\": \"normal\", \"false_alarms\": 0.05", 200), ("\"method\": \"normal\"", 200),
            ("\"method\": \"normal\", \"false_alarms\": 0.06", 409), ("\"method\": \"auto\"", 409),
        ] {
            let answer = try server.put("parts", "{\"embedder\": \"embedder\", \(body)}")
            #expect(answer.status == status, "\(body): \(answer.text)")
        }
        #expect(try server.put("parts", "{\"embedder\": \"embedder\"}").status == 200)
        let picture = Self.pictures(1)[0]
        let label = try server.teach("bolt", picture)
        #expect(label.status == 400 && label.error.contains("expected the label \"normal\", found \"bolt\""))
        // Also where the label comes with the form.
        let file = server.folder.appendingPathComponent("p.png")
        try picture.write(to: file)
        let form = try Curl.run(
            server.url + "/v1/taught/parts/examples", ["-F", "image=@\(file.path)", "-F", "label=bolt"])
        #expect(form.status == 400 && form.error.contains("expected the label \"normal\""), "\(form.text)")
        #expect(try server.get("/v1/taught/parts").json["state"] as? String == "empty")
        #expect(try server.teach("normal", picture).status == 201)
        let export = try server.get("/v1/taught/parts/export")
        #expect(export.status == 400 && export.error.contains("is no classifier"), "\(export.text)")
        #expect(server.daemon.stop() == 0)
        let command = try Shell.run(
            Daemon.binary.path,
            ["export", "parts", "--taught-dir", server.store.path, "-o", server.folder.path + "/x.mlmodel"])
        #expect(command.status == 1 && command.errors.contains("is no classifier"), "\(command.errors)")
    }

    @Test("after kills, restarts and forgetting, a model answers like one that was taught only the rest")
    func killsAndForgettingLeaveTheRest() throws {
        let seed = SplitMix.seed(for: "killsAndForgettingLeaveTheRest")
        var random = SplitMix(seed: seed)
        let server = try TaughtDaemon(["--taught-keep-pictures=true"])
        try create(server)
        var kept: [Data] = [], gone: [Data] = []
        for round in 0..<LongTests.times(5, long: 40) {
            let new = Self.pictures(6, from: 100 * round)
            #expect(try server.teach("normal", form: new).status == 201)
            kept += new
            // In the middle of the evaluation, or after it.
            usleep(UInt32.random(in: 0..<250_000, using: &random))
            if random.chance(60) { try server.restart(killing: random.chance(50)) }
            for _ in 0..<2 {
                let picture = kept.remove(at: Int.random(in: 0..<kept.count, using: &random))
                #expect(try server.delete("parts/examples/\(sha256(picture))").status == 200)
                gone.append(picture)
            }
            if random.chance(60) { try server.restart(killing: true) }
        }
        #expect(try create(server, "fresh").status == 201)
        #expect(try server.teach("normal", form: kept.shuffled(using: &random), to: "fresh").status == 201)
        let thresholds = try ["parts", "fresh"].map { name in
            (try server.evaluated(name)["evaluation"] as? [String: Any])?["threshold"] as? Double
        }
        #expect(thresholds[0] == thresholds[1] && thresholds[0] != nil, "seed \(seed)")
        for picture in Self.pictures(5, from: 10_000) + gone.prefix(5) {
            let found = try Anomaly(server.classify(picture))
            #expect(try found == Anomaly(server.classify(picture, "/v1/models/fresh/classify")), "seed \(seed)")
            #expect(found.p != nil)
        }
        let files = FileManager.default.enumerator(atPath: server.store.path)?.allObjects as? [String] ?? []
        let contents = try files.filter { $0.hasSuffix("journal") }.map {
            try Data(contentsOf: server.store.appendingPathComponent($0))
        }
        for picture in gone {
            let embedding = try server.embedding(picture).map { Float($0) }.withUnsafeBytes { Data($0) }
            for bytes in contents {
                #expect(bytes.range(of: Data(SHA256.digest(Array(picture)))) == nil, "seed \(seed)")
                #expect(bytes.range(of: embedding) == nil, "seed \(seed)")
            }
            #expect(!files.contains { $0.contains(sha256(picture)) }, "seed \(seed)")
        }
        #expect(server.daemon.stop() == 0)
    }

    @Test("a version serves with the examples and the threshold that it had")
    func versionsHaveTheirOwnThreshold() throws {
        let server = try TaughtDaemon()
        try create(server)
        #expect(try server.teach("normal", form: Self.pictures(6)).status == 201)
        _ = try server.evaluated()
        let picture = Self.pictures(1, from: 50)[0]
        let before = try Anomaly(server.classify(picture))
        #expect(try server.teach("normal", form: Self.pictures(6, from: 20) + [picture]).status == 201)
        _ = try server.evaluated()
        #expect(try Anomaly(server.classify(picture)).score == 0)
        let older = try Anomaly(server.classify(picture, "/v1/models/parts/versions/1/classify"))
        #expect(older == before)
        #expect(try server.post("parts/versions/1/serve").status == 200)
        #expect(try Anomaly(server.classify(picture)) == before)
        #expect(server.daemon.stop() == 0)
    }
}

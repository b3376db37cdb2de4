import Foundation
import TestSupport
import Testing

/// `ocelli teach NAME DIR --normal`: the bundle answers like a taught model with the same examples.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct NormalBundleTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("normal-\(UUID().uuidString)")
        let good = folder.appendingPathComponent("good/more")
        try FileManager.default.createDirectory(at: good, withIntermediateDirectories: true)
        for number in 0..<12 {
            let place = number < 6 ? good.deletingLastPathComponent() : good
            try Self.picture(number).write(to: place.appendingPathComponent("\(number).png"))
        }
    }

    private static func picture(_ number: Int) -> Data { TaughtPicture.png(kind: 0, number: number) }

    private func teach(_ arguments: [String]) throws -> Shell.Result {
        try Shell.run(
            Daemon.binary.path, ["teach", "screws"] + arguments + ["--embedder", TaughtDaemon.embedder.path],
            directory: folder)
    }

    @Test("a bundle of normal pictures finds the anomalies that a taught model with the same examples finds")
    func aBundleAnswersLikeATaughtModel() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        // A copy counts once, and a text is left out.
        try Self.picture(3).write(to: folder.appendingPathComponent("good/again.png"))
        let made = try teach(["good", "--normal", "--false-alarms", "0.2", "-o", "screws"])
        #expect(made.status == 0, "\(made.errors)")
        #expect(made.text.contains("screws: 12 normal pictures, on embeddings of embedder"), "\(made.text)")
        #expect(made.text.contains("a picture is an anomaly (share of false alarms: 0.2)"), "\(made.text)")
        #expect(made.text.contains("wrote screws"), "\(made.text)")
        let server = try TaughtDaemon(["--model", "screws=" + folder.appendingPathComponent("screws").path])
        let body = "{\"embedder\": \"embedder\", \"method\": \"normal\", \"false_alarms\": 0.2}"
        #expect(try server.put("parts", body).status == 201)
        #expect(try server.teach("normal", form: (0..<12).map { Self.picture($0) }).status == 201)
        _ = try server.evaluated()
        var verdicts: Set<Bool?> = []
        for picture in [Self.picture(4), Self.picture(50), TaughtPicture.png(kind: 3, number: 1)] {
            let answers = try ["screws", "parts"].map {
                try server.classify(picture, "/v1/models/\($0)/classify")
            }
            let anomalies = try answers.map { answer in
                try #require(answer.json["anomaly"] as? [String: Any], "\(answer.text)")
            }
            for member in ["score", "threshold"] {
                let numbers = anomalies.map { $0[member] as? Double ?? 9 }
                #expect(abs(numbers[0] - numbers[1]) < 1e-6, "\(member): \(anomalies)")
            }
            #expect(anomalies[0]["p"] as? Double == anomalies[1]["p"] as? Double, "\(anomalies)")
            verdicts.insert(anomalies[0]["is_anomaly"] as? Bool)
        }
        #expect(verdicts.contains(true) && verdicts.contains(false))
        #expect(server.daemon.stop() == 0)
        // Without a daemon.
        try TaughtPicture.png(kind: 3, number: 1).write(to: folder.appendingPathComponent("new.png"))
        let local = try Shell.run(
            Daemon.binary.path, ["classify", "new.png", "--model", "screws"], directory: folder)
        #expect(local.status == 0 && local.text.contains("  an anomaly: its distance"), "\(local.text)\(local.errors)")
        let check = try Shell.run(Daemon.binary.path, ["check", "screws"], directory: folder)
        #expect(check.status == 0 && check.text.contains("taught by normal, 1 class, unknown beyond"), "\(check.text)")
        // Equal pictures under other names give equal bytes.
        try FileManager.default.moveItem(
            at: folder.appendingPathComponent("good/1.png"), to: folder.appendingPathComponent("good/more/zz.png"))
        #expect(try teach(["good", "--normal", "--false-alarms", "0.2", "-o", "other"]).status == 0)
        let files = try ["screws", "other"].map {
            try Data(contentsOf: folder.appendingPathComponent($0 + "/taught.safetensors"))
        }
        #expect(files[0] == files[1])
        // Folders of known pictures: those that are not normal should be unknown.
        let strange = folder.appendingPathComponent("asked/strange")
        try FileManager.default.createDirectory(at: strange, withIntermediateDirectories: true)
        try TaughtPicture.png(kind: 3, number: 1).write(to: strange.appendingPathComponent("1.png"))
        let asked = try Shell.run(
            Daemon.binary.path, ["teach", "screws", "--evaluate", "asked", "-o", "screws"], directory: folder)
        #expect(asked.status == 2, "\(asked.text)")
        let evaluated = try Shell.run(
            Daemon.binary.path, ["teach", "screws", "--evaluate", "asked", "--models", "."], directory: folder)
        #expect(evaluated.text.contains("1 answered as unknown"), "\(evaluated.text)\(evaluated.errors)")
    }

    @Test("the report says how many pictures are missing, also as JSON")
    func reportsSayWhatIsMissing() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("no picture".utf8).write(to: folder.appendingPathComponent("good/broken.png"))
        let made = try teach(["good", "--normal", "--json", "-o", "screws"])
        #expect(made.status == 1 && made.errors.contains("broken.png"), "\(made.errors)")
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(made.text.utf8)) as? [String: Any], "\(made.text)")
        #expect(json["examples"] as? Int == 12 && json["false_alarms"] as? Double == 0.01, "\(made.text)")
        #expect(json["threshold"] is NSNull && json["method"] as? String == "normal", "\(made.text)")
        #expect((json["advice"] as? String ?? "").contains("87 more normal pictures are needed"), "\(made.text)")
        #expect((json["errors"] as? [Any])?.count == 1, "\(made.text)")
    }

    @Test("wrong commands are refused with the reason")
    func wrongCommandsAreRefused() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        for (arguments, status, expected) in [
            (["good", "--normal", "--false-alarms", "0.9"], Int32(2), "expected a number from 0.0001 to 0.5"),
            (["good", "--false-alarms", "0.1"], 2, "--false-alarms needs --normal"),
            (["good", "--normal", "--method", "logistic"], 2, "not with --method or --html"),
            (["good", "--normal", "--html", "x.html"], 2, "not with --method or --html"),
            (["good/1.png", "--normal", "-o", "x"], 1, "is not a folder: expected one with normal pictures"),
            (["nowhere", "--normal", "-o", "x"], 1, "is not a folder"),
        ] {
            let result = try teach(arguments)
            #expect(result.status == status && result.errors.contains(expected), "\(arguments): \(result.errors)")
        }
        let empty = folder.appendingPathComponent("empty")
        try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
        let nothing = try teach(["empty", "--normal", "-o", "x"])
        #expect(nothing.status == 1 && nothing.errors.contains("can be used"), "\(nothing.errors)")
    }
}

import Foundation
import TestSupport
import Testing

/// Taught models as Core ML files, from a daemon and from `ocelli export`, compared with their answers by another
/// daemon that serves the file, and by NumPy from coremltools' specification.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct TaughtExportTests {
    private static let pictures = (0..<3).flatMap { kind in
        [7, 90, 91].map { TaughtPicture.png(kind: kind, number: $0) }
    }

    private func export(_ server: TaughtDaemon, to file: URL) throws {
        let answer = try server.get("/v1/taught/parts/export")
        try #require(answer.status == 200, "\(answer.text)")
        try answer.body.write(to: file)
    }

    private func embedding(_ server: TaughtDaemon, _ picture: Data) throws -> [Double] {
        let answer = try server.classify(picture, "/v1/models/embedder/embed")
        return try #require(answer.json["embedding"] as? [Double], "\(answer.text)")
    }

    /// The confidences of all classes, by label.
    private func shares(_ answer: Answer) throws -> [String: Double] {
        let all = try #require(answer.json["classifications"] as? [[String: Any]], "\(answer.text)")
        return Dictionary(
            uniqueKeysWithValues: all.map { ($0["label"] as? String ?? "", $0["confidence"] as? Double ?? -1) })
    }

    private func compare(_ found: [String: Double]?, _ expected: [String: Double], _ what: String) {
        #expect(found?.count == expected.count, "\(what): \(found ?? [:]), expected \(expected)")
        for (label, share) in expected {
            #expect(abs((found?[label] ?? -9) - share) <= 1e-4, "\(what): \(found ?? [:]), expected \(expected)")
        }
    }

    @Test(
        "an exported file answers as the taught model does",
        arguments: ["nearest_mean", "logistic", "nearest_neighbors"])
    func exportedFilesAnswerAlike(_ method: String) throws {
        let server = try TaughtDaemon()
        try server.create(method: method)
        try server.teachKinds(3, 5)
        let file = server.folder.appendingPathComponent("Parts.mlmodel")
        try export(server, to: file)
        let expected = try Self.pictures.map { try shares(server.classify($0, "/v1/models/parts/classify?top=3")) }
        let vectors = try Self.pictures.map { try embedding(server, $0) }
        // Another daemon, as a client's app would run it.
        let phone = try Daemon(["--model", "phone=\(file.path)"])
        for (vector, expected) in zip(vectors, expected) {
            let answer = try Curl.run(
                phone.url + "/v1/models/phone/predict", ["--json", "{\"inputs\": {\"embedding\": \(vector)}}"])
            let outputs = answer.json["outputs"] as? [String: Any] ?? answer.json
            compare(outputs["classLabelProbs"] as? [String: Double], expected, "\(method), Ocelli: \(answer.text)")
            #expect(outputs["classLabel"] as? String == expected.max { $0.value < $1.value }?.key, "\(answer.text)")
        }
        #expect(phone.stop() == 0)
        if PythonClients.isAvailable {
            let input = try JSONSerialization.data(withJSONObject: vectors)
            let result = try PythonClients.run("core_ml_file.py", [file.path], input: input)
            #expect(result.status == 0, "\(result.errors.suffix(3000))")
            let metadata = result.json["metadata"] as? [String: String]
            #expect(metadata?["method"] == method && metadata?["embedder"] == "embedder", "\(result.text)")
            #expect(metadata?["taught_model"] == "parts" && metadata?["taught_version"] == "3", "\(result.text)")
            let answers = try #require(result.json["answers"] as? [[String: Any]], "\(result.text)")
            for (answer, expected) in zip(answers, expected) {
                compare(answer["probabilities"] as? [String: Double], expected, "\(method), coremltools")
            }
        }
        // The command gives the same bytes, but not while a daemon holds the folder.
        let other = server.folder.appendingPathComponent("Other.mlmodel")
        let command = ["export", "parts", "--taught-dir", server.store.path, "-o", other.path]
        let busy = try Shell.run(Daemon.binary.path, command)
        #expect(busy.status == 1 && busy.errors.contains("in use by another process"), "\(busy.errors)")
        #expect(server.daemon.stop() == 0)
        let written = try Shell.run(Daemon.binary.path, command)
        #expect(written.status == 0 && written.text.contains("version 3 of parts"), "\(written.text)\(written.errors)")
        #expect(try Data(contentsOf: other) == Data(contentsOf: file))
        let again = try Shell.run(Daemon.binary.path, command)
        #expect(again.status == 1 && again.errors.contains("use --force"), "\(again.errors)")
    }

    @Test("what cannot be exported is refused with the reason")
    func wrongExportsAreRefused() throws {
        let server = try TaughtDaemon()
        try server.create()
        let path = "/v1/taught/parts/export"
        let empty = try server.get(path)
        #expect(empty.status == 409 && empty.code == "conflict" && empty.error.contains("has 0"), "\(empty.text)")
        try server.teachKinds(1, 2)
        let one = try server.get(path)
        #expect(one.status == 409 && one.code == "conflict" && one.error.contains("two classes"), "\(one.text)")
        let unknown = try server.get("/v1/taught/nothing/export")
        #expect(unknown.status == 404 && unknown.code == "not_found", "\(unknown.text)")
        let method = try server.post("parts/export")
        #expect(method.status == 405 && method.headers["allow"] == "GET, HEAD", "\(method.text)")
        try server.teachKinds(2, 2)
        let whole = try server.get(path)
        #expect(whole.status == 200 && whole.headers["content-type"] == "application/octet-stream")
        #expect(whole.headers["content-disposition"] == "attachment; filename=\"parts.mlmodel\"")
        #expect(server.daemon.stop() == 0)
        for (arguments, status, expected) in [
            (["export", "parts"], Int32(2), "expected NAME and -o FILE"),
            (["export", "parts", "-o", "x.mlmodel"], 1, "expected --taught-dir DIR"),
            (["export", "parts", "-o", "x.mlmodel", "--taught-dir", "/nowhere/at/all"], 1, "there is no folder"),
            (["export", "bolts", "-o", "x.mlmodel", "--taught-dir", server.store.path], 1, "it has parts"),
            (["export", "parts", "-o", server.folder.path, "--taught-dir", server.store.path], 1, "is a folder"),
        ] {
            let result = try Shell.run(Daemon.binary.path, arguments, directory: server.folder)
            #expect(result.status == status && result.errors.contains(expected), "\(arguments): \(result.errors)")
        }
    }
}

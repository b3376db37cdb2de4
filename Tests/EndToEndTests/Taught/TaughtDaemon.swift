import Foundation
import TestSupport
import Testing

/// A daemon with an embedder and a folder for taught models.
final class TaughtDaemon {
    static let embedder = SharedData.packageRoot.appendingPathComponent("Tests/Fixtures/observations/embedder")

    let folder: URL
    let flags: [String]
    private(set) var daemon: Daemon
    var url: String { daemon.url }
    /// `taught_dir`
    var store: URL { folder.appendingPathComponent("taught") }
    var models: URL { folder.appendingPathComponent("models") }

    /// - Parameter adding: writes more models into the folder that it gets.
    init(_ flags: [String] = [], taught: String? = nil, adding: (URL) throws -> Void = { _ in }) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-taught-\(UUID().uuidString)")
        self.folder = folder
        let models = folder.appendingPathComponent("models")
        try FileManager.default.createDirectory(at: models, withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: Self.embedder, to: models.appendingPathComponent("embedder"))
        try FileManager.default.copyItem(
            at: SharedData.packageRoot.appendingPathComponent("models/digits"),
            to: models.appendingPathComponent("digits"))
        try adding(models)
        self.flags =
            ["--models", models.path, "--taught-dir", taught ?? folder.appendingPathComponent("taught").path] + flags
        daemon = try Daemon(self.flags)
    }

    deinit {
        daemon.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Ends the daemon and starts it again.
    func restart(killing: Bool = false, adding flags: [String] = []) throws {
        if killing {
            daemon.signal(SIGKILL)
            daemon.waitForExit()
        } else {
            daemon.stop()
        }
        daemon = try Daemon(self.flags + flags)
    }

    // MARK: Requests

    func get(_ path: String, _ arguments: [String] = []) throws -> Answer { try Curl.run(url + path, arguments) }

    func put(_ name: String, _ body: String, _ arguments: [String] = []) throws -> Answer {
        try Curl.run(url + "/v1/taught/\(name)", ["-X", "PUT", "--data-binary", body] + arguments)
    }

    func delete(_ path: String) throws -> Answer { try Curl.run(url + "/v1/taught/" + path, ["-X", "DELETE"]) }

    func post(_ path: String) throws -> Answer { try Curl.run(url + "/v1/taught/" + path, ["-X", "POST"]) }

    /// Creates a taught model on the embedder.
    @discardableResult
    func create(_ name: String = "parts", method: String = "auto") throws -> Answer {
        try put(name, "{\"embedder\": \"embedder\", \"method\": \"\(method)\"}")
    }

    /// Teaches one picture.
    @discardableResult
    func teach(_ label: String, _ picture: Data, to name: String = "parts", _ arguments: [String] = []) throws -> Answer
    {
        try Curl.run(
            url + "/v1/taught/\(name)/examples?label=\(label)", ["--data-binary", "@-"] + arguments, input: picture)
    }

    /// Teaches pictures as one form; nil stands for a part that is not a picture.
    @discardableResult
    func teach(_ label: String, form pictures: [Data?], to name: String = "parts") throws -> Answer {
        var body = Data()
        for picture in pictures {
            body += Data("--b\r\nContent-Disposition: form-data; name=\"image\"; filename=\"p\"\r\n\r\n".utf8)
            body += (picture ?? Data("no picture".utf8)) + Data("\r\n".utf8)
        }
        body += Data("--b--\r\n".utf8)
        return try Curl.run(
            url + "/v1/taught/\(name)/examples?label=\(label)",
            ["-H", "Content-Type: multipart/form-data; boundary=b", "--data-binary", "@-"], input: body)
    }

    func classify(_ picture: Data, _ path: String = "/v1/models/parts/classify") throws -> Answer {
        try Curl.run(url + path, ["--data-binary", "@-"], input: picture)
    }

    /// The vector that embed gives. Its numbers are 32-bit ones in decimal.
    func embedding(_ picture: Data) throws -> [Double] {
        let answer = try classify(picture, "/v1/models/embedder/embed")
        return try #require(answer.json["embedding"] as? [Double], "\(answer.text)").map { Double(Float($0)) }
    }

    /// The taught model once it has been evaluated.
    func evaluated(_ name: String = "parts") throws -> [String: Any] {
        var json: [String: Any] = [:]
        try eventually {
            json = try get("/v1/taught/\(name)").json
            return json["evaluating"] as? Bool == false
        }
        return json
    }

    /// Teaches a number of kinds, with `count` pictures each.
    func teachKinds(_ kinds: Int, _ count: Int, to name: String = "parts") throws {
        for kind in 0..<kinds {
            try teach("kind\(kind)", form: (0..<count).map { TaughtPicture.png(kind: kind, number: $0) }, to: name)
        }
    }
}

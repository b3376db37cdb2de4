import Foundation
import TestSupport
import Testing

/// Bearer tokens.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct AccessTests {
    private static let infer = "infer-token-0123456789", read = "read-token-0123456789", all = "all-token-0123456789"

    private static func tokens(_ text: String) throws -> URL {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("ocelli-tokens-\(UUID().uuidString)")
        try text.write(to: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        return file
    }

    private func status(_ url: String, _ token: String?, post: Bool = false) throws -> Int {
        var arguments = post ? ["--data-binary", "@\(BadInputTests.seven.path)"] : []
        if let token { arguments += ["-H", "Authorization: Bearer \(token)"] }
        return try Curl.run(url, arguments).status
    }

    @Test("each bearer token opens the routes of its classes; others get 401 or 403; probes need none")
    func eachTokenOpensItsClassesAndNoOther() throws {
        let file = try Self.tokens(
            "# three\ninfer \(Self.infer)\nread \(Self.read)\n\nall \(Self.all)\n")
        defer { try? FileManager.default.removeItem(at: file) }
        let daemon = try Daemon(["--tokens-file", file.path])
        let classify = daemon.url + "/v1/classify", models = daemon.url + "/v1/models"
        #expect(try status(classify, nil, post: true) == 401)
        #expect(try status(classify, Self.infer, post: true) == 200)
        #expect(try status(classify, Self.read, post: true) == 403)
        #expect(try status(classify, Self.all, post: true) == 200)
        #expect(try status(classify, Self.infer + "x", post: true) == 401)
        #expect(try status(classify, String(Self.infer.dropLast()), post: true) == 401)
        #expect(try status(models, Self.infer) == 403)
        #expect(try status(models, Self.read) == 200)
        #expect(try status(daemon.url + "/metrics", nil) == 401)
        #expect(try status(daemon.url + "/metrics", Self.read) == 200)
        for open in ["/healthz", "/readyz", "/"] { #expect(try status(daemon.url + open, nil) == 200) }
        let refused = try Curl.run(classify, ["-u", "user:password", "--data-binary", "x"])
        #expect(refused.status == 401)
        #expect(refused.code == "unauthorized")
        #expect(refused.headers["www-authenticate"] == "Bearer realm=\"ocelli\"")
        #expect(!daemon.log.contains("token-0123456789"), "a token was logged")
        #expect(daemon.stop() == 0)
    }

    @Test("SIGHUP reads the tokens file again; a bad tokens file changes nothing")
    func aReloadReadsTheTokensAgainAndABadFileChangesNothing() throws {
        let file = try Self.tokens("infer \(Self.infer)\n")
        defer { try? FileManager.default.removeItem(at: file) }
        let daemon = try Daemon(["--tokens-file", file.path])
        let classify = daemon.url + "/v1/classify"
        try "infer \(Self.all)\n".write(to: file, atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("reload: done"))
        #expect(try status(classify, Self.infer, post: true) == 401)
        #expect(try status(classify, Self.all, post: true) == 200)
        try "infer short\nnonsense \(Self.infer)\n".write(to: file, atomically: true, encoding: .utf8)
        daemon.signal(SIGHUP)
        #expect(daemon.waitForLog("nothing has changed"))
        #expect(daemon.log.contains("line 1"), "\(daemon.log)")
        #expect(daemon.log.contains("line 2"), "\(daemon.log)")
        #expect(try status(classify, Self.all, post: true) == 200)
        #expect(daemon.stop() == 0)
    }

    @Test(
        "a wrong tokens file ends the start with status 2 and a message",
        arguments: [
            ("", "contains no token"), ("infer\n", "expected classes, a space and a token"),
            ("write a-token-of-some-length\n", "is not a class"), ("infer short\n", "at least 16"),
        ])
    func aWrongFileIsAnErrorAtStart(_ text: String, _ words: String) throws {
        let file = try Self.tokens(text)
        defer { try? FileManager.default.removeItem(at: file) }
        let result = try Shell.run(
            Daemon.binary.path, ["serve", "--listen", "127.0.0.1:0", "--tokens-file", file.path],
            environment: ["XDG_CACHE_HOME": Daemon.cache.path])
        #expect(result.status == 2)
        #expect(result.errors.contains(words), "\(result.errors)")
    }
}

import Foundation
import TestSupport
import Testing

/// The access log's line of a request.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)))
struct AccessLogTests {
    /// Sends requests that succeed and that fail, each with its own identifier.
    private func ask(_ daemon: Daemon) throws {
        let classify = daemon.url + "/v1/classify"
        let license = SharedData.packageRoot.appendingPathComponent("LICENSE")
        for (id, url, arguments) in [
            ("good", classify, ["--data-binary", "@\(BadInputTests.seven.path)"]),
            ("text", classify, ["--data-binary", "@\(license.path)"]), ("get", classify, []),
            ("query", classify + "?secret=abc", ["--data-binary", "@\(BadInputTests.seven.path)"]),
            ("none", daemon.url + "/nothing", []), ("long", daemon.url + "/healthz", ["-H", "Expect: tea"]),
        ] {
            _ = try Curl.run(url, ["-H", "X-Request-ID: \(id)"] + arguments)
        }
    }

    private func line(_ id: String, of daemon: Daemon) throws -> String {
        let wanted = [" id=\(id)", "\"id\":\"\(id)\""]
        func find() -> String? {
            daemon.log.split(separator: "\n").map(String.init).first { line in
                wanted.contains { line.contains($0) }
            }
        }
        _ = eventually { find() != nil }
        return try #require(find(), "\(daemon.log)")
    }

    @Test("the access log as text: a refused request's line has its error and reason, never its query")
    func textSaysWhyARequestWasRefused() throws {
        let daemon = try Daemon()
        try ask(daemon)
        #expect(
            try line("text", of: daemon).contains(
                " POST /v1/classify 415 error=unsupported_media_type reason=unsupported_format in="))
        #expect(try line("get", of: daemon).contains(" GET /v1/classify 405 error=method_not_allowed in="))
        #expect(try line("none", of: daemon).contains(" GET none 404 path=/nothing error=not_found in="))
        #expect(try line("query", of: daemon).contains(" 400 error=bad_request in="))
        #expect(try line("long", of: daemon).contains(" 417 refused_expectation error=expectation_failed in="))
        let good = try line("good", of: daemon)
        #expect(good.contains(" POST /v1/classify 200 model=digits in=") && !good.contains("error="), "\(good)")
        #expect(!daemon.log.contains("secret"), "nothing of the request: \(daemon.log)")
        #expect(daemon.stop() == 0)
    }

    @Test("the access log as JSON has the errors and reasons of refused requests, in documented fields")
    func jsonHasTheSame() throws {
        let daemon = try Daemon(["--log-format", "json", "--log-top-label"])
        try ask(daemon)
        func fields(_ id: String) throws -> [String: Any] {
            let line = try line(id, of: daemon)
            return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        let text = try fields("text")
        #expect(
            text["error"] as? String == "unsupported_media_type" && text["reason"] as? String == "unsupported_format")
        let get = try fields("get")
        #expect(get["error"] as? String == "method_not_allowed" && get["reason"] == nil)
        let good = try fields("good")
        #expect(good["error"] == nil && good["top"] as? String == "7")
        // Every field is documented.
        let document = try String(
            contentsOf: SharedData.packageRoot.appendingPathComponent("docs/monitoring.md"), encoding: .utf8)
        for name in Set(text.keys).union(get.keys).union(good.keys) {
            #expect(document.contains("`\(name)`"), "docs/monitoring.md: \(name)")
        }
        #expect(daemon.stop() == 0)
    }
}

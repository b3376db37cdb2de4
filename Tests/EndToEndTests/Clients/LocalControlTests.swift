import Foundation
import TestSupport
import Testing

/// `repository_control: local` permits programs on this machine, but neither forwarded requests nor web pages that are
/// open here.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct LocalControlTests {
    private func unload(_ daemon: Daemon, _ fields: [String], url: String? = nil) throws -> Answer {
        let arguments = fields.flatMap { ["-H", $0] } + ["-H", "Content-Type: text/plain", "--data", "{}"]
        return try Curl.run((url ?? daemon.url) + "/v2/repository/models/digits/unload", arguments)
    }

    @Test("unload with local control gets 403 if forwarded, from a web page or for another host's name")
    func whatIsForwardedOrComesFromAWebPageIsNotLocal() throws {
        let daemon = try Daemon()
        let port = daemon.url.split(separator: ":").last ?? ""
        for (fields, words) in [
            (["X-Forwarded-For: 203.0.113.7"], "forwarded"), (["Forwarded: for=203.0.113.7"], "forwarded"),
            (["Via: 1.1 proxy"], "forwarded"), (["X-Real-IP: 203.0.113.7"], "forwarded"),
            (["X-Forwarded-Host: a.example"], "forwarded"), (["X-Forwarded-For: 127.0.0.1"], "forwarded"),
            (["Origin: http://evil.example"], "evil.example"), (["Origin: null"], "Origin: null"),
            (["Origin: http://localhost:3000"], "localhost:3000"), (["Origin: http://127.0.0.1"], "Origin"),
            (["Origin: http://127.0.0.1:\(port).evil.example"], "evil.example"),
            (["Sec-Fetch-Site: cross-site"], "Sec-Fetch-Site"), (["Sec-Fetch-Site: same-site"], "Sec-Fetch-Site"),
            (["Host: evil.example"], "host_names"), (["Host: evil.example:\(port)"], "host_names"),
            (["Host: localhost.evil.example"], "host_names"), (["Host: 192.0.2.1"], "host_names"),
            (["Host: evil.example:\(port)", "Origin: http://evil.example:\(port)"], "host_names"),
            (["Host: 127.evil.example"], "host_names"),
        ] {
            let answer = try unload(daemon, fields)
            #expect(answer.status == 403 && answer.code == "forbidden", "\(fields): \(answer.text)")
            #expect(answer.error.contains(words) && answer.error.contains("repository_control"), "\(answer.error)")
        }
        #expect(try Curl.run(daemon.url + "/v1/models/digits").json["state"] as? String == "ready")
        for fields in [
            [], ["Host: localhost"], ["Host: LOCALHOST:\(port)"], ["Host: 127.0.0.1"], ["Host: [::1]:80"],
            ["Origin: http://127.0.0.1:\(port)", "Sec-Fetch-Site: same-origin"], ["Sec-Fetch-Site: none"],
            ["Host: localhost:\(port)", "Origin: http://localhost:\(port)"],
        ] {
            let answer = try unload(daemon, fields)
            #expect(answer.status == 200, "\(fields): \(answer.text)")
        }
        #expect(daemon.stop() == 0)
    }

    /// On a route without a model's name: the model exists, so the client must retry.
    @Test("/v1/classify gets 503 while the only classifier is unloaded, and 200 after it is loaded again")
    func theOnlyClassifierIsNotReadyAfterItWasUnloaded() throws {
        let daemon = try Daemon()
        #expect(try unload(daemon, []).status == 200)
        let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify")
        #expect(answer.status == 503 && answer.code == "model_not_ready", "\(answer.text)")
        #expect(answer.error.contains("\"digits\"") && answer.headers["retry-after"] != nil, "\(answer.text)")
        let detect = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/detect")
        #expect(detect.status == 404 && detect.code == "model_not_found", "\(detect.text)")
        #expect(try Curl.run(daemon.url + "/v2/repository/models/digits/load", ["--data", "{}"]).status == 200)
        #expect(try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify").topLabel == "7")
        #expect(daemon.stop() == 0)
    }

    @Test("unload with local control accepts a Host in --host-names, and no other name")
    func namesOfThisMachineAreConfigured() throws {
        let daemon = try Daemon(["--host-names", "vision.example"])
        #expect(try unload(daemon, ["Host: vision.example"]).status == 200)
        #expect(try unload(daemon, ["Host: other.example"]).status == 403)
        #expect(daemon.stop() == 0)
    }

    /// A page of another origin may have pictures classified, like any program; it cannot read the answers, because
    /// they have no CORS fields.
    @Test("a page of another origin may classify, but gets no CORS fields and no preflight answer")
    func otherRoutesAreOpenToWebPagesThatCannotReadTheirAnswers() throws {
        let daemon = try Daemon()
        let fields = ["-H", "Origin: http://evil.example", "-H", "Sec-Fetch-Site: cross-site"]
        let answer = try Curl.post(BadInputTests.seven, to: daemon.url + "/v1/classify", fields)
        #expect(answer.status == 200)
        #expect(!answer.headers.keys.contains { $0.hasPrefix("access-control-") })
        // Anything but a simple request needs a preflight, which is refused.
        let asked = try Curl.run(
            daemon.url + "/v1/classify", ["-X", "OPTIONS", "-H", "Access-Control-Request-Method: POST"] + fields)
        #expect(asked.status == 405 && !asked.headers.keys.contains { $0.hasPrefix("access-control-") })
        #expect(daemon.stop() == 0)
    }
}

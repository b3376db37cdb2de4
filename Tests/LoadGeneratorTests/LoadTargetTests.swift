import LoadGenerator
import Testing

@Suite struct LoadTargetTests {
    @Test(
        "a target URL is read and completed with the scheme and the default path",
        arguments: [
            ("http://localhost:8080", "http://localhost:8080/v1/classify"),
            ("localhost:8080/healthz", "http://localhost:8080/healthz"),
            ("HTTP://example.org/a/b?c=d#e", "http://example.org/a/b?c=d"),
            ("http://[::1]:9000?top=1", "http://[::1]:9000/v1/classify?top=1"),
            ("unix:/run/o.sock", "http://unix:/run/o.sock:/v1/classify"),
            ("http://unix:/run/o.sock:/v1/models/m/classify", "http://unix:/run/o.sock:/v1/models/m/classify"),
        ])
    func urlsAreRead(_ text: String, _ expected: String) throws {
        #expect(try LoadTarget(parsing: text).description == expected)
    }

    @Test("host, port and authority of a target URL are found")
    func url_withHostAndPort_hasPlaceAndAuthority() throws {
        #expect(try LoadTarget(parsing: "http://[::1]:9000/x").place == .tcp(host: "::1", port: 9000))
        #expect(try LoadTarget(parsing: "http://a/x").place == .tcp(host: "a", port: 80))
        #expect(try LoadTarget(parsing: "http://a:81/x").authority == "a:81")
    }

    @Test(
        "an unusable target URL is refused with a reason",
        arguments: [
            ("https://a/", "only http"), ("ftp://a/", "only http"), ("http://", "expected http://HOST"),
            ("http://a:0/", "port from 1"), ("http://a:99999/", "port from 1"), ("http://u@a/", "without a user"),
            ("http://a/b c", "no spaces"), ("http://a/\r\nX: y", "no spaces"), ("http://[::1/", "ends with"),
            ("unix:", "1 to 107"), ("http://:80/", "host is missing"),
        ])
    func wrongTargetsAreNamed(_ text: String, _ words: String) {
        #expect {
            _ = try LoadTarget(parsing: text)
        } throws: { "\($0)".contains(words) }
    }

    @Test("URLs and addresses with a port are distinguished from file and model names")
    func wordsThatMeanAServer() {
        for url in ["http://a", "https://a", "localhost:80", "unix:/a", "[::1]:80/x"] {
            #expect(LoadTarget.looksLikeURL(url), "\(url)")
        }
        for word in ["cat.jpg", "./a/b", "models/digits", "a:b", "cat:"] {
            #expect(!LoadTarget.looksLikeURL(word), "\(word)")
        }
    }

    @Test("a request is written with method, host, length and connection fields")
    func requestsAreWrittenOnce() throws {
        let target = try LoadTarget(parsing: "http://h:1/p")
        let request = RequestBytes(target: target, body: [1, 2, 3], keepAlive: false, fields: ["A: b"])
        let text = String(decoding: request.bytes.dropLast(3), as: UTF8.self)
        #expect(text.hasPrefix("POST /p HTTP/1.1\r\nHost: h:1\r\n") && text.hasSuffix("\r\nA: b\r\n\r\n"))
        #expect(text.contains("Content-Length: 3\r\n") && text.contains("Connection: close\r\n"))
        let get = RequestBytes(target: target, body: nil, keepAlive: true)
        #expect(String(decoding: get.bytes, as: UTF8.self).hasPrefix("GET /p"))
    }

    @Test(
        "malformed header fields and fields of the generator's own are refused",
        arguments: ["", "a", ": b", "a b: c", "a: b\r\nc: d", "Host: x", "content-length: 3", "a: \u{7F}"])
    func fieldsThatMayNotBeSent(_ text: String) {
        #expect(throws: LoadError.self) { try RequestBytes.field(text) }
    }
}

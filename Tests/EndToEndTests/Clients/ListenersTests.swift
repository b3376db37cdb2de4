import Foundation
import TestSupport
import Testing

/// The routes of listeners, and their identification of clients: `?routes=`, `?proxy=` and `trusted_proxies`.
@Suite(.enabled(if: Daemon.isBuilt, Comment(rawValue: Daemon.absence)), .serialized)
struct ListenersTests {
    private static func addresses(of daemon: Daemon) -> [String] {
        guard let range = daemon.log.range(of: "listening on ") else { return [] }
        return daemon.log[range.upperBound...].prefix { !$0.isNewline }.components(separatedBy: ", ").map {
            "http://\($0)"
        }
    }

    @Test("each listener serves only the routes of its `routes`, and health routes")
    func routesHaveAddressesOfTheirOwn() throws {
        let daemon = try Daemon(
            ["--listen=127.0.0.1:0?routes=read,admin"], environment: [:], listen: "127.0.0.1:0?routes=infer")
        let addresses = Self.addresses(of: daemon)
        try #require(addresses.count == 2, "\(daemon.log)")
        let (infer, rest) = (addresses[0], addresses[1])
        for address in addresses {
            for path in ["/healthz", "/readyz", "/v2/health/live", "/v2/health/ready", "/v2/models/digits/ready"] {
                #expect(try Curl.run(address + path).status == 200, "\(address)\(path)")
            }
            // The page needs both groups of routes.
            #expect(try Curl.run(address + "/").status == 404)
            #expect(try Curl.run(address + "/nowhere").error.contains("no such resource"))
        }
        for path in ["/metrics", "/v1/models", "/v1/models/digits", "/v2", "/v2/models/digits", "/openapi.json"] {
            #expect(try Curl.run(rest + path).status == 200, "\(path)")
            let answer = try Curl.run(infer + path)
            #expect(answer.status == 404 && answer.code == "not_found", "\(path)")
            #expect(
                answer.error == "\(path) is not served at this address, which serves only the routes of infer (listen)")
        }
        #expect(try Curl.post(BadInputTests.seven, to: infer + "/v1/classify").topLabel == "7")
        let refused = try Curl.post(BadInputTests.seven, to: rest + "/v1/classify")
        #expect(refused.status == 404 && refused.error.contains("only the routes of read, admin"))
        for action in ["models/digits/unload", "models/digits/load", "index"] {
            #expect(try Curl.run(infer + "/v2/repository/" + action, ["--data", "{}"]).status == 404)
            #expect(try Curl.run(rest + "/v2/repository/" + action, ["--data", "{}"]).status == 200)
        }
        #expect(daemon.stop() == 0)
    }

    @Test("OCELLI_LISTEN lists several addresses, and a mistake in each address is named")
    func variableListsAddressesWithTheirRoutes() throws {
        let result = try Shell.run(
            Daemon.binary.path, ["serve", "--models", "/nowhere"],
            environment: ["OCELLI_LISTEN": "127.0.0.1:0?routes=infer,reed,127.0.0.1:0?proxy=v3"])
        #expect(result.errors.contains("\"127.0.0.1:0?routes=infer,reed\": \"reed\" is not a group of routes"))
        #expect(result.errors.contains("proxy=v3: expected proxy=v1 or proxy=v2"))
    }

    /// The PROXY header of a proxy for a client at 203.0.113.7, or for the proxy's own connections.
    private static func proxyHeader(_ version: String = "v2", local: Bool = false) -> [UInt8] {
        if version == "v1" {
            return Array((local ? "PROXY UNKNOWN\r\n" : "PROXY TCP4 203.0.113.7 127.0.0.1 4660 80\r\n").utf8)
        }
        return [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]
            + (local ? [0x20, 0, 0, 0] : [0x21, 0x11, 0, 12, 203, 0, 113, 7, 127, 0, 0, 1, 0x12, 0x34, 0, 80])
    }

    private static func request(_ method: String, _ path: String, _ fields: [String] = []) -> [UInt8] {
        let body = method == "POST" ? ["Content-Length: 0"] : []
        return Array(
            ("\(method) \(path) HTTP/1.1\r\n"
                + (["Host: localhost"] + fields + body).map { $0 + "\r\n" }.joined() + "\r\n").utf8)
    }

    private func port(_ daemon: Daemon) throws -> UInt16 {
        try #require(UInt16(daemon.url.split(separator: ":").last ?? ""))
    }

    @Test(
        "a PROXY header names the client in the log, in whole or byte by byte; X-Forwarded-For does not",
        arguments: ["v1", "v2"])
    func proxyHeadersNameTheClient(version: String) throws {
        let daemon = try Daemon(["--trusted-proxies", "127.0.0.1"], listen: "127.0.0.1:0?proxy=\(version)")
        let port = try port(daemon)
        // In one piece with two requests, and byte by byte.
        let whole = try RawClient(port: port)
        try whole.send(Self.proxyHeader(version) + Self.request("GET", "/healthz") + Self.request("GET", "/v2"))
        #expect(try whole.response().status == 200)
        #expect(try whole.response().status == 200)
        let slow = try RawClient(port: port)
        for byte in Self.proxyHeader(version) + Self.request("GET", "/v1/models") {
            try slow.send([byte])
            usleep(2000)
        }
        #expect(try slow.response().status == 200)
        for words in ["203.0.113.7:4660 GET /healthz", "203.0.113.7:4660 GET /v2 ", "203.0.113.7:4660 GET /v1/models"] {
            #expect(daemon.waitForLog(words), "\(words): \(daemon.log)")
        }
        // Through another proxy, which names the client in a field.
        let chain = try RawClient(port: port)
        try chain.send(Self.proxyHeader(version) + Self.request("GET", "/metrics", ["X-Forwarded-For: 198.51.100.1"]))
        #expect(try chain.response().status == 200)
        #expect(daemon.waitForLog("203.0.113.7:4660 GET /metrics"), "\(daemon.log)")
        // The proxy's own connection.
        let own = try RawClient(port: port)
        try own.send(Self.proxyHeader(version, local: true) + Self.request("GET", "/readyz"))
        #expect(try own.response().status == 200)
        #expect(daemon.waitForLog(" GET /readyz 200"), "\(daemon.log)")
        let line = daemon.log.split(separator: "\n").first { $0.contains(" GET /readyz 200") } ?? ""
        #expect(line.contains(" 127.0.0.1:") && !line.contains("203.0.113.7"), "\(line)")
        #expect(daemon.stop() == 0)
    }

    @Test(
        "a wrong PROXY header ends the connection; without trusted proxies a header's client is ignored",
        arguments: [("v1", "v2"), ("v2", "v1")])
    func whatIsNoProxyHeaderEndsTheConnection(version: String, other: String) throws {
        let daemon = try Daemon(listen: "127.0.0.1:0?proxy=\(version)")
        #expect(daemon.log.contains("proxy=\(version) without trusted_proxies"))
        let port = try port(daemon)
        for bytes in [
            Self.request("GET", "/healthz"), Self.proxyHeader(other) + Self.request("GET", "/healthz"),
            Array("PROXY TCP4 1.2.3.4 5.6.7.8 1 2\n".utf8),
            Array("PROXY UNKNOWN \(String(repeating: "x", count: 200))".utf8),
            Array(Self.proxyHeader().prefix(12)) + [0x21, 0x11, 0xFF, 0xFF],
            Array(Self.proxyHeader().prefix(12)) + [0x21, 0x11, 0, 4, 1, 2, 3, 4], [0xFF],
        ] {
            let client = try RawClient(port: port)
            try client.send(bytes)
            #expect(try client.rest().isEmpty, "no answer to \(bytes)")
        }
        #expect(daemon.waitForLog("refused_proxy_header"))
        // No proxy is trusted: the header is read, and its client ignored.
        let client = try RawClient(port: port)
        try client.send(Self.proxyHeader(version) + Self.request("GET", "/metrics"))
        let page = String(decoding: try client.response().body, as: UTF8.self)
        #expect(page.contains("proxy_header"))
        #expect(!daemon.log.contains("203.0.113.7"))
        #expect(daemon.stop() == 0)
    }

    /// Neither fields nor PROXY headers make a request local, whichever proxies are trusted and whatever address they
    /// name.
    @Test(
        "a forwarded request may not load or unload models, whatever client its fields or PROXY header name",
        arguments: [[], ["--trusted-proxies=127.0.0.1,::1,unix"]])
    func noForwardedRequestIsLocal(settings: [String]) throws {
        let daemon = try Daemon(settings)
        for field in [
            "X-Forwarded-For: 127.0.0.1", "X-Forwarded-For: 203.0.113.7", "X-Forwarded-For:",
            "Forwarded: for=127.0.0.1",
            "Forwarded: for=\"[::1]\"", "Forwarded: for=unknown", "Via: 1.1 proxy", "X-Real-IP: 127.0.0.1",
            "X-Forwarded-Proto: http", "X-Forwarded-Port: 80", "x-envoy-attempt-count: 1", "K-Proxy-Request: activator",
            "CF-Connecting-IP: 127.0.0.1", "CDN-Loop: example",
        ] {
            for action in ["load", "unload"] {
                let answer = try Curl.run(
                    daemon.url + "/v2/repository/models/digits/" + action,
                    ["-H", field.hasSuffix(":") ? String(field.dropLast()) + ";" : field, "--data", "{}"])
                #expect(answer.status == 403 && answer.error.contains("forwarded"), "\(field): \(answer.text)")
            }
        }
        #expect(daemon.stop() == 0)
        for version in ["v1", "v2"] {
            let proxied = try Daemon(settings, listen: "127.0.0.1:0?proxy=\(version)")
            for header in [Self.proxyHeader(version), Self.proxyHeader(version, local: true)] {
                for action in ["load", "unload"] {
                    let client = try RawClient(port: try port(proxied))
                    try client.send(header + Self.request("POST", "/v2/repository/models/digits/" + action))
                    let answer = try client.response()
                    let text = String(decoding: answer.body, as: UTF8.self)
                    #expect(answer.status == 403 && text.contains("PROXY protocol"), "\(text)")
                }
            }
            #expect(proxied.stop() == 0)
        }
    }

    @Test("X-Forwarded-For names the client only if its sender is a trusted proxy")
    func fieldsNameTheClientWhereTheirSenderIsTrusted() throws {
        for (settings, client) in [
            (["--trusted-proxies", "127.0.0.0/8"], "203.0.113.7"), (["--trusted-proxies", "10.0.0.0/8"], "127.0.0.1:"),
            ([], "127.0.0.1:"),
        ] {
            let daemon = try Daemon(settings + ["--log-format=json"])
            _ = try Curl.run(daemon.url + "/v2", ["-H", "X-Forwarded-For: 8.8.8.8, 203.0.113.7"])
            #expect(daemon.waitForLog("\"client\":\"\(client)"), "\(daemon.log)")
            #expect(!daemon.log.contains("8.8.8.8"))
            #expect(daemon.log.contains("\"proxy\":\"127.0.0.1:") == (client == "203.0.113.7"))
            #expect(daemon.stop() == 0)
        }
        let result = try Shell.run(Daemon.binary.path, ["serve", "--trusted-proxies", "10.0.0.0/33,localhost"])
        #expect(result.errors.contains("\"10.0.0.0/33\", \"localhost\": expected an address"), "\(result.errors)")
        #expect(result.status == 2)
    }
}

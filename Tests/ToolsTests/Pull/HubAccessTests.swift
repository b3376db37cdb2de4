import SystemSupport
import Testing
import Tools

/// Which servers get the token, and which way requests take.
@Suite struct HubAccessTests {
    private func access(_ environment: [String: String]) throws -> HubAccess { try HubAccess(environment: environment) }
    private func address(_ text: String) throws -> WebAddress { try #require(WebAddress(text)) }

    @Test("the token is for the endpoint's scheme, host and port alone")
    func token() throws {
        let access = try access(["HF_ENDPOINT": "https://hub.example:8443/sub/", "HF_TOKEN": " hf_secret\n"])
        let start = try address("https://hub.example:8443/sub/a")
        func sent(_ text: String) throws -> String? { access.authorization(for: try address(text), start: start) }
        #expect(try sent("https://hub.example:8443/other") == "Bearer hf_secret")
        #expect(try sent("https://HUB.example:8443/") == "Bearer hf_secret")
        for text in [
            "http://hub.example:8443/", "https://hub.example/", "https://hub.example:8444/",
            "https://cdn.hub.example:8443/",
            "https://hub.example.evil:8443/", "https://hub.example@evil:8443/",
        ] { #expect(try sent(text) == nil, "\(text)") }
    }

    @Test("over plain http the token is sent on this machine only")
    func plainHTTP() throws {
        let there = try access(["HF_ENDPOINT": "http://hub.example", "HF_TOKEN": "hf_secret"])
        #expect(
            there.authorization(for: try address("http://hub.example/a"), start: try address("http://hub.example/a"))
                == nil)
        #expect(there.keepsTokenBack && !there.sendsToken)
        let here = try access(["HF_ENDPOINT": "http://127.0.0.1:1234", "HF_TOKEN": "hf_secret"])
        let start = try address("http://127.0.0.1:1234/a")
        #expect(here.authorization(for: start, start: start) == "Bearer hf_secret")
        #expect(here.authorization(for: try address("http://127.0.0.1:1235/a"), start: start) == nil)
        #expect(!here.keepsTokenBack && here.sendsToken)
    }

    @Test("the user of an address is sent to its own server")
    func user() throws {
        let access = try access([:])
        let start = try address("https://me:a%20b@files.example/net.onnx")
        // printf 'me:a b' | base64
        #expect(access.authorization(for: start, start: start) == "Basic bWU6YSBi")
        #expect(access.authorization(for: try address("https://cdn.example/net.onnx"), start: start) == nil)
    }

    @Test("redirects lead to https, or to the scheme of a plain endpoint")
    func redirects() throws {
        let plain = try access(["HF_ENDPOINT": "http://127.0.0.1:1"]), usual = try access([:])
        let http = try address("http://127.0.0.1:1/"), https = try address("https://huggingface.co/")
        #expect(plain.allows(redirectOf: http, to: try address("http://127.0.0.1:2/")))
        #expect(plain.allows(redirectOf: http, to: https))
        // The address of one file is not the endpoint's.
        #expect(!plain.allows(redirectOf: https, to: http))
        #expect(!usual.allows(redirectOf: https, to: http))
        #expect(usual.allows(redirectOf: https, to: try address("https://cdn.example/")))
    }

    @Test("proxies of plain http are those of the environment; for this machine only one on it")
    func proxies() throws {
        let here = try address("http://127.0.0.1:1/"), there = try address("http://hub.example/")
        #expect(try access(["HTTP_PROXY": "http://proxy:3128"]).proxy(for: there).proxy == "http://proxy:3128")
        #expect(try access(["HTTP_PROXY": "a:1", "http_proxy": "b:1"]).proxy(for: there).proxy == "b:1")
        // A CGI program gets HTTP_PROXY from its client (CVE-2016-5385).
        #expect(try access(["HTTP_PROXY": "a:1", "REQUEST_METHOD": "GET"]).proxy(for: there).proxy == nil)
        #expect(try access(["HTTP_PROXY": "a:1"]).proxy(for: here).without == "*")
        #expect(try access(["HTTP_PROXY": "http://127.0.0.1:9"]).proxy(for: here).proxy == "http://127.0.0.1:9")
        #expect(try access([:]).proxy(for: there) == (nil, nil))
        // Those of https are libcurl's own matter.
        #expect(
            try access(["HTTPS_PROXY": "a:1", "HTTP_PROXY": "b:1"]).proxy(for: try address("https://hub.example/")) == (
                nil, nil
            ))
    }

    @Test("addresses of the protocol are encoded, and begin with the endpoint's path")
    func addresses() throws {
        let access = try access(["HF_ENDPOINT": "https://hub.example/mirror/"])
        #expect(
            access.listing(of: "a/b", revision: "refs/pr/1 ü").requested
                == "https://hub.example/mirror/api/models/a/b/revision/refs%2Fpr%2F1%20%C3%BC?blobs=true")
        #expect(
            access.file("x y/ü?#.onnx", of: "a/b", commit: "c0").requested
                == "https://hub.example/mirror/a/b/resolve/c0/x%20y/%C3%BC%3F%23.onnx")
        #expect(access.page(of: "a/b").shown == "https://hub.example/mirror/a/b")
        #expect(try HubAccess(environment: [:]).endpoint.origin == "https://huggingface.co")
        #expect(try HubAccess(environment: ["HF_ENDPOINT": ""]).endpoint.origin == "https://huggingface.co")
    }

    @Test("a wrong endpoint or token is a mistake of the command line, and is not repeated in the message")
    func mistakes() {
        for environment in [
            ["HF_ENDPOINT": "hub"], ["HF_ENDPOINT": "https://u:secret@hub"], ["HF_ENDPOINT": "https://hub?secret"],
            ["HF_TOKEN": "secret\r\nX-Evil: 1"], ["HF_TOKEN": "secret ü"],
        ] {
            let error = #expect(throws: CommandError.self) { try HubAccess(environment: environment) }
            #expect(error?.isConfiguration == true)
            #expect(error?.description.contains("secret") == false)
        }
    }

    @Test("a token that a server sends back is not shown")
    func hiding() throws {
        let access = try access(["HF_TOKEN": "hf_secret"])
        #expect(access.hidingSecrets("no hf_secret, hf_secret") == "no (token), (token)")
        #expect(access.hasSecret("a/hf_secret.txt") && !access.hasSecret("a"))
    }
}

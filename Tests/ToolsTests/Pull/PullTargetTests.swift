import SystemSupport
import Testing
import Tools

/// Names on the command line of `ocelli pull`, and paths and addresses from a hub.
@Suite struct PullTargetTests {
    @Test("a name is a repository with a revision, main unless it is named")
    func names() throws {
        #expect(try PullTarget("google/vit-base") == .repository(name: "google/vit-base", revision: "main"))
        #expect(try PullTarget("a/b.c_d@refs/pr/1") == .repository(name: "a/b.c_d", revision: "refs/pr/1"))
        #expect(try PullTarget("a/b@v1.2").folderName(as: nil) == "b")
        #expect(try PullTarget("a/b@v1.2").folderName(as: "cats") == "cats")
        let file = try PullTarget("https://user:word@example.org/x/Net%201.onnx?key=secret")
        #expect(try file.folderName(as: nil) == "Net 1")
        #expect(file.fileName == "Net 1.onnx")
    }

    @Test(
        "other names are mistakes of the command line",
        arguments: [
            "", "vit", "/vit", "a/", "a/b/c", "../b", "a/..", "a/.b", "a/b..c", "a/b--c", "-a/b", "a/b-", "a/b\n",
            "a/ü",
            "a/b@", "a/b@..", "a/b@x..y", "a/b@x y", "a/b@/x", "a/b@-x", "a/b@x\u{7F}", "a/b@x?y",
            "a/" + String(repeating: "b", count: 97),
            "http://example.org/net.onnx", "ftp://example.org/net.onnx", "https://example.org/net.zip",
            "https://example.org/",
            "https:///net.onnx", "https://example.org/net.xml", "https://example.org/a%2Fnet.onnx",
            "https://example.org/a b.onnx",
            "https://huggingface.co/google/vit",
        ])
    func mistakes(_ text: String) throws {
        let error = #expect(throws: CommandError.self) { try PullTarget(text) }
        #expect(error?.isConfiguration == true)
    }

    @Test(
        "a folder's name is one that `ocelli serve` serves",
        arguments: ["", ".", "..", ".x", "_x", "a/b", "x\u{1}", "a\\b", "x.mlpackage", "lost+found"])
    func folders(_ name: String) throws {
        let target = try PullTarget("a/b")
        let error = #expect(throws: CommandError.self) { try target.folderName(as: name) }
        #expect(error?.isConfiguration == true)
        #expect(throws: CommandError.self) { try PullTarget("a/_b").folderName(as: nil) }
    }

    @Test("a path of a hub stays in the folder")
    func paths() {
        for path in ["config.json", "onnx/model.onnx", "a b/ü.txt", "..a/b..", "x/...y"] {
            #expect(HubPath.problem(path) == nil, "\(path)")
        }
        for path in [
            "", "/x", "x/", "x//y", ".", "..", "../x", "x/..", "x/../y", "./x", "x/./y", "x\ny", "x\0y", "x\u{1B}[2J",
            "x\u{85}y", "x\\y",
            String(repeating: "x", count: 256), String(repeating: "x/", count: 600) + "x",
        ] { #expect(HubPath.problem(path) != nil, "\(path)") }
    }

    @Test("an address has a scheme, a host, a port, a path and a query")
    func addresses() throws {
        let address = try #require(WebAddress("HTTPS://user:pass%20word@Example.ORG:8443/a/b%20c.onnx?x=1&y=@#part"))
        #expect((address.scheme, address.host, address.port) == ("https", "example.org", 8443))
        #expect((address.path, address.query, address.credentials) == ("/a/b%20c.onnx", "x=1&y=@", "user:pass%20word"))
        #expect(address.shown == "https://example.org:8443/a/b%20c.onnx")
        #expect(address.requested == "https://example.org:8443/a/b%20c.onnx?x=1&y=@")
        #expect(WebAddress("http://[::1]:80")?.origin == "http://[::1]")
        #expect(WebAddress("https://h/ü")?.path == "/%C3%BC")
        for text in [
            "", "h/x", "https:/h", "https://", "https://:80/", "https://h:0/", "https://h:65536/", "https://h:8x/",
            "https://h :80/",
            "https://h/\n", "https://h\\@evil/", "https://[::1/", "https://[x]/", "https://ü/",
        ] { #expect(WebAddress(text) == nil, "\(text)") }
    }

    @Test("a redirect may be an address, a path or the end of one")
    func redirects() throws {
        let base = try #require(WebAddress("https://u:p@hub.example/a/b?q=1"))
        #expect(base.resolving("https://cdn.example/x")?.requested == "https://cdn.example/x")
        #expect(base.resolving("//cdn.example/x")?.requested == "https://cdn.example/x")
        #expect(base.resolving("/x?y=z")?.requested == "https://hub.example/x?y=z")
        #expect(base.resolving("c")?.requested == "https://hub.example/a/c")
        #expect(base.resolving("?z")?.requested == "https://hub.example/a/b?z")
        #expect(base.resolving("c?u=https://x/")?.requested == "https://hub.example/a/c?u=https://x/")
        for text in ["", "file:///etc/passwd", "ftp://x/y", "javascript:1", "https://"] {
            #expect(base.resolving(text) == nil, "\(text)")
        }
    }

    @Test("only names and numbers of this machine are loopback")
    func loopback() {
        for host in ["localhost", "127.0.0.1", "127.255.0.9", "[::1]"] {
            #expect(WebAddress("http://\(host)/")?.isLoopback == true, "\(host)")
        }
        for host in [
            "127.0.0.1.example.org", "localhost.example.org", "127.1", "127.0.0.256", "10.0.0.1", "[::2]", "1127.0.0.1",
        ] {
            #expect(WebAddress("http://\(host)/")?.isLoopback == false, "\(host)")
        }
    }
}

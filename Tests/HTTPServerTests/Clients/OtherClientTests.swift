import Foundation
import TestSupport
import Testing

@Suite("Other clients")
struct OtherClientTests {
    @Test(
        "Python's http.client is answered: kept connections, chunks, a refused upload and HEAD",
        .enabled(if: Program.find("python3") != nil, "python3 is not installed"))
    func python() throws {
        let probe = try Probe()
        let script = """
            import http.client
            c = http.client.HTTPConnection('127.0.0.1', \(probe.port), timeout=20)
            for _ in range(3):
                c.request('GET', '/task'); r = c.getresponse(); assert (r.status, r.read()) == (200, b'{"status":"ok"}')
            c.request('POST', '/length', body=iter([b'a' * 1000, b'b' * 10]), encode_chunked=True,
                      headers={'Transfer-Encoding': 'chunked'})
            r = c.getresponse(); assert r.read() == b'1010 97980\\n'
            c.request('POST', '/length', body=b'x' * (40 << 20))
            r = c.getresponse(); assert r.status == 413, r.status
            assert b'body_too_large' in r.read()
            c.request('HEAD', '/healthz'); r = c.getresponse(); assert (r.status, r.read()) == (200, b'')
            print('done')
            """
        let result = try Program.run("python3", ["-c", script])
        #expect(result.output == "done\n")
        try probe.expectRest()
    }

    @Test(
        "Node's fetch is answered: kept connections, bodies and streams; an aborted request is cancelled",
        .enabled(if: Program.find("node") != nil, "node is not installed"))
    func node() throws {
        let probe = try Probe()
        let script = """
            const url = 'http://127.0.0.1:\(probe.port)';
            const text = async (path, options) => (await fetch(url + path, options)).text();
            (async () => {
              for (let i = 0; i < 3; i++) if (await text('/task') !== '{"status":"ok"}') throw 'task';
              const body = new Uint8Array(300000).fill(1);
              if (await text('/length', {method: 'POST', body}) !== '300000 300000\\n') throw 'length';
              const stream = new Blob([body]).stream();
              if (await text('/length', {method: 'POST', body: stream, duplex: 'half'}) !== '300000 300000\\n') throw 'stream';
              const controller = new AbortController();
              const slept = text('/sleep?ms=600000', {signal: controller.signal}).catch(e => e.name);
              setTimeout(() => controller.abort(), 100);
              if (await slept !== 'AbortError') throw 'abort';
              console.log('done');
              process.exit(0);
            })();
            """
        let result = try Program.run("node", ["-e", script])
        #expect(result.output == "done\n")
        try waitUntil("the aborted one is cancelled") { try probe.get("/cancelled") == "1\n" }
        try probe.expectRest()
    }

    @Test(
        "ApacheBench completes 3,000 requests, with and without keep-alive",
        .enabled(if: Program.find("ab") != nil, "ab is not installed"))
    func apacheBench() throws {
        let probe = try Probe()
        for arguments in [["-k"], []] {
            for path in ["/healthz", "/task"] {
                let result = try Program.run(
                    "ab", ["-q", "-n", "3000", "-c", "50"] + arguments + ["http://127.0.0.1:\(probe.port)\(path)"])
                #expect(result.status == 0, "\(result.output)")
                #expect(result.output.contains("Complete requests:      3000"))
                #expect(result.output.contains("Failed requests:        0"))
                if !arguments.isEmpty { #expect(result.output.contains("Keep-Alive requests:    3000")) }
            }
        }
        try probe.expectRest()
    }

    @Test("wrk runs for a second without errors", .enabled(if: Program.find("wrk") != nil, "wrk is not installed"))
    func wrk() throws {
        let probe = try Probe()
        let result = try Program.run("wrk", ["-t1", "-c64", "-d1s", "http://127.0.0.1:\(probe.port)/task"])
        #expect(result.status == 0)
        #expect(!result.output.contains("Non-2xx"), "\(result.output)")
        #expect(!result.output.contains("Socket errors"), "\(result.output)")
        try probe.expectRest()
    }

    @Test(
        "nginx as a proxy keeps its connections, forwards bodies and passes on a client's end",
        .enabled(if: Program.find("nginx") != nil, "nginx is not installed"))
    func nginx() throws {
        let probe = try Probe()
        let folder = URL(fileURLWithPath: temporaryPath("nginx"))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let socket = folder.appendingPathComponent("front").path
        try """
        daemon off; master_process off; pid \(folder.path)/pid; error_log \(folder.path)/error.log;
        events { worker_connections 256; }
        http {
            access_log off; client_max_body_size 30m;
            client_body_temp_path \(folder.path)/body; proxy_temp_path \(folder.path)/proxy;
            fastcgi_temp_path \(folder.path)/f; uwsgi_temp_path \(folder.path)/u; scgi_temp_path \(folder.path)/s;
            upstream ocelli { server 127.0.0.1:\(probe.port); keepalive 4; }
            server {
                listen unix:\(socket);
                location / { proxy_pass http://ocelli; proxy_http_version 1.1; proxy_set_header Connection ""; }
                location /stream/ {
                    proxy_pass http://ocelli/; proxy_http_version 1.1; proxy_set_header Connection "";
                    proxy_request_buffering off;
                }
            }
        }
        """.write(to: folder.appendingPathComponent("nginx.conf"), atomically: true, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try #require(Program.find("nginx")))
        process.arguments = ["-p", folder.path, "-c", folder.appendingPathComponent("nginx.conf").path]
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        // SIGKILL, because the threads that run tests block the other signals, and children inherit the mask.
        defer {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        try waitUntil("nginx listens") { FileManager.default.fileExists(atPath: socket) }
        let before = try probe.statistic("accepted")
        let client = try RawClient(path: socket)
        for _ in 0..<50 {
            try client.send("GET /task HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.response().text == #"{"status":"ok"}"#)
        }
        #expect(try probe.statistic("accepted") - before < 10, "the connections behind nginx are kept")
        for path in ["/length", "/stream/length"] {
            try client.send("POST \(path) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<30 { try client.send("8000\r\n\(String(repeating: "a", count: 32_768))\r\n") }
            try client.send("0\r\n\r\n")
            #expect(try client.response().text == "983040 \(983_040 * 97)\n")
        }
        // The client disconnects from nginx, nginx closes its connection to the server, and the handler is cancelled.
        try client.send("GET /sleep?ms=600000 HTTP/1.1\r\nHost: x\r\n\r\n")
        try waitUntil("it runs") { try probe.statistic("running") == 2 }
        client.close()
        try waitUntil("it is cancelled") { try probe.get("/cancelled") == "1\n" }
        kill(process.processIdentifier, SIGKILL)
        try probe.expectRest()
    }
}

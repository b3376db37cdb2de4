import Foundation
import TestSupport
import Testing

@Suite("Start and shutdown")
struct LifecycleTests {
    @Test("shutdown finishes running requests, closes idle connections and accepts no new connections")
    func shutdown() throws {
        let probe = try Probe()
        let idle = try RawClient(port: probe.port)
        let busy = try RawClient(port: probe.port)
        try busy.send("GET /sleep?ms=500 HTTP/1.1\r\nHost: x\r\n\r\n")
        let half = try RawClient(port: probe.port)
        try half.send("GET /healthz HTTP/1.1\r\nHo")
        try waitUntil("it runs") { try probe.statistic("running") == 2 }
        try probe.command("shutdown")
        #expect(idle.isEnded())
        try half.send("st: x\r\n\r\n")
        #expect(try half.response().fields["connection"] == "close")
        let answer = try busy.response()
        #expect(answer.text == "slept\n")
        #expect(answer.fields["connection"] == "close")
        #expect(throws: RawClient.Failure.self) {
            let late = try RawClient(port: probe.port)
            try late.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = try late.response()
        }
        for client in [idle, busy, half] { client.close() }
        let end = try probe.stop()
        #expect(end.said == "lost 0")
        #expect(end.status == 0)
    }

    @Test("clients that are connected when a shutdown begins may still send a request")
    func newcomers() throws {
        var answered = 0
        // A busy machine may not send them in time; it will not fail every time.
        for _ in 0..<5 where answered == 0 {
            let probe = try Probe()
            let clients = try (0..<200).map { _ in try RawClient(port: probe.port) }
            try probe.command("shutdown")
            usleep(20_000)
            for client in clients {
                guard (try? client.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")) != nil else { continue }
                guard let answer = try? client.response() else { continue }
                #expect(answer.fields["connection"] == "close")
                answered += 1
            }
            for client in clients { client.close() }
            #expect(try probe.stop().said == "lost 0")
        }
        #expect(answered > 0)
    }

    @Test("requests sent before a shutdown are answered, even if the server has not read the requests yet")
    func unseen() throws {
        let probe = try Probe()
        // Many more events than one turn of the loop fetches.
        let clients = try (0..<2_000).map { _ in try RawClient(port: probe.port) }
        for client in clients { try client.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") }
        for client in clients { #expect(try client.response().status == 200) }
        // Longer than an answered connection is kept in a shutdown.
        usleep(200_000)
        try probe.standStill()
        defer { kill(probe.pid, SIGCONT) }
        for client in clients { try client.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") }
        try probe.command("shutdown")
        kill(probe.pid, SIGCONT)
        let answered = clients.count { (try? $0.response().status) == 200 }
        #expect(answered == clients.count)
        for client in clients { client.close() }
        #expect(try probe.stop().said == "lost 0")
    }

    @Test("shutdown cancels requests that run past its deadline and reports their number")
    func deadline() throws {
        let probe = try Probe("drain=200")
        let clients = try (0..<3).map { _ in try RawClient(port: probe.port) }
        for client in clients { try client.send("GET /sleep?ms=600000 HTTP/1.1\r\nHost: x\r\n\r\n") }
        try waitUntil("they run") { try probe.statistic("running") == 4 }
        let end = try probe.stop()
        #expect(end.said == "lost 3")
        #expect(end.status == 0)
        for client in clients { client.close() }
    }

    @Test("a server in lame-duck mode continues to serve, one request per connection")
    func lameDuck() throws {
        let probe = try Probe()
        let old = try RawClient(port: probe.port)
        try probe.command("lameduck")
        try waitUntil("it says close") {
            let client = try RawClient(port: probe.port)
            try client.send("GET /task HTTP/1.1\r\nHost: x\r\n\r\n")
            return try client.response().fields["connection"] == "close"
        }
        try old.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try old.response().fields["connection"] == "close")
        #expect(old.isEnded())
        try probe.expectRest()
    }

    @Test("the server listens on IPv4, IPv6 and a Unix socket at once, with several event loops")
    func listeners() throws {
        let path = temporaryPath("many")
        let probe = try Probe("loops=3", "listen=127.0.0.1:0", "listen=[::1]:0", "listen=unix:\(path)?mode=600")
        #expect(probe.addresses.count == 3)
        #expect(probe.addresses.last == "unix:\(path)")
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        for _ in 0..<20 {
            let client = try RawClient(path: path)
            try client.send("GET /task HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            #expect(try client.response().status == 200)
            _ = try probe.get("/task")
        }
        try probe.expectRest()
        #expect(!FileManager.default.fileExists(atPath: path), "the socket file goes with the server")
    }

    @Test("a socket file without a listener is replaced; a socket in use and an ordinary file are not")
    func staleFile() throws {
        let path = temporaryPath("stale")
        let first = try Probe("listen=unix:\(path)")
        let second = try Probe("listen=unix:\(path)")
        #expect(second.addresses.joined().contains("another process listens on it"))
        kill(first.pid, SIGKILL)
        _ = try first.stop()
        #expect(FileManager.default.fileExists(atPath: path))
        let third = try Probe("listen=unix:\(path)", "listen=127.0.0.1:0")
        #expect(third.addresses.count == 2)
        try third.expectRest()
        try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
        let fourth = try Probe("listen=unix:\(path)")
        #expect(fourth.addresses.joined().contains("not a socket"))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
        try FileManager.default.removeItem(atPath: path)
    }

    @Test(
        "an impossible owner of a socket file is refused",
        arguments: ["-1", "+1", "4294967295", "99999999999", "99999999999999999999999", ":-1", "nobody-of-that-name"])
    func wrongOwner(owner: String) throws {
        let path = temporaryPath("owner")
        let probe = try Probe("listen=unix:\(path)?owner=\(owner)")
        #expect(probe.addresses.joined().contains("(owner \(owner))"))
        #expect(try probe.stop().status == 1)
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test("a port in use is reported with its address, whatever the number of event loops", arguments: [1, 2], [1, 2])
    func portInUse(loops: Int, otherLoops: Int) throws {
        let probe = try Probe("loops=\(loops)")
        let other = try Probe("loops=\(otherLoops)", "listen=127.0.0.1:\(probe.port)")
        #expect(other.addresses.joined().contains("127.0.0.1:\(probe.port): Address already in use"))
        #expect(try other.stop().status == 1)
        try probe.expectRest()
    }

    @Test("a failed listening socket is reported, and the process ends")
    func deadListener() throws {
        let probe = try Probe()
        try probe.command("break")
        let end = try probe.stop(closingInput: false)
        #expect(end.said.hasPrefix("failed: the listener on 127.0.0.1:\(probe.port) failed"))
        #expect(end.status == 3)
    }

    @Test("a server whose event loops have failed can still be shut down")
    func deadLoops() throws {
        let probe = try Probe("loops=2", "survive")
        try probe.command("break loops")
        #expect(probe.nextLine() == "broken")
        // Wakes the loops, whose next epoll_wait then fails. The shutdown waits until one has reported it: it would
        // wake them too, and could be over earlier.
        for _ in 0..<20 { try RawClient(port: probe.port).close() }
        #expect(probe.nextLine()?.contains("epoll_wait failed") == true)
        let end = try probe.stop()
        #expect(end.said == "lost 0")
        #expect(end.status == 0)
    }

    @Test(
        "sockets passed by systemd are used, also by name; a missing name is an error",
        .enabled(if: Program.find("python3") != nil, "python3 is not installed"),
        arguments: ["listen=systemd", "listen=systemd:web", "listen=systemd:other"])
    func systemd(setting: String) throws {
        let script = """
            import os, socket, sys
            s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); os.dup2(s.fileno(), 3); os.set_inheritable(3, True)
            os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1', LISTEN_FDNAMES='web')
            os.execv(sys.argv[1], sys.argv[1:])
            """
        let python = try #require(Program.find("python3"))
        let probe = try Probe(setting, launcher: [python, "-c", script])
        if setting == "listen=systemd:other" {
            #expect(probe.addresses.joined().contains("systemd passed no listening socket for 'systemd:other'"))
            #expect(try probe.stop().status == 1)
        } else {
            #expect(probe.addresses.count == 1)
            try probe.expectRest()
        }
    }
}

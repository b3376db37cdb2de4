import Foundation
import TestSupport
import Testing

@Suite("Disconnecting clients")
struct CancellationTests {
    private func request(_ version: String = "1.1") -> String {
        "POST /sleep?ms=600000 HTTP/\(version)\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
    }

    /// Waits until `count` handlers run, in addition to the one that reports the number.
    private func running(_ probe: Probe, _ count: Int) throws {
        try waitUntil("\(count) handlers run") { try probe.statistic("running") == count + 1 }
    }

    /// Expects that the request of a client that closes is cancelled and leaves no resources behind.
    private func expectCancelled(by client: RawClient, of probe: Probe) throws {
        try client.send(request())
        try running(probe, 1)
        client.close()
        try running(probe, 0)
        #expect(try probe.get("/cancelled") == "1\n")
        try probe.expectRest()
    }

    @Test("a client that resets its connection cancels its handler")
    func reset() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        try client.send(request())
        try running(probe, 1)
        client.reset()
        try running(probe, 0)
        #expect(try probe.get("/cancelled") == "1\n")
        #expect(try probe.statistic("gone:handling") == 1)
        try probe.expectRest()
    }

    @Test("a client that closes its connection cancels its handler")
    func close() throws {
        let probe = try Probe()
        try expectCancelled(by: try RawClient(port: probe.port), of: probe)
    }

    @Test("a client that closes its connection cancels its handler, even with a full read-ahead")
    func fullReadAhead() throws {
        let probe = try Probe("readAhead=1000")
        let client = try RawClient(port: probe.port)
        try client.send(request() + String(repeating: "x", count: 50_000))
        try running(probe, 1)
        client.close()
        try running(probe, 0)
        try probe.expectRest()
    }

    @Test("an HTTP/1.0 client that closes its sending side counts as disconnected")
    func oldVersion() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        try client.send(request("1.0"))
        try running(probe, 1)
        client.finish()
        try running(probe, 0)
        #expect(client.isEnded())
        try probe.expectRest()
    }

    @Test("a half-closed client is probed once with status 102, waits and is answered")
    func halfClosed() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        try client.send("GET /sleep?ms=2500 HTTP/1.1\r\nHost: x\r\n\r\n")
        client.finish()
        #expect(try client.response().status == 102)
        #expect(try client.response().text == "slept\n")
        #expect(client.isEnded())
        #expect(try probe.get("/cancelled") == "0\n")
        try probe.expectRest()
    }

    @Test("a half-closed client is answered without a probe if probes are off", arguments: ["1.0", "1.1"])
    func halfClosedUnprobed(version: String) throws {
        let probe = try Probe("probesHalfClosed=0")
        let client = try RawClient(port: probe.port)
        try client.send("GET /sleep?ms=500 HTTP/\(version)\r\nHost: x\r\n\r\n")
        client.finish()
        #expect(try client.response().text == "slept\n")
        #expect(client.isEnded())
        try probe.expectRest()
    }

    @Test("a client that closes its Unix-domain socket cancels its handler")
    func unix() throws {
        let path = temporaryPath("cancel")
        let probe = try Probe("listen=127.0.0.1:0", "listen=unix:\(path)")
        try expectCancelled(by: try RawClient(path: path), of: probe)
    }

    @Test("clients that disappear at any stage of a request leave nothing behind")
    func everyStage() throws {
        let probe = try Probe()
        let stages = [
            "", "G", "GET /sleep?ms=600000 HTTP/1.1\r\nHo",
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n",
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nhalf",
            "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf",
            "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 100000\r\n\r\n",
            "GET /sleep?ms=600000 HTTP/1.1\r\nHost: x\r\n\r\n", "GET /big?n=4000000 HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /task HTTP/1.1\r\nHost: x\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nxxx",
        ]
        for (index, stage) in stages.enumerated() {
            for number in 0..<100 {
                let client = try RawClient(port: probe.port)
                try client.send(stage)
                if number % 2 == 0 { usleep(200) }
                if (number + index) % 3 == 0 { client.reset() } else { client.close() }
            }
        }
        try running(probe, 0)
        try probe.expectRest(extraKiB: 40 << 10)
    }
}

/// A path for a socket, short enough for `sun_path`.
func temporaryPath(_ name: String) -> String {
    NSTemporaryDirectory() + "oc-\(name)-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
}

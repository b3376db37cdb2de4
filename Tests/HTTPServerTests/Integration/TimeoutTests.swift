import Foundation
import TestSupport
import Testing

@Suite("Timeouts and connection limits")
struct TimeoutTests {
    @Test("a slow head is answered 408, and an idle connection is closed without an answer")
    func heads() throws {
        let probe = try Probe("headerTimeout=300", "idleTimeout=300")
        let slow = try RawClient(port: probe.port)
        try slow.send("GET / HTTP/1.1\r\nHo")
        let silent = try RawClient(port: probe.port)
        let kept = try RawClient(port: probe.port)
        try kept.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try kept.response().status == 200)
        let response = try slow.response()
        #expect(response.status == 408)
        #expect(response.text.contains(#""code":"request_timeout""#))
        #expect(silent.isEnded())
        #expect(kept.isEnded())
        slow.close()
        #expect(try probe.statistic("timeout:slow_head") == 1)
        try probe.expectRest()
    }

    @Test("a slow body is answered 408", arguments: ["Content-Length: 100000", "Transfer-Encoding: chunked"])
    func bodies(framing: String) throws {
        let probe = try Probe("bodyGrace=300", "minBodyRate=1000")
        let client = try RawClient(port: probe.port)
        try client.send("POST /echo HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\r\n5\r\nslow")
        let response = try client.response()
        #expect(response.status == 408)
        #expect(response.fields["connection"] == "close")
        client.close()
        #expect(try probe.statistic("timeout:slow_body") == 1)
        try probe.expectRest()
    }

    @Test("a client that does not read its answer is closed after the write timeout")
    func readers() throws {
        let probe = try Probe("writeTimeout=300")
        let client = try RawClient(port: probe.port, receiveBuffer: 4096)
        try client.send("GET /big?n=16000000 HTTP/1.1\r\nHost: x\r\n\r\n")
        try waitUntil("the reader is given up") { try probe.statistic("slowReaders") == 1 }
        client.close()
        try probe.expectRest(extraKiB: 32 << 10)
    }

    /// A client that was in time is served even if the server, or the machine, was stopped and noticed late.
    @Test("clients are not timed out while the server is stopped")
    func standstill() throws {
        let limit: UInt64 = 2000
        let probe = try Probe(
            "headerTimeout=\(limit)", "idleTimeout=\(limit)", "bodyGrace=\(limit)", "writeTimeout=\(limit)",
            "minBodyRate=1000")
        for attempt in 1... {
            let start = DispatchTime.now().uptimeNanoseconds
            let kept = try RawClient(port: probe.port)
            try kept.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try kept.response().status == 200)
            let fresh = try RawClient(port: probe.port)
            let inHead = try RawClient(port: probe.port)
            try inHead.send("GET /healthz HTTP/1.1\r\nHo")
            let inBody = try RawClient(port: probe.port)
            try inBody.send("POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n1")
            let inAnswer = try RawClient(port: probe.port, receiveBuffer: 4096)
            try inAnswer.send("GET /big?n=16000000 HTTP/1.1\r\nHost: x\r\n\r\n")
            try waitUntil("they are all there") { try probe.statistic("open") == 6 }
            usleep(100_000)
            try probe.standStill()
            defer { kill(probe.pid, SIGCONT) }
            // On a busy machine it may be too late already; then they are created again.
            guard DispatchTime.now().uptimeNanoseconds - start < limit * 1_000_000 * 3 / 4 else {
                try #require(attempt < 5, "the machine is too busy")
                continue
            }
            for client in [kept, fresh] { try client.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") }
            try inHead.send("st: x\r\n\r\n")
            try inBody.send([UInt8](repeating: 0x31, count: 4999))
            inAnswer.receive(seconds: 1) { _ in false }
            usleep(UInt32(limit) * 1000)
            kill(probe.pid, SIGCONT)
            for client in [kept, fresh, inHead, inBody] { #expect(try client.response().status == 200) }
            #expect(try inAnswer.response().body.count == 16_000_000)
            for client in [kept, fresh, inHead, inBody, inAnswer] { client.close() }
            break
        }
        try probe.expectRest(extraKiB: 32 << 10)
    }

    @Test("above the connection limit, the longest idle connections are closed")
    func eviction() throws {
        let probe = try Probe("maxConnections=10")
        var clients: [RawClient] = []
        for _ in 0..<9 {
            let client = try RawClient(port: probe.port)
            try client.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.response().status == 200)
            clients.append(client)
        }
        // The first connection is used again, so it is no longer the oldest.
        try clients[0].send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try clients[0].response().status == 200)
        for _ in 0..<3 { clients.append(try RawClient(port: probe.port)) }
        for client in clients.suffix(3) {
            try client.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.response().status == 200)
        }
        #expect(clients[1].isEnded())
        try clients[0].send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try clients[0].response().status == 200)
        for client in clients { client.close() }
        try probe.expectRest()
    }

    @Test("above the connection limit, without an idle connection, a new client waits and is served")
    func waiting() throws {
        let probe = try Probe("maxConnections=4")
        let busy = try (0..<4).map { _ in try RawClient(port: probe.port) }
        for client in busy { try client.send("GET /sleep?ms=400 HTTP/1.1\r\nHost: x\r\n\r\n") }
        usleep(50_000)
        let late = try RawClient(port: probe.port)
        try late.send("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(try late.response().status == 200)
        for client in busy { #expect(try client.response().text == "slept\n") }
        for client in busy + [late] { client.close() }
        try probe.expectRest()
    }

    @Test("the connection limit holds for all event loops together, and waiting clients are served")
    func sharedLimit() throws {
        let probe = try Probe("loops=4", "maxConnections=8")
        // No connection can be closed for another: each has sent its request before the next one connects.
        let clients = try (0..<24).map { _ in
            let client = try RawClient(port: probe.port)
            try client.send("GET /sleep?ms=300 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return client
        }
        var maximum = 0
        for _ in 0..<10 {
            maximum = max(maximum, probe.usage.descriptors - probe.baseline.descriptors)
            usleep(10_000)
        }
        // Requests beyond the limit wait in reserved places.
        #expect((1...24).contains(maximum), "\(maximum) connections at once")
        #expect(try probe.statistic("mostSleeping") <= 8)
        for client in clients { #expect(try client.response().text == "slept\n") }
        for client in clients { client.close() }
        try probe.expectRest()
    }

    @Test("bodies beyond the budget wait for their turn, and all are served")
    func budget() throws {
        let probe = try Probe("maxBody=1000000", "maxTotalBody=2000000", "bodyMemoryTimeout=600000")
        let clients = try (0..<8).map { _ in try RawClient(port: probe.port) }
        let half = [UInt8](repeating: 1, count: 500_000)
        for client in clients { try client.send("POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n") }
        for client in clients { try client.send(half) }
        try waitUntil("some wait") { try probe.statistic("waiting") > 0 }
        #expect(try probe.statistic("bodyBytes") <= 2_000_000)
        // The kernel's buffers hold only a part of the waiting bodies, so each client sends on its own thread.
        let threads = clients.map { $0.sendInBackground(half) }
        for client in clients { #expect(try client.response().text == "1000000 1000000\n") }
        try waitUntil("all is sent") { threads.allSatisfy { $0.isFinished } }
        for client in clients { client.close() }
        try probe.expectRest()
    }

    @Test("a body that finds no room in time is answered 503")
    func noBudget() throws {
        let probe = try Probe("maxBody=1000000", "maxTotalBody=1000000", "bodyBudgetTimeout=300")
        let holder = try RawClient(port: probe.port)
        try holder.send("POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
        try holder.send([UInt8](repeating: 1, count: 900_000))
        try waitUntil("it holds much") { try probe.statistic("bodyBytes") >= 900_000 }
        let other = try RawClient(port: probe.port)
        try other.send("POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\nhello")
        let response = try other.response()
        #expect(response.status == 503)
        #expect(response.fields["retry-after"] != nil)
        #expect(try probe.statistic("waiting") == 0, "it no longer waits")
        holder.close()
        other.close()
        try probe.expectRest()
    }
}

import Foundation
import TestSupport
import Testing

/// Limits on a client's share, and service to clients that need little while others need much.
@Suite("Fairness and limits", .serialized)
struct FairnessTests {
    private let get = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

    /// Starts clients that send `text` again and again, and discard the answers, until they are stopped.
    private func flood(_ count: Int, _ probe: Probe, _ head: String, _ text: String) throws -> [RawClient] {
        try (0..<count).map { _ in
            let client = try RawClient(port: probe.port)
            try client.send(head)
            _ = client.sendInBackground(Array(text.utf8), times: 1_000)
            return client
        }
    }

    /// Stops sending in the background, which would keep the socket, and resets the connections.
    private func stop(_ clients: [RawClient]) {
        for client in clients { client.finish() }
        usleep(100_000)
        for client in clients { client.reset() }
    }

    @Test("a client with single requests is answered while others pipeline thousands")
    func pipelining() throws {
        let probe = try Probe("readAhead=4096")
        // No client reads: the first answers fill the buffers, and later requests wait. Until then each connection has
        // thousands of requests in the server at any time.
        let flooding = try flood(16, probe, "", String(repeating: get, count: 5_000))
        for _ in 0..<200 { #expect(try probe.get("/healthz") == #"{"status":"ok"}"#) }
        stop(flooding)
        try probe.expectRest()
    }

    @Test("one-byte chunks are refused at the body limit, and other clients are answered meanwhile")
    func tinyChunks() throws {
        let probe = try Probe("maxBody=200000")
        let head = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        let flooding = try flood(16, probe, head, String(repeating: "1\r\nx\r\n", count: 5_000))
        for _ in 0..<50 { #expect(try probe.get("/healthz") == #"{"status":"ok"}"#) }
        for client in flooding { #expect(try client.response().status == 413) }
        stop(flooding)
        try probe.expectRest()
    }

    @Test(
        "a chunk whose size exceeds the limit is refused before its data arrives",
        arguments: ["1400001", "100000005", "FFFFFFFFFFFFF", "7FFFFFFFFFFFFFFF", "8000000000000000"])
    func chunkSize(size: String) throws {
        let probe = try Probe()
        for line in ["\(size)\r\n", "\(size)", "\(size);name=value\r\n", "5\r\nhello\r\n\(size)\r\nx"] {
            let client = try RawClient(port: probe.port)
            try client.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\(line)")
            let response = try client.response()
            #expect(response.status == 413, "\(line)")
            #expect(response.text.contains(#""code":"body_too_large""#))
            client.close()
        }
        try probe.expectRest()
    }

    // MARK: Bodies

    @Test("slow bodies are refused to make room for a fast one, the slowest first", arguments: [1, 2])
    func slowestFirst(loops: Int) throws {
        let probe = try Probe("loops=\(loops)", "maxBody=4000000", "maxTotalBody=12000000", "bodyBudgetTimeout=30000")
        let size = 3_900_000
        let piece = [UInt8](repeating: 1, count: size - 100_000)
        // One after the other, so that each holds the same amount every time; no body waits for it yet.
        let drippers = try (1...2).map { count in
            let client = try RawClient(port: probe.port)
            try client.send("POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\n\r\n")
            _ = client.sendInBackground(piece)
            try waitUntil("\(count) have their bytes") { try probe.statistic("bodyBytes") > count * 3_750_000 }
            return client
        }
        for _ in 0..<3 {
            let good = try RawClient(port: probe.port)
            try good.send("POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n")
            try good.send([UInt8](repeating: 2, count: 2_000_000))
            let answer = try good.response()
            #expect(answer.text == "2000000 4000000\n", "\(answer.status) \(answer.text)")
            good.close()
        }
        // Each loop knows only its own bodies. If one loop has both, the later one is still open.
        #expect(loops == 1 ? try probe.statistic("evictedBodies") == 1 : try probe.statistic("evictedBodies") > 0)
        if loops == 1 { #expect(try drippers[0].response().status == 408) }
        stop(drippers)
        try probe.expectRest()
    }

    /// Uses a connection that is open already: a new one would get the descriptor of the closed one.
    @Test("a client that disconnects while it waits for room does not block the clients behind it")
    func goneWhileWaiting() throws {
        let probe = try Probe(
            "loops=1", "maxBody=4000000", "maxTotalBody=12000000", "minBodyRate=0", "bodyBudgetTimeout=60000")
        let statistics = try RawClient(port: probe.port)
        func waiting(_ count: Int) throws {
            try waitUntil("\(count) wait") {
                try statistics.send("GET /statistics HTTP/1.1\r\nHost: x\r\n\r\n")
                return try statistics.response().text.split(separator: "\n").contains("waiting \(count)")
            }
        }
        let head = "POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 3900000\r\n\r\n"
        let maximum = [UInt8](repeating: 1, count: 3_800_000)
        // One after the other: in parallel, the second one above the share of large bodies would wait too.
        let holders = try (1...2).map { count in
            let client = try RawClient(port: probe.port)
            try client.send(head)
            _ = client.sendInBackground(maximum)
            try waitUntil("\(count) have their bytes") { try probe.statistic("bodyBytes") > count * 3_750_000 }
            return client
        }
        var others: [RawClient] = []
        for count in 1...2 {
            let client = try RawClient(port: probe.port)
            try client.send(head)
            _ = client.sendInBackground([UInt8](repeating: 2, count: 3_900_000))
            others.append(client)
            try waiting(count)
        }
        others[0].finish()
        others[0].reset()
        try waiting(1)
        stop(holders)
        #expect(try others[1].response().text == "3900000 7800000\n")
        try waiting(0)
        for client in others + [statistics] { client.close() }
        try probe.expectRest()
    }

    @Test("stalled bodies are refused in groups of at least a quarter of the budget")
    func manySlowBodies() throws {
        let budget = 32 << 20
        let probe = try Probe("maxTotalBody=\(budget)", "maxBody=4000000", "minBodyRate=0", "bodyBudgetTimeout=60000")
        let opening =
            Array("POST /length HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nE000\r\n".utf8)
            + [UInt8](repeating: 1, count: 50_000)
        func hold(_ count: Int) throws -> [RawClient] {
            try (0..<count).map { _ in
                let client = try RawClient(port: probe.port)
                client.offer(Data(opening))
                return client
            }
        }
        // These fit into the budget, and are slow when the others arrive, which do not fit.
        var holders = try hold(300)
        try waitUntil("they have their room") { try probe.statistic("bodyBytes") >= 300 * 50_000 }
        usleep(1_200_000)
        holders += try hold(400)
        try waitUntil("the first are given up") { try probe.statistic("evictedBodies") > 0 }
        // They are closed in one turn of the event loop, so no intermediate state is seen.
        #expect(try probe.statistic("evictedBodies") * 64 << 10 >= budget / 4)
        let good = try RawClient(port: probe.port)
        try good.send("POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n")
        try good.send([UInt8](repeating: 2, count: 60_000))
        #expect(try good.response().text == "60000 120000\n")
        good.close()
        for client in holders { client.reset() }
        try waitUntil("all is given back") { try probe.statistic("bodyBytes") == 0 }
    }

    /// How clients hold a part of a body and never send the rest.
    enum Holding: CaseIterable {
        case chunked, shortLengths
        var fields: String {
            self == .chunked ? "Transfer-Encoding: chunked\r\n\r\nE000" : "Content-Length: 120000\r\n"
        }
    }

    /// No body is refused meanwhile: the timeout is longer than the test.
    @Test("a complete body gets memory despite many bodies that never become complete", arguments: Holding.allCases)
    func arrivedBodies(holding: Holding) throws {
        let probe = try Probe(
            "maxTotalBody=\(32 << 20)", "maxBody=8000000", "minBodyRate=0", "bodyTimeout=600000",
            "bodyBudgetTimeout=600000", "bodyMemoryTimeout=600000")
        let opening =
            Array("POST /length HTTP/1.1\r\nHost: x\r\n\(holding.fields)\r\n".utf8)
            + [UInt8](repeating: 1, count: 50_000)
        let holders = try (0..<700).map { _ in
            let client = try RawClient(port: probe.port)
            client.offer(Data(opening))
            return client
        }
        try waitUntil("some wait") { try probe.statistic("waiting") >= 20 }
        func sum(_ text: String, _ pieces: [UInt8]..., expecting answer: String) throws {
            let good = try RawClient(port: probe.port)
            try good.send("POST /length HTTP/1.1\r\nHost: x\r\n\(text)\r\n\r\n")
            for piece in pieces { try good.send(piece) }
            #expect(try good.response().text == answer, "\(text)")
            good.close()
        }
        for _ in 0..<3 {
            try sum("Content-Length: 60000", [UInt8](repeating: 2, count: 60_000), expecting: "60000 120000\n")
            try sum("Content-Length: 3", [2, 2, 2], expecting: "3 6\n")
            try sum("Transfer-Encoding: chunked\r\n\r\n3\r\n222\r\n0", expecting: "3 150\n")
            try sum("Transfer-Encoding: chunked", Array("3\r\n222\r\n0\r\n\r\n".utf8), expecting: "3 150\n")
        }
        // More than a socket holds. The length is known, so the body has room in addition to the chunked ones.
        if holding == .chunked {
            try sum("Content-Length: 120000", [UInt8](repeating: 2, count: 120_000), expecting: "120000 240000\n")
        }
        #expect(try probe.statistic("evictedBodies") == 0)
        for client in holders { client.reset() }
        try waitUntil("all is given back") { try probe.statistic("bodyBytes") == 0 }
    }

    /// No body is refused meanwhile: the patience is longer than the test.
    @Test("a chunked body that has begun continues despite many stalled chunked bodies")
    func begunBodies() throws {
        let probe = try Probe(
            "maxTotalBody=\(32 << 20)", "maxBody=8000000", "minBodyRate=0", "bodyTimeout=600000",
            "bodyBudgetTimeout=600000", "bodyMemoryTimeout=600000")
        let head = "POST /length HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        func chunk(_ size: Int) -> [UInt8] {
            Array("\(String(size, radix: 16))\r\n".utf8) + [UInt8](repeating: 2, count: size) + Array("\r\n".utf8)
        }
        let good = try RawClient(port: probe.port)
        try good.send(head)
        try good.send(chunk(50_000))
        try waitUntil("it has begun") { try probe.statistic("bodyBytes") >= 50_000 }
        let holders = try (0..<700).map { _ in
            let client = try RawClient(port: probe.port)
            client.offer(Data(Array(head.utf8) + chunk(60_000).prefix(50_000)))
            return client
        }
        try waitUntil("some wait") { try probe.statistic("waiting") >= 20 }
        for _ in 0..<10 { try good.send(chunk(200_000)) }
        try good.send("0\r\n\r\n")
        #expect(try good.response().text == "2050000 4100000\n")
        #expect(try probe.statistic("evictedBodies") == 0)
        good.close()
        for client in holders { client.reset() }
        try waitUntil("all is given back") { try probe.statistic("bodyBytes") == 0 }
    }

    @Test("small bodies have room when large bodies have used up their share")
    func smallBodies() throws {
        let probe = try Probe("maxBody=4000000", "maxTotalBody=20000000", "minBodyRate=0")
        let drippers = try (0..<5).map { _ in
            let client = try RawClient(port: probe.port)
            try client.send("POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 3900000\r\n\r\n")
            _ = client.sendInBackground([UInt8](repeating: 1, count: 3_800_000))
            return client
        }
        try waitUntil("they wait") { try probe.statistic("waiting") > 0 }
        let good = try RawClient(port: probe.port)
        try good.send("POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n")
        try good.send([UInt8](repeating: 2, count: 50_000))
        #expect(try good.response().text == "50000 100000\n")
        good.close()
        stop(drippers)
        try probe.expectRest()
    }

    @Test("a body that takes longer than the body timeout is answered 408, even at a sufficient rate")
    func bodyTimeout() throws {
        let probe = try Probe("bodyTimeout=600", "bodyGrace=200", "minBodyRate=10")
        let client = try RawClient(port: probe.port)
        try client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
        for _ in 0..<100 where try probe.statistic("timeout:late_body") == 0 {
            try? client.send([UInt8](repeating: 1, count: 500))
            usleep(20_000)
        }
        #expect(try client.response().status == 408)
        client.close()
        try probe.expectRest()
    }

    // MARK: Connections

    @Test("when slow bodies hold all connections, the slowest is closed for a new connection")
    func drippers() throws {
        let probe = try Probe("maxConnections=20", "minBodyRate=1", "bodyGrace=60000")
        let drippers = try (0..<30).map { _ in
            let client = try RawClient(port: probe.port)
            try client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\nx")
            return client
        }
        for _ in 0..<5 { #expect(try probe.get("/healthz") == #"{"status":"ok"}"#) }
        #expect(try probe.statistic("evicted") > 0)
        stop(drippers)
        try probe.expectRest()
    }

    /// The server has not seen the requests of the oldest connections yet: it fetches 256 events at a time, and the new
    /// connection's event is first.
    @Test("a connection whose request has arrived is not closed as idle for a new connection")
    func lookBeforeEvicting() throws {
        let probe = try Probe("loops=1", "maxConnections=300")
        let clients = try (0..<300).map { _ in
            let client = try RawClient(port: probe.port)
            try client.send(get)
            #expect(try client.response().status == 200)
            return client
        }
        try probe.standStill()
        defer { kill(probe.pid, SIGCONT) }
        let newcomer = try RawClient(port: probe.port)
        try newcomer.send(get)
        for client in clients.reversed() { try client.send(get) }
        kill(probe.pid, SIGCONT)
        for client in clients { #expect(try client.response().status == 200) }
        #expect(try newcomer.response().status == 200)
        for client in clients + [newcomer] { client.close() }
    }

    @Test("a new connection is not closed for a newer one while slow bodies can be closed")
    func newcomers() throws {
        let probe = try Probe("maxConnections=20", "minBodyRate=1", "bodyGrace=60000")
        let drippers = try (0..<20).map { _ in
            let client = try RawClient(port: probe.port)
            try client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\nx")
            return client
        }
        // After a second they are slow, and each new connection closes one of them.
        #expect(try probe.get("/healthz") == #"{"status":"ok"}"#)
        usleep(1_200_000)
        let newcomer = try RawClient(port: probe.port)
        let halfway = try RawClient(port: probe.port)
        try halfway.send("GET /healthz HTTP/1.1\r\nHo")
        for _ in 0..<3 { #expect(try probe.get("/healthz") == #"{"status":"ok"}"#) }
        try newcomer.send(get)
        #expect(try newcomer.response().status == 200)
        try halfway.send("st: x\r\n\r\n")
        #expect(try halfway.response().status == 200)
        newcomer.close()
        halfway.close()
        stop(drippers)
        try probe.expectRest()
    }

    // MARK: Memory

    /// Forms of requests that begin with bytes that could make the server hold more memory than it counts.
    enum Form: String, CaseIterable {
        case recycledBuffers, oneByte, chunksWithTheHead, halfHeads, largeHeads, readAhead
    }

    @Test("memory stays within the budget and 16 MiB, whatever clients send", arguments: Form.allCases)
    func memory(form: Form) throws {
        let budget = 24 << 20
        let probe = try Probe("maxTotalBody=\(budget)", "maxBody=5000000", "minBodyRate=0", "headerTimeout=60000")
        var clients: [RawClient] = []
        let sizes = [15_000, 20_000, 60_000, 100_000, 127_000, 131_073, 200_000, 1_000_000, 4_190_000]
        let long = (0..<60).map { "f\($0): \(String(repeating: "y", count: 250))\r\n" }.joined()
        for number in 0..<1_000 {
            let client = try RawClient(port: probe.port)
            clients.append(client)
            switch form {
            case .recycledBuffers where number < 60, .oneByte where number < 40:
                let size = form == .oneByte ? sizes[number % sizes.count] : 4_190_000
                let head = "POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\n\r\n"
                try client.send(head)
                try client.send([UInt8](repeating: 1, count: size))
                #expect(try client.response().status == 200)
                try client.send(head + "x")
            case .recycledBuffers, .oneByte:
                let size = sizes[number % sizes.count]
                try client.send("POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\n\r\nx")
            case .chunksWithTheHead:
                client.offer("POST /length HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nE000\r\n")
                client.offer(Data(count: 50_000))
            case .halfHeads: client.offer("GET /healthz HTTP/1.1\r\nHost: x\r\n\(long)")
            case .largeHeads:
                client.offer("POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\(long)\r\nx")
            case .readAhead:
                client.offer("GET /sleep?ms=3000 HTTP/1.1\r\nHost: x\r\n\r\n" + String(repeating: get, count: 380))
            }
        }
        // Heads and read-ahead count like bodies.
        if [.halfHeads, .largeHeads, .readAhead].contains(form) {
            try waitUntil("heads are counted") { try probe.statistic("bodyBytes") > 1 << 20 }
        }
        usleep(300_000)
        // The memory of a connection itself is not part of the budget: 4 KiB each were enough in a release build, twice
        // that in this build.
        let connections = clients.count * 8
        let grown = probe.peak - probe.baselineResident
        #expect(grown <= budget / 1024 + (16 << 10) + connections, "KiB, \(form)")
        print("memory of \(form): \(grown / 1024) MiB with \(try probe.statistic("bodyBytes") >> 20) MiB counted")
        for client in clients { client.reset() }
        try waitUntil("all is given back") { try probe.statistic("bodyBytes") == 0 }
    }

    @Test("unread answers stay within their budget, and a client that reads is served")
    func answers() throws {
        let probe = try Probe("maxTotalAnswers=8000000", "writeTimeout=60000")
        let before = probe.resident
        let readers = try (0..<60).map { _ in
            let client = try RawClient(port: probe.port, receiveBuffer: 4096)
            try client.send("GET /big?n=2000000 HTTP/1.1\r\nHost: x\r\n\r\n")
            return client
        }
        try waitUntil("readers are shed") { try probe.statistic("shedReaders") >= 50 }
        #expect(try probe.statistic("answerBytes") <= 8_000_000)
        #expect(probe.resident - before < (8 << 10) + (16 << 10), "KiB")
        // A client that reads is served meanwhile.
        #expect(try probe.get("/big?n=3000000").utf8.count == 3_000_000)
        for client in readers { client.reset() }
        try waitUntil("all is given back") { try probe.statistic("answerBytes") == 0 }
        try probe.expectRest()
    }

    // MARK: Refusals

    @Test(
        "a refused body of any length is skipped, and the connection is kept",
        arguments: [1, 105_000, 10_000_000])
    func refusal(size: Int) throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        for _ in 0..<3 {
            try client.send("POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\n\r\n")
            try client.send([UInt8](repeating: 71, count: size))
            let response = try client.response()
            #expect(response.text == "refused\n")
            #expect(response.fields["connection"] == nil)
        }
        try client.send(get)
        #expect(try client.response().status == 200)
        client.close()
        try probe.expectRest()
    }

    @Test(
        "a refused chunked body is skipped up to a bound, beyond which the connection ends",
        arguments: [0, 1, 10, 400])
    func chunkedRefusal(chunks: Int) throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        let body =
            String(repeating: "10000\r\n\(String(repeating: "G", count: 65_536))\r\n", count: chunks) + "0\r\n\r\n"
        try client.send("POST /refuse HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        client.offer(body + get)
        let response = try client.response()
        #expect(response.text == "refused\n")
        #expect(response.fields["connection"] == nil)
        if chunks < 400 {
            #expect(try client.response().text == #"{"status":"ok"}"#)
        } else {
            #expect(client.isEnded())
        }
        client.close()
        try probe.expectRest()
    }

    @Test("a refused chunked body that is malformed ends the connection")
    func malformedRefusal() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        try client.send("POST /refuse HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nGET / HTTP/1.1\r\n\r\n")
        #expect(try client.response().text == "refused\n")
        #expect(client.isEnded())
        client.close()
        try probe.expectRest()
    }

    @Test(
        "an answer to HEAD has no body, whatever was wrong with the request",
        arguments: [
            "HEAD / HTTP/1.1\r\n\r\n", "HEAD /% HTTP/1.1\r\n", "HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n",
            "HEAD / HTTP/2.0\r\n", "HEAD /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n",
            "HEAD /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nz",
        ])
    func head(text: String) throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        try client.send(text)
        client.finish()
        let all = try client.rest()
        #expect(all.hasPrefix("HTTP/1.1 4") || all.hasPrefix("HTTP/1.1 5"), "\(all)")
        #expect(all.hasSuffix("\r\n\r\n"), "\(all)")
        client.close()
        try probe.expectRest()
    }
}

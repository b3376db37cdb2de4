import Foundation
import TestSupport
import Testing

/// Answers that fit the kernel's buffers and are not read. The bytes in the kernel are read from
/// /proc/net/tcp, which also lists closed sockets that still hold bytes.
@Suite("Answers that are not read", .serialized)
struct UnreadAnswersTests {
    /// A socket of the server's side.
    struct Socket {
        /// Bytes that the client has not acknowledged.
        let queued: Int
        /// No process has it any more.
        let isOrphan: Bool
    }

    /// The server's sockets that hold something.
    private func sockets(of probe: Probe) throws -> [Socket] {
        // Foundation would read the first page of it only.
        try Program.run("cat", ["/proc/net/tcp"]).output.split(separator: "\n").dropFirst().compactMap {
            let words = $0.split(separator: " ")
            guard words.count > 9, words[3] != "0A",  // listening
                words[1].split(separator: ":").last.flatMap({ UInt16($0, radix: 16) }) == probe.port,
                let queued = words[4].split(separator: ":").first.flatMap({ Int($0, radix: 16) }), queued > 1
            else { return nil }
            return Socket(queued: queued, isOrphan: words[9] == "0")
        }
    }

    private func reader(_ probe: Probe, bytes: Int = 50_000, fields: String = "") throws -> RawClient {
        let client = try RawClient(port: probe.port, receiveBuffer: 4096)
        try client.send("GET /big?n=\(bytes) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n")
        return client
    }

    @Test("unread answers count under the limit of all answers, and connections over the limit are dropped")
    func limit() throws {
        let probe = try Probe("maxTotalAnswers=2000000")
        let readers = try (0..<100).map { _ in try reader(probe) }
        try waitUntil("some are given up") { try probe.statistic("shedReaders") > 50 }
        let sockets = try sockets(of: probe)
        #expect(sockets.reduce(0) { $0 + $1.queued } <= 2_000_000)
        #expect(sockets.count { $0.isOrphan } == 0)
        #expect(sockets.count > 5, "the others keep their answers")
        for client in readers { client.close() }
        try probe.expectRest()
        #expect(try self.sockets(of: probe).isEmpty)
    }

    /// One client holds nearly all that may be held. The small answers are on both loops, all at once, and the loop
    /// without the large one often sees first that they are too much.
    @Test("a client's large unread answer is dropped before small answers of others, on any event loop")
    func innocentLoop() throws {
        let probe = try Probe("loops=2", "maxTotalAnswers=4000000", "sendBuffer=4096", "writeTimeout=60000")
        for round in 1...6 {
            let large = try reader(probe, bytes: 3_300_000)
            try waitUntil("its answer is held") { try probe.statistic("answerBytes") > 3_200_000 }
            let small = try (0..<150).map { _ in try RawClient(port: probe.port, receiveBuffer: 4096) }
            for client in small { client.offer("GET /big?n=7000 HTTP/1.1\r\nHost: x\r\n\r\n") }
            try waitUntil("somebody is given up") { try probe.statistic("shedReaders") >= round }
            for client in small { #expect(try client.response().body.count == 7000) }
            #expect(try probe.statistic("shedReaders") == round)
            for client in small + [large] { client.close() }
            try waitUntil("nothing is counted") { try probe.statistic("answerBytes") == 0 }
        }
        try probe.expectRest()
    }

    @Test("unread answers are dropped, and their connections closed, after the write timeout")
    func writeTimeout() throws {
        let probe = try Probe("writeTimeout=1000")
        let readers = try (0..<50).map { _ in try reader(probe) }
        try waitUntil("the kernel's share is known") { try probe.statistic("socketBytes") > 50 * 40_000 }
        try waitUntil("they are given up") { try probe.statistic("slowReaders") == 50 }
        #expect(try sockets(of: probe).isEmpty)
        #expect(try probe.statistic("socketBytes") == 0)
        #expect(try probe.statistic("answerBytes") == 0)
        for client in readers { client.close() }
        try probe.expectRest()
    }

    @Test("a connection closed to make room for another leaves no unread answer in the kernel")
    func connectionLimit() throws {
        let probe = try Probe("maxConnections=20")
        let readers = try (0..<60).map { _ in try reader(probe) }
        try waitUntil("all were accepted") { (try? probe.statistic("accepted")) ?? 0 > 60 }
        #expect(try sockets(of: probe).count { $0.isOrphan } == 0)
        for client in readers { client.close() }
        try probe.expectRest()
    }

    @Test("while readers that cannot be closed yet hold all places, probes are answered and other requests wait")
    func probesBesideReaders() throws {
        let probe = try Probe(
            "loops=1", "maxConnections=20", "reservedConnections=256", "bodyMemoryTimeout=600000",
            "headerTimeout=600000")
        let readers = try (0..<20).map { _ in try reader(probe) }
        try waitUntil("the kernel's share is known") { (try? probe.get("/healthz")) != nil }
        // More requests than reserved places (256, or fewer if few files may be open): the longest waits are refused.
        let others = try (0..<300).map { _ in
            let client = try RawClient(port: probe.port)
            try client.send("GET /task HTTP/1.1\r\nHost: x\r\n\r\n")
            return client
        }
        for _ in 0..<50 { #expect(try probe.get("/healthz") == #"{"status":"ok"}"#) }
        let refused = try others.prefix(44).map { try $0.response() }
        #expect(refused.allSatisfy { $0.status == 503 && $0.text.contains("max_connections") })
        // The places are free, and the others have them in turn: each is idle after its answer.
        for client in readers { client.close() }
        let answers = try others.dropFirst(44).map { try $0.response().status }
        #expect(answers.count { $0 == 200 } > 50 && answers.allSatisfy { $0 == 200 || $0 == 503 }, "\(answers)")
        #expect(answers.last == 200)
        for client in others { client.close() }
        try probe.expectRest()
    }

    /// Each client has another number of pipelined answers: the socket decides whose stop when it is full, while the
    /// last request is handled.
    @Test("an answer is no longer counted once its connection is closed for the limit while sending")
    func closedWhileSent() throws {
        let probe = try Probe("loops=1", "maxTotalAnswers=200000", "sendBuffer=4096")
        for count in 1...100 {
            let client = try RawClient(port: probe.port, receiveBuffer: 4096)
            let small = String(repeating: "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", count: count)
            try client.send(small + "GET /big?n=300000 HTTP/1.1\r\nHost: x\r\n\r\n")
            usleep(20_000)
            client.reset()
        }
        #expect(try probe.statistic("shedReaders") > 0)
        try waitUntil("nothing is counted") { try probe.statistic("answerBytes") == 0 }
        try probe.expectRest()
    }

    /// The newcomer makes the server look at the first client, which then no longer counts as idle.
    @Test("a connection whose answer was read is idle again and makes room for a new connection")
    func takenAtConnectionLimit() throws {
        let probe = try Probe("loops=1", "maxConnections=1", "headerTimeout=600000")
        let client = try reader(probe)
        usleep(50_000)
        let newcomer = try RawClient(port: probe.port)
        try newcomer.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        usleep(100_000)
        #expect(try client.response().body.count == 50_000)
        #expect(try newcomer.response().status == 200)
        client.close()
        newcomer.close()
        try probe.expectRest()
    }

    /// The server gives it a second. Where the test itself is held up for as long, it is tried again.
    @Test("a client that reads a moment late gets the whole answer while a new client waits")
    func smallAtConnectionLimit() throws {
        let probe = try Probe("loops=1", "maxConnections=1", "bodyMemoryTimeout=1")
        let isWhole = try (0..<10).contains { _ in
            let client = try reader(probe, bytes: 12_000)
            usleep(50_000)
            let newcomer = try RawClient(port: probe.port)
            defer {
                client.close()
                newcomer.close()
            }
            usleep(400_000)
            return (try? client.response().body.count) == 12_000
        }
        #expect(isWhole)
        try probe.expectRest()
    }

    @Test(
        "a connection that must be closed with an unread answer is kept until the write timeout",
        arguments: ["Connection: close\r\n", ""])
    func closing(fields: String) throws {
        let probe = try Probe("writeTimeout=1000")
        let client = try reader(probe, fields: fields)
        if fields.isEmpty { client.finish() }
        try waitUntil("it holds an answer") { try sockets(of: probe).count == 1 }
        #expect(try sockets(of: probe).count { $0.isOrphan } == 0)
        try waitUntil("it is given up") { try probe.statistic("slowReaders") == 1 }
        #expect(try sockets(of: probe).isEmpty)
        try probe.expectRest()
    }

    /// A client that reads is not hurried: its connection may have ended by every rule but that.
    @Test(
        "a client that reads late and slowly gets the whole answer",
        arguments: ["Connection: close\r\n", "Connection: keep-alive\r\n", ""])
    func slow(fields: String) throws {
        let probe = try Probe("writeTimeout=2000", "idleTimeout=300", "lingerTimeout=300")
        let client = try reader(probe, fields: fields)
        if fields.isEmpty { client.finish() }
        usleep(1_500_000)
        var response = try client.response()
        while response.status == 102 { response = try client.response() }
        #expect(response.body.count == 50_000)
        #expect(client.isEnded())
        try probe.expectRest()
    }
}

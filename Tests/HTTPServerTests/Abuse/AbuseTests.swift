import Foundation
import TestSupport
import Testing

/// Tests in which the server must keep answering and use no more resources than before.
@Suite("Abuse", .serialized)
struct AbuseTests {
    private func clients(_ count: Int, _ probe: Probe, _ text: String, receiveBuffer: Int32? = nil) throws
        -> [RawClient]
    {
        try (0..<count).map { _ in
            let client = try RawClient(port: probe.port, receiveBuffer: receiveBuffer)
            try client.send(text)
            return client
        }
    }

    @Test("2,000 idle connections take less than 4 KiB each")
    func idle() throws {
        let probe = try Probe()
        let before = probe.resident
        let idle = try clients(2_000, probe, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        for client in idle { _ = try client.response() }
        #expect(try probe.get("/healthz") == #"{"status":"ok"}"#)
        let each = (probe.resident - before) * 1024 / 2_000
        print("memory of an idle connection: \(each) bytes")
        #if !DEBUG
            #expect(each < 4096)
        #endif
        for client in idle { client.close() }
        try probe.expectRest()
    }

    @Test("500 slow heads and 500 slow bodies are answered 408, and other requests are answered meanwhile")
    func slow() throws {
        let probe = try Probe("headerTimeout=1500", "bodyGrace=1500", "lingerTimeout=300")
        let heads = try clients(500, probe, "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        let bodies = try clients(500, probe, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx")
        for _ in 0..<5 {
            for client in heads + bodies { try? client.send("y") }
            #expect(try probe.get("/healthz") == #"{"status":"ok"}"#)
        }
        for client in heads { #expect(try client.response().status == 408) }
        for client in bodies { #expect(try client.response().status == 408) }
        for client in heads + bodies { client.close() }
        try probe.expectRest()
    }

    @Test("200 clients that never read are disconnected, and the server keeps answering")
    func neverReading() throws {
        let probe = try Probe("writeTimeout=1000")
        let readers = try clients(200, probe, "GET /big?n=1000000 HTTP/1.1\r\nHost: x\r\n\r\n", receiveBuffer: 4096)
        #expect(try probe.get("/healthz") == #"{"status":"ok"}"#)
        try waitUntil("all are given up or have been sent to") {
            try probe.statistic("open") - probe.statistic("idle") <= 1
        }
        for client in readers { client.close() }
        try probe.expectRest(extraKiB: 64 << 10)
    }

    @Test("clients that pipeline without reading are disconnected, and memory stays bounded")
    func pipelineFlood() throws {
        let probe = try Probe("writeTimeout=1000")
        let before = probe.resident
        let text = [UInt8](String(repeating: "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", count: 20_000).utf8)
        let flood = try (0..<20).map { _ in try RawClient(port: probe.port, receiveBuffer: 4096) }
        let threads = flood.map { $0.sendInBackground(text, times: 10) }
        try waitUntil("they are given up") { try probe.statistic("slowReaders") == 20 }
        #expect(probe.peak < before + (20 << 10))
        try waitUntil("they have ended") { threads.allSatisfy { $0.isFinished } }
        for client in flood { client.close() }
        try probe.expectRest()
    }

    @Test("a Content-Length of 10 GB is refused with 413 and the limit")
    func hugeLength() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        try client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10737418240\r\n\r\n")
        let response = try client.response()
        #expect(response.status == 413)
        #expect(response.text.contains("20971520"))
        client.close()
        try probe.expectRest()
    }

    @Test("a chunked body without end is refused with 413 at the limit")
    func endlessChunks() throws {
        let probe = try Probe("maxBody=1000000")
        let client = try RawClient(port: probe.port)
        try client.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunk = Array("10000\r\n\(String(repeating: "z", count: 65_536))\r\n".utf8)
        for _ in 0..<100 { try client.send(chunk) }
        #expect(try client.response().status == 413)
        client.close()
        #expect(probe.peak < probe.baselineResident + 8_192)
        try probe.expectRest()
    }

    @Test("an answer sent before the body is read reaches a client that keeps sending")
    func earlyAnswer() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        try client.send("POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 41943040\r\n\r\n")
        let piece = [UInt8](repeating: 0, count: 1 << 20)
        for _ in 0..<40 { try client.send(piece) }
        #expect(try client.response().text == "refused\n")
        #expect(client.isEnded())
        client.close()
        try probe.expectRest()
    }

    @Test("10,000 connections that are opened and reset leave nothing behind")
    func resets() throws {
        let probe = try Probe()
        for number in 0..<10_000 {
            let client = try RawClient(port: probe.port)
            if number % 2 == 0 { try client.send("GET /task HTTP/1.1\r\nHost: x\r\n\r\n") }
            client.reset()
        }
        try probe.expectRest()
    }

    @Test("many clients leave the process some descriptors, and are answered again when connections are closed")
    func descriptors() throws {
        let limit = 56
        let probe = try Probe("descriptors=\(limit)")
        var held = try clients(24, probe, "GET /sleep?ms=3000 HTTP/1.1\r\nHost: x\r\n\r\n")
        try waitUntil("they run") { (try? probe.statistic("running")) ?? 0 == 25 }
        // When no connection is idle, a few wait in the reserved places; the others are refused, the oldest first.
        for _ in 0..<40 {
            guard let client = try? RawClient(port: probe.port) else { continue }
            try? client.send("GET /sleep?ms=3000 HTTP/1.1\r\nHost: x\r\n\r\n")
            held.append(client)
        }
        #expect(try probe.get("/healthz") == #"{"status":"ok"}"#)
        #expect(probe.usage.descriptors <= limit - limit / 4, "the rest is for what the process itself opens")
        for client in held.prefix(24) { #expect(try client.response().text == "slept\n") }
        let others = try held.dropFirst(24).map { try $0.response().status }
        #expect(others.contains(503) && others.last == 200, "\(others)")
        for client in held { client.close() }
        try waitUntil("it answers again") { (try? probe.get("/healthz")) == #"{"status":"ok"}"# }
        try probe.expectRest()
    }
}

import Foundation
import TestSupport
import Testing

@Suite("One server, raw sockets")
struct ExchangeTests {
    @Test("requests on one connection are answered in order, each with server, date and identifier")
    func keepAlive() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        for (index, path) in ["/healthz", "/task", "/nothing", "/healthz"].enumerated() {
            try client.send("GET \(path) HTTP/1.1\r\nHost: x\r\nX-Request-ID: id-\(index)\r\n\r\n")
            let response = try client.response()
            #expect(response.status == (path == "/nothing" ? 404 : 200))
            #expect(response.fields["x-request-id"] == "id-\(index)")
            #expect(response.fields["server"] == "ocelli/0.1.0")
            #expect(response.fields["date"]?.hasSuffix(" GMT") == true)
            #expect(response.fields["connection"] == nil)
        }
        try client.send("GET / HTTP/1.1\r\nHost: x\r\nX-Request-ID: \"; drop\r\nConnection: close\r\n\r\n")
        let last = try client.response()
        #expect(last.fields["connection"] == "close")
        #expect(last.fields["x-request-id"]?.count == 15)
        #expect(client.isEnded())
        try probe.expectRest()
    }

    @Test(
        "a refused request is answered with its own X-Request-ID",
        arguments: [
            ("POST /task HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\nID\r\n", 501),
            ("POST /task HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nID\r\n", 417),
            ("GET / HTTP/1.1\r\nID\r\n", 400), ("\r\nGET x HTTP/1.1\r\nID\r\n", 400),
            ("GET / HTTP/2.0\r\nHost: x\r\nID\r\n", 505), ("GET / HTTP/1.1\r\nid: x\r\nID\r\nbad\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nID" + String(repeating: "X: y\r\n", count: 120) + "\r\n", 431),
        ])
    func refusedIdentifier(text: String, status: Int) throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        try client.send(text.replacing("ID", with: "x-REQUEST-id: \t my-id.1 \r\n"))
        let response = try client.response()
        #expect(response.status == status)
        #expect(response.fields["x-request-id"] == "my-id.1")
        #expect(client.isEnded())
        // Otherwise the server continues to read for a while.
        client.finish()
        try probe.expectRest()
    }

    @Test(
        "a refused request without a valid X-Request-ID in its head gets a new identifier",
        arguments: [
            "GET x HTTP/1.1\r\nX-Request-ID: a b\r\n\r\n", "GET x HTTP/1.1\r\n\r\nX-Request-ID: abc\r\n\r\n",
            "GET x HTTP/1.1\r\nX-Request-ID: abc", "X-Request-ID: abc\r\n\r\n",
        ])
    func refusedWithoutIdentifier(text: String) throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        try client.send(text)
        let response = try client.response()
        #expect(response.status == 400)
        #expect(response.fields["x-request-id"]?.count == 15)
        #expect(client.isEnded())
        client.finish()
        try probe.expectRest()
    }

    @Test("pipelined requests are answered in order, immediate and waiting answers mixed")
    func pipelining() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        var text = ""
        for index in 0..<50 {
            text += "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n\(1000 + index)"
            text += "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
            text +=
                "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n\(2000 + index)\r\n0\r\n\r\n"
        }
        try client.send(text)
        for index in 0..<50 {
            #expect(try client.response().text == "\(1000 + index)")
            #expect(try client.response().text == #"{"status":"ok"}"#)
            #expect(try client.response().text == "\(2000 + index)")
        }
        client.close()
        try probe.expectRest()
    }

    @Test("heads and pipelined requests may reach the configured limits")
    func largeLimits() throws {
        let probe = try Probe("maxHeader=1048576", "maxRequestLine=1048576", "readAhead=1048576")
        let client = try RawClient(port: probe.port)
        let fields = (0..<90).map { "X-\($0): \(String(repeating: "v", count: 10_000))\r\n" }.joined()
        let line = "GET /healthz?\(String(repeating: "q", count: 900_000)) HTTP/1.1\r\n"
        try client.send(line + "Host: x\r\n" + fields + "\r\n")
        #expect(try client.response().text == #"{"status":"ok"}"#)
        let body = String(repeating: "b", count: 700_000)
        try client.send("GET /sleep?ms=200 HTTP/1.1\r\nHost: x\r\n\r\n")
        try client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        #expect(try client.response().text == "slept\n")
        #expect(try client.response().text == body)
        client.close()
        try probe.expectRest()
    }

    @Test("a request may arrive in pieces of any size")
    func pieces() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        let request =
            "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\n"
        for size in [1, 2, 3, 7, 19] {
            var rest = Substring(request)
            while !rest.isEmpty {
                try client.send(String(rest.prefix(size)))
                rest = rest.dropFirst(size)
                usleep(500)
            }
            #expect(try client.response().text == "abcde")
        }
        client.close()
        try probe.expectRest()
    }

    @Test("100 Continue is sent only when the body is wanted")
    func expectation() throws {
        let probe = try Probe("maxBody=1000")
        let client = try RawClient(port: probe.port)
        let head = "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: "
        try client.send(head + "5\r\n\r\n")
        #expect(try client.response().status == 100)
        try client.send("hello")
        #expect(try client.response().text == "hello")
        try client.send(head + "1001\r\n\r\n")
        let refused = try client.response()
        #expect(refused.status == 413)
        #expect(refused.text.contains(#""code":"body_too_large""#))
        #expect(refused.fields["connection"] == "close")
        client.close()
        let other = try RawClient(port: probe.port)
        try other.send("POST /refuse HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        let final = try other.response()
        #expect(final.text == "refused\n")
        #expect(final.fields["connection"] == "close")
        #expect(other.isEnded())
        other.close()
        // Body bytes that arrive before the answer show that the client sends the body, so it is skipped.
        let eager = try RawClient(port: probe.port)
        for _ in 0..<2 {
            try eager.send("POST /refuse HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhel")
            let response = try eager.response()
            #expect(response.text == "refused\n")
            #expect(response.fields["connection"] == nil)
            try eager.send("lo")
        }
        try eager.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try eager.response().status == 200)
        eager.close()
        try probe.expectRest()
    }

    @Test("a short refused body is skipped, and the connection is kept")
    func skipping() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        let body = String(repeating: "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", count: 100)
        try client.send("POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
        #expect(try client.response().status == 413)
        try client.send(body)
        try client.send("GET /empty HTTP/1.1\r\nHost: x\r\n\r\n")
        let next = try client.response()
        #expect(next.status == 204)
        #expect(next.fields["content-length"] == nil)
        client.close()
        try probe.expectRest()
    }

    @Test("HEAD is answered with the length and without the body")
    func head() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        for path in ["/healthz", "/task", "/nothing", "/big?n=100000"] {
            try client.send("HEAD \(path) HTTP/1.1\r\nHost: x\r\n\r\nGET /empty HTTP/1.1\r\nHost: x\r\n\r\n")
            let response = try client.response(toHead: true)
            #expect((Int(response.fields["content-length"] ?? "") ?? 0) > 10)
            #expect(try client.response().status == 204)
        }
        client.close()
        try probe.expectRest()
    }

    @Test("an HTTP/1.0 connection is kept only if the client asks for keep-alive")
    func oldVersion() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        try client.send("GET /task HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(try client.response().fields["connection"] == "keep-alive")
        try client.send("GET /healthz HTTP/1.0\r\n\r\n")
        #expect(try client.response().fields["connection"] == "close")
        #expect(client.isEnded())
        try probe.expectRest()
    }

    @Test(
        "a client that has closed its sending side is answered, including its pipelined requests",
        .timeLimit(.minutes(2)))
    func halfClose() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        try client.send(
            "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /sleep?ms=50 HTTP/1.1\r\nHost: x\r\n\r\nGET /task HTTP/1.1\r\nHost: x\r\n\r\n"
        )
        client.finish()
        var statuses: [Int] = []
        for _ in 0..<8 {
            guard let response = try? client.response() else { break }
            if response.status != 102 { statuses.append(response.status) }
        }
        #expect(statuses == [200, 200, 200])
        client.close()
        try probe.expectRest()
    }

    @Test(
        "a client that ends its sending side too soon gets 400 with the missing part",
        arguments: ["GET / HTTP/1.1\r\nHost", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"])
    func truncated(text: String) throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        try client.send(text)
        client.finish()
        let response = try client.response()
        #expect(response.status == 400)
        #expect(response.text.contains("before"))
        #expect(client.isEnded())
        try probe.expectRest()
    }

    @Test("bytes after a malformed request are never taken for a request")
    func poison() throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        try client.send(
            "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 2\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        let all = try client.rest()
        #expect(all.components(separatedBy: "HTTP/1.1 ").count == 2)
        #expect(all.contains("400 Bad Request"))
        client.close()
        try probe.expectRest()
    }

    @Test("a connection is closed after the largest number of requests")
    func maxRequests() throws {
        let probe = try Probe("maxRequests=3")
        let client = try RawClient(port: probe.port)
        for index in 1...3 {
            try client.send("GET /task HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try client.response().fields["connection"] == (index == 3 ? "close" : nil))
        }
        #expect(client.isEnded())
        client.close()
        try probe.expectRest()
    }

    @Test("a body of 20 MiB is held in memory only once", arguments: [false, true])
    func oneCopy(chunked: Bool) throws {
        let probe = try Probe()
        let client = try RawClient(port: probe.port)
        let size = 20 << 20
        let piece = [UInt8](repeating: 1, count: 1 << 20)
        try client.send("POST /length HTTP/1.1\r\nHost: x\r\n")
        try client.send(chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "Content-Length: \(size)\r\n\r\n")
        for _ in 0..<20 {
            if chunked { try client.send("100000\r\n") }
            try client.send(piece)
            if chunked { try client.send("\r\n") }
        }
        if chunked { try client.send("0\r\n\r\n") }
        #expect(try client.response().text == "\(size) \(size)\n")
        client.close()
        #expect(probe.peak < probe.baselineResident + (size >> 10) * 3 / 2, "\(probe.baselineResident), \(probe.peak)")
        try probe.expectRest()
    }

    @Test("a long answer is sent whole to a slow but steady reader")
    func longAnswer() throws {
        let probe = try Probe("writeTimeout=2000")
        let client = try RawClient(port: probe.port, receiveBuffer: 8192)
        try client.send("GET /big?n=8000000 HTTP/1.1\r\nHost: x\r\n\r\nGET /empty HTTP/1.1\r\nHost: x\r\n\r\n")
        let response = try client.response()
        #expect(response.body.count == 8_000_000)
        #expect(try client.response().status == 204)
        client.close()
        try probe.expectRest()
    }
}

import Testing
import Tools

/// How a file is received over several requests.
@Suite struct FileTransferTests {
    private func answer(_ lines: String...) -> HubAnswer {
        var answer = HubAnswer()
        for line in lines { _ = answer.take(Array((line + "\r\n").utf8)) }
        return answer
    }

    private func use(_ transfer: inout FileTransfer, _ answer: HubAnswer) -> FileTransfer.Use {
        transfer.use(of: answer)
    }

    @Test("a head is the last one of several; the first of two fields counts")
    func heads() {
        let answer = answer(
            "HTTP/1.1 100 Continue", "X: old", "", "HTTP/1.1 302 Found", "LOCATION:  /x y ", "Location: /z",
            "Content-Length: 12", "Retry-After: 99")
        #expect(
            answer.status == 302 && answer.location == "/x y " && answer["x"] == nil && answer.length == 12
                && answer.pause == 30)
        #expect(self.answer("HTTP/1.1 200 OK", "Location: /x").location == nil)
        for text in ["-1", "x", "", "99999999999999999999"] {
            #expect(self.answer("HTTP/2 200", "Content-Length: \(text)").length == nil)
        }
        var endless = HubAnswer()
        var count = 0
        while endless.take(Array(repeating: 120, count: 1000)) { count += 1 }
        #expect(count == HubAnswer.largest / 1000)
    }

    @Test("an answer is used from its own first byte on")
    func use() {
        var fresh = FileTransfer(size: 10, have: 0)
        do {
            let found = use(&fresh, answer("HTTP/1.1 200 OK", "Content-Length: 10"))
            #expect(found == .write(from: 0))
        }
        do {
            let found = use(&fresh, answer("HTTP/1.1 200 OK"))
            #expect(found == .write(from: 0))
        }
        for length in [9, 11] {
            guard case .contradiction = fresh.use(of: answer("HTTP/1.1 200 OK", "Content-Length: \(length)")) else {
                Issue.record("a length of \(length)")
                continue
            }
        }
        do {
            let found = use(&fresh, answer("HTTP/1.1 404 Not Found"))
            #expect(found == .refused)
        }
        do {
            let found = use(&fresh, answer("HTTP/1.1 503 Busy"))
            #expect(found == .retry("the server answers 503"))
        }
        var half = FileTransfer(size: 10, have: 4)
        do {
            let found = use(&half, answer("HTTP/1.1 206 Partial", "Content-Range: bytes 4-9/10", "Content-Length: 6"))
            #expect(found == .write(from: 4))
        }
        do {
            let found = use(&half, answer("HTTP/1.1 206 Partial", "Content-Range: bytes 4-9/*"))
            #expect(found == .write(from: 4))
        }
        // A server without ranges.
        do {
            let found = use(&half, answer("HTTP/1.1 200 OK", "Content-Length: 10"))
            #expect(found == .write(from: 0))
        }
        guard
            case .contradiction = half.use(
                of: answer("HTTP/1.1 206 Partial", "Content-Range: bytes 4-9/10", "Content-Length: 7"))
        else {
            Issue.record("more than the rest")
            return
        }
    }

    @Test(
        "what is on disk is dropped once if the server has no such part",
        arguments: [
            "HTTP/1.1 416 No", "HTTP/1.1 206 P|Content-Range: bytes 3-9/10",
            "HTTP/1.1 206 P|Content-Range: bytes 4-9/11", "HTTP/1.1 206 P",
        ])
    func restart(_ head: String) {
        var answer = HubAnswer()
        for line in head.split(separator: "|") { _ = answer.take(Array(line.utf8)) }
        var transfer = FileTransfer(size: 10, have: 4)
        do {
            let found = use(&transfer, answer)
            #expect(found == .restart)
        }
        transfer.restart()
        #expect(transfer.offset == 0)
        guard case .contradiction = transfer.use(of: answer) else {
            Issue.record("it begins again and again")
            return
        }
    }

    @Test("failures in a row end it; progress begins the count again")
    func failures() {
        var transfer = FileTransfer(size: 1000, have: 0)
        func failed(at offset: Int, isStalled: Bool = false, pause: Double? = nil) -> Double? {
            transfer.failed(at: offset, isStalled: isStalled, pause: pause)
        }
        let eighths = (1...7).map { failed(at: $0 * 125) }
        #expect(eighths == Array(repeating: 0.25, count: 7) && transfer.offset == 875)
        // A server that begins at 0 each time, or adds a few bytes, makes no progress.
        let stuck = [failed(at: 50), failed(at: 900), failed(at: 0, pause: 7), failed(at: 901)]
        #expect(stuck == [0.5, 1, 7, nil])
        transfer = FileTransfer(size: 1 << 40, have: 3)
        let stalled = (1...3).map { failed(at: 3 + $0 * 100, isStalled: true) != nil }
        #expect(stalled == [true, true, false])
    }
}
